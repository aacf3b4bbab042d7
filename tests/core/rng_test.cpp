#include "sim/core/rng.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>

#include <doctest/doctest.h>

using namespace memwall;

TEST_CASE("draws are spread evenly over 64 bins") {
    // chi-square with 63 degrees of freedom: mean 63, standard deviation 11.2; beyond 130 is six of them
    constexpr std::uint64_t kDraws = 64'000;
    for (std::uint64_t seed : {0U, 1U, 2U}) {
        std::array<double, 64> low{};
        std::array<double, 64> high{};
        for (std::uint64_t i = 0; i < kDraws; ++i) {
            const std::uint64_t v = draw({.seed = seed, .subject = 3, .index = i});
            low[v & 63U] += 1;
            high[v >> 58U] += 1;
        }
        for (const auto& bins : {low, high}) {
            double chi2 = 0;
            for (const double count : bins) {
                chi2 += (count - 1000) * (count - 1000) / 1000;
            }
            CHECK(chi2 < 130);
        }
    }
}

TEST_CASE("streams of neighbouring seeds, subjects and indices are uncorrelated") {
    // The number of equal bits of two independent words has mean 32 and deviation 4; over 20,000 pairs 0.028.
    const auto agreement = [](Draw step) {
        double sum = 0;
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            const std::uint64_t a = draw({.seed = 5, .subject = 7, .index = i});
            const std::uint64_t b =
                draw({.seed = 5 + step.seed, .subject = 7 + step.subject, .index = i + step.index});
            sum += 64 - std::popcount(a ^ b);
        }
        return sum / 20'000;
    };
    CHECK(std::fabs(agreement({.seed = 1}) - 32) < 0.17);
    CHECK(std::fabs(agreement({.subject = 1}) - 32) < 0.17);
    CHECK(std::fabs(agreement({.index = 1}) - 32) < 0.17);
    CHECK(std::fabs(agreement({.seed = 1, .subject = ~0ULL}) - 32) < 0.17);
}

TEST_CASE("draws of many subjects and indices do not repeat") {
    std::set<std::uint64_t> seen;
    for (std::uint64_t subject = 0; subject < 200; ++subject) {
        for (std::uint64_t index = 0; index < 200; ++index) {
            seen.insert(draw({.seed = 1, .subject = subject, .index = index}));
        }
    }
    CHECK(seen.size() == 40'000);  // 40,000^2 / 2^65: a repetition has odds of 1 in 2 x 10^10
}

TEST_CASE("a unit draw is in [0, 1) with mean 1/2 and variance 1/12") {
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 100'000;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
        const double v = draw_unit({.seed = 9, .index = i});
        REQUIRE(v >= 0);
        REQUIRE(v < 1);
        sum += v;
        squares += v * v;
    }
    const double mean = sum / kDraws;
    CHECK(std::fabs(mean - 0.5) < 6 * 0.2887 / std::sqrt(kDraws));
    CHECK(std::fabs(squares / kDraws - mean * mean - 1.0 / 12) < 0.002);
}

TEST_CASE("a draw below n reaches all of 0 to n - 1 and nothing else") {
    std::set<std::uint32_t> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        seen.insert(draw_below({.seed = 4, .index = i}, 7));
    }
    CHECK(seen == std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6});
    CHECK(draw_below({}, 1) == 0);
}
