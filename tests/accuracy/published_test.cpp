// Scores the scenarios that carry a published figure. The bars are those the project set itself; the tables are golden:
// an error may shrink, or be explained (tests/accuracy/*.md; rewrite them with MEMWALL_UPDATE_GOLDEN=1).
#include "tests/accuracy/published.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

using namespace memwall;

namespace {

const std::string kRoot = MEMWALL_SOURCE_DIR;

std::string read_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void check_golden(const std::string& name, const std::vector<PublishedRow>& rows) {
    const std::string path = kRoot + "/tests/accuracy/" + name + ".md";
    const std::string table = published_table(rows);
    if (std::getenv("MEMWALL_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << table;
    }
    CHECK(table == read_text(path));
}

}  // namespace

TEST_CASE("the ten runs of SC21 Table 1 are met within 9 % on average and 14 % at worst") {
    const auto rows = predict_published(kRoot + "/scenarios/sc21", kRoot);
    const ErrorSummary time = summarise_errors(rows, "step_time_s");
    CHECK(time.rows == 10);
    CHECK(time.mape <= 0.09);
    CHECK(time.worst <= 0.14);
    check_golden("sc21", rows);
}

TEST_CASE(
    "the five dense runs on eight B200 are met within 9 % on average and 14 % at worst, time and "
    "memory") {
    const auto rows = predict_published(kRoot + "/scenarios/simumax", kRoot);
    for (const char* figure : {"step_time_s", "peak_memory_bytes"}) {
        const ErrorSummary s = summarise_errors(rows, figure);
        CHECK(s.rows == 5);
        CHECK(s.mape <= 0.09);
        CHECK(s.worst <= 0.14);
    }
    check_golden("simumax", rows);
}

TEST_CASE("no rows give no error") {
    CHECK(summarise_errors({}, "step_time_s").rows == 0);
    CHECK(summarise_errors({{"a", "peak_memory_bytes", 1, 2}}, "step_time_s").rows == 0);
}

TEST_CASE("the summary is the mean of absolute errors, the largest, and the mean") {
    const std::vector<PublishedRow> rows = {{"a", "step_time_s", 10, 11},
                                            {"b", "step_time_s", 10, 8}};
    const ErrorSummary s = summarise_errors(rows, "step_time_s");
    CHECK(s.mape == doctest::Approx(0.15));
    CHECK(s.worst == doctest::Approx(0.2));
    CHECK(s.bias == doctest::Approx(-0.05));
}
