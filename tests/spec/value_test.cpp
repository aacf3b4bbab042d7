#include "sim/spec/value.h"

#include <vector>

#include <doctest/doctest.h>

#include "sim/core/quantity.h"

using namespace memwall;

namespace {

template <class T>
ValueProblem read(T& value, const char* text, Rules rules = {}, bool quoted = false) {
    return read_value(Leaf(&value), text, quoted, rules);
}

}  // namespace

TEST_CASE("a value is read with its unit and range") {
    Bytes size;
    CHECK(read(size, "80GiB", kPositive).code.empty());
    CHECK(size.value == std::int64_t{80} << 30);
    CHECK(read(size, "80").code == "E0204");
    CHECK(read(size, "0B", kPositive).code == "E0206");
    double share = 0;
    CHECK(read(share, "10%", kShare).code.empty());
    CHECK(share == 0.1);
    CHECK(read(share, "1.5", kShare).code == "E0206");
    CHECK(share == 0.1);  // what is refused changes nothing
}

TEST_CASE("a number in quotes is text, a text may be in quotes or not") {
    int number = 0;
    CHECK(read(number, "8", {}, true).code == "E0203");
    std::string text;
    CHECK(read(text, "8", {}, false).code.empty());
    CHECK(read(text, "8", {}, true).code.empty());
    CHECK(text == "8");
}

TEST_CASE("true, false, yes and no are the bools") {
    bool value = false;
    CHECK(read(value, "yes").code.empty());
    CHECK(value);
    CHECK(read(value, "false").code.empty());
    CHECK_FALSE(value);
    CHECK(read(value, "1").code == "E0204");
    CHECK(read(value, "True").code == "E0204");
    CHECK(read(value, "true", {}, true).code == "E0204");
}

TEST_CASE(
    "a word that is not a choice is answered with the nearest choice, a planned one with what is "
    "there") {
    ShardingKind kind{};
    const EnumLeaf leaf{reinterpret_cast<std::uint8_t*>(&kind), enum_names(kind)};
    CHECK(read_value(leaf, "fsdp", false, {}).code.empty());
    CHECK(kind == ShardingKind::Fsdp);
    const ValueProblem near = read_value(leaf, "zero4", false, {});
    CHECK(near.code == "E0205");
    CHECK(near.hint.find("did you mean 'zero") == 0);
    Schedule schedule{};
    const EnumLeaf planned{reinterpret_cast<std::uint8_t*>(&schedule), enum_names(schedule)};
    CHECK(read_value(planned, "zb_h1", false, {}).code == "E0390");
}

TEST_CASE("an optional count takes its word or a number") {
    std::optional<int> value = 3;
    const OptionalLeaf leaf{&value, "auto"};
    CHECK(read_value(leaf, "auto", false, kPositive).code.empty());
    CHECK_FALSE(value.has_value());
    CHECK(read_value(leaf, "8", false, kPositive).code.empty());
    CHECK(value == 8);
    CHECK(read_value(leaf, "0", false, kPositive).code == "E0206");
    CHECK(read_value(leaf, "all", false, kPositive).hint == "say a whole number or auto");
}

TEST_CASE("times and rates that no step can be counted with are refused") {
    Duration time{};
    CHECK(read(time, "60min").code.empty());
    CHECK(read(time, "2h").code == "E0206");
    Bandwidth rate;
    CHECK(read(rate, "0B/s").code.empty());
    CHECK(read(rate, "1MB/s").code.empty());
    CHECK(read(rate, "1B/s").code == "E0206");
}

TEST_CASE("a range is told in the unit of its field, with the value that was met") {
    double number = 1;
    CHECK(read(number, "1e300", at_most(10)).text == "1e300 is out of range");
    CHECK(read(number, "1e300", at_most(10)).hint == "it must be from 0 to 10");
    CHECK(read(number, "-1", at_most(10)).code == "E0206");
    CHECK(read(number, "10", at_most(10)).code.empty());
    CHECK(read(number, "0", between(0.1, 10)).hint == "it must be from 0.1 to 10");
    CHECK(read(number, "1e-300", between(0.1, 10)).code == "E0206");
    CHECK(read(number, "0", zero_or(1e9, 1e18)).code.empty());
    CHECK(read(number, "5", zero_or(1e9, 1e18)).code == "E0206");
    CHECK(read(number, "0", zero_or(0.125, 16)).code.empty());
    CHECK(read(number, "0.1", zero_or(0.125, 16)).hint == "it must be 0, or from 0.125 to 16");
    CHECK(read(number, "0", kPositive).hint == "it must be greater than 0");
    CHECK(read(number, "-1", kNonNegative).hint == "it must be 0 or more");
    CHECK(read(number, "2", kShare).hint == "it must be a share from 0 to 1, or from 0% to 100%");
    Bytes size;
    CHECK(read(size, "1B", between(1048576, 1073741824)).hint == "it must be from 1MiB to 1GiB");
    CHECK(read(size, "9e18B").hint == "it must be from 0 to 1EiB");
    FlopRate rate;
    CHECK(read(rate, "1FLOPS").hint == "it must be 0, or from 1MFLOPS to 1000EFLOPS");
    // Both rules hold, and a required field may not be 0 by the stricter.
    CHECK(read(number, "0", kRequired | kPositive | kShare).code == "E0206");
    CHECK(read(number, "1.5", kRequired | kPositive | kShare).code == "E0206");
    int count = 0;
    CHECK(read(count, "2147483647", between(1, 1024)).hint == "it must be from 1 to 1024");
}

TEST_CASE("what is written reads back as the same value") {
    for (const double number : {0.1, 1.0 / 3, 1e-300, 123456789.0, 0.976}) {
        double before = number;
        double after = 0;
        CHECK(read(after, write_value(Leaf(&before)).text.c_str()).code.empty());
        CHECK(after == before);
    }
    for (const char* text : {"8",
                             "1e5",
                             "true",
                             "null",
                             "~",
                             "",
                             " x",
                             "x ",
                             "a: b",
                             "a #b",
                             "#a",
                             "[a",
                             "- a",
                             "1f1b",
                             "a\nb",
                             "it's",
                             "NVIDIA H100"}) {
        std::string before = text;
        CAPTURE(before);
        const WrittenValue written = write_value(Leaf(&before));
        CHECK(written.text == before);
        CHECK(written.quote == needs_quotes(before));
    }
}

TEST_CASE("a plain text that YAML would take for something else is put in quotes") {
    for (const char* text : {"8",
                             "1e5",
                             "0.5",
                             "true",
                             "no",
                             "null",
                             "~",
                             "",
                             " x",
                             "x ",
                             "a: b",
                             "a #b",
                             "#a",
                             "[a",
                             "- a",
                             "a,b",
                             "*a",
                             "&a",
                             "a:"}) {
        CAPTURE(text);
        CHECK(needs_quotes(text));
    }
    for (const char* text : {"abc", "1f1b", "a-b", "NVIDIA H100", "a/b.yaml", "128..135", "a:b"}) {
        CAPTURE(text);
        CHECK_FALSE(needs_quotes(text));
    }
}
