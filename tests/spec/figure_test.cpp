#include "sim/spec/figure.h"

#include <doctest/doctest.h>

using namespace memwall;

TEST_CASE("a published value is read in its unit and written back as it was") {
    double value = 0;
    const Figure& time = *find_figure("step_time_s");
    CHECK(read_figure_value(time, "16.0578s", value).text.empty());
    CHECK(value == 16.0578);
    CHECK(read_figure_value(time, "280.9ms", value).text.empty());
    CHECK(value == 0.2809);
    const Figure& rate = *find_figure("tflops_per_gpu");
    CHECK(read_figure_value(rate, "137.3TFLOPS", value).text.empty());
    CHECK(value == 137.3);
    CHECK(write_figure_value(rate, value) == "137.3TFLOPS");
    const Figure& memory = *find_figure("peak_memory");
    CHECK(memory.json == "peak_memory_bytes");
    CHECK(read_figure_value(memory, "28.29GiB", value).text.empty());
    CHECK(value == 30376156201.0);  // 28.29 x 2^30 = 30376156200.96
}

TEST_CASE("a published value without its unit is refused") {
    double value = 7;
    CHECK_FALSE(read_figure_value(*find_figure("step_time_s"), "16", value).text.empty());
    CHECK_FALSE(read_figure_value(*find_figure("peak_memory_bytes"), "3s", value).text.empty());
    CHECK(value == 7);
}

TEST_CASE("a check is `fits` or a figure compared with a value") {
    using Relation = CheckExpression::Relation;
    CheckExpression check;
    CHECK(read_check("fits", check).text.empty());
    CHECK(check.relation == Relation::Holds);
    CHECK(read_check("step_time < 30s", check).text.empty());
    CHECK(check.figure == "step_time_s");
    CHECK(check.relation == Relation::Less);
    CHECK(check.value == 30);
    CHECK(read_check("mfu>=40%", check).text.empty());
    CHECK(check.relation == Relation::GreaterEqual);
    CHECK(check.value == 0.4);
    CHECK(read_check(" peak_memory <= 80GiB ", check).text.empty());
    CHECK(check.relation == Relation::LessEqual);
}

TEST_CASE("what is no check says what one looks like") {
    CheckExpression check;
    CHECK_FALSE(read_check("fast", check).text.empty());
    CHECK(read_check("step_tim < 30s", check).hint == "did you mean 'step_time'?");
    CHECK_FALSE(read_check("step_time < ", check).text.empty());
    CHECK_FALSE(read_check("< 30s", check).text.empty());
    CHECK_FALSE(read_check("", check).text.empty());
}
