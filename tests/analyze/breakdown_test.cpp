#include "sim/analyze/breakdown.h"

#include <doctest/doctest.h>

#include "sim/core/check.h"

using namespace memwall;

namespace {

RankClass ranks(std::uint64_t multiplicity, std::int64_t compute, std::int64_t bubble) {
    RankClass c;
    c.multiplicity = multiplicity;
    c.breakdown.compute = Duration(compute);
    c.breakdown.bubble = Duration(bubble);
    return c;
}

const BreakdownLine& line(const std::vector<BreakdownLine>& lines, const std::string& label) {
    for (const BreakdownLine& l : lines) {
        if (l.label == label) {
            return l;
        }
    }
    FAIL("no line ", label);
    return lines.front();
}

std::int64_t sum(const std::vector<BreakdownLine>& lines) {
    std::int64_t total = 0;
    for (const BreakdownLine& l : lines) {
        total += l.mean.count();
    }
    return total;
}

}  // namespace

TEST_CASE("the mean split is weighted by how many ranks a class stands for") {
    // (3 x 80 + 1 x 40) / 4 = 70, (3 x 20 + 1 x 60) / 4 = 30
    const auto lines = breakdown_lines({ranks(3, 80, 20), ranks(1, 40, 60)}, Duration(100));
    CHECK(line(lines, "compute").mean.count() == 70);
    CHECK(line(lines, "bubble").mean.count() == 30);
    CHECK(line(lines, "compute").share == doctest::Approx(0.7));
}

TEST_CASE("the split sums to the step in whole picoseconds when means are not whole") {
    // compute (2 x 5 + 4) / 3 = 4 + 2/3, bubble (2 x 5 + 6) / 3 = 5 + 1/3: the larger remainder gets the picosecond
    const auto lines = breakdown_lines({ranks(2, 5, 5), ranks(1, 4, 6)}, Duration(10));
    CHECK(sum(lines) == 10);
    CHECK(line(lines, "compute").mean.count() == 5);
    CHECK(line(lines, "bubble").mean.count() == 5);
}

TEST_CASE("rank-picoseconds beyond 64 bits do not overflow") {
    // 131,072 ranks x 1,000 s = 1.3e20 ps
    const std::int64_t step = 1'000'000'000'000'000;
    const auto lines = breakdown_lines({ranks(131072, step - 1, 1)}, Duration(step));
    CHECK(sum(lines) == step);
    CHECK(line(lines, "compute").mean.count() == step - 1);
}

TEST_CASE("the busiest class is the one with the most kernel time of all kinds") {
    RankClass a = ranks(1, 50, 50);
    RankClass b = ranks(1, 40, 40);
    b.breakdown.recompute = Duration(15);
    b.breakdown.optimizer = Duration(5);
    CHECK(busiest_class({a, b}) == 1);
}

TEST_CASE("a split of no ranks is refused") {
    CHECK_THROWS_AS(breakdown_lines({}, Duration(1)), BugError);
}
