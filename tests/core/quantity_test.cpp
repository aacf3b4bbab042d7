#include "sim/core/quantity.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "sim/core/rng.h"

using namespace memwall;
using namespace memwall::literals;

namespace {

template <class T>
T read(std::string_view text) {
    const Parsed<T> parsed = parse<T>(text);
    if (!parsed) {
        FAIL(std::string(text) << ": " << parsed.error().message);
    }
    return *parsed;
}

template <class T>
QuantityError error_of(std::string_view text) {
    const Parsed<T> parsed = parse<T>(text);
    if (parsed) {
        FAIL(std::string(text) << " was accepted");
    }
    return parsed.error();
}

}  // namespace

TEST_CASE("sizes are read exactly, binary and decimal prefixes apart") {
    CHECK(read<Bytes>("80GiB") == Bytes(80LL * 1024 * 1024 * 1024));
    CHECK(read<Bytes>("80GB") == Bytes(80'000'000'000));
    CHECK(read<Bytes>("1e9B") == Bytes(1'000'000'000));
    CHECK(read<Bytes>("0.1GB") == Bytes(100'000'000));
    CHECK(read<Bytes>("1.5 GiB") == Bytes(3LL << 29));
    CHECK(read<Bytes>("9223372036854775807B").value == std::numeric_limits<std::int64_t>::max());
    CHECK(read<Bytes>("9007199254740993B").value == 9007199254740993);  // 2^53 + 1, not a double
    CHECK(read<Bytes>("5EB").value == 5'000'000'000'000'000'000);  // E is a prefix, not an exponent
    CHECK(read<Bytes>("0B") == Bytes(0));
}

TEST_CASE(
    "a fraction of a byte is rounded to the nearest byte, where the unit is larger than a byte") {
    CHECK(read<Bytes>("79.15GiB").value == 84986665370);  // 79.15 x 2^30 = 84986665369.6
    CHECK(read<Bytes>("0.0005kB").value == 1);            // half up
    CHECK(error_of<Bytes>("1.5B").message == "1.5B is not a whole number of bytes");
    CHECK(error_of<Bytes>("0.0004kB").message == "0.0004kB is not a whole number of bytes");
}

TEST_CASE("durations are whole picoseconds") {
    CHECK(read<Duration>("1.5us") == 1'500'000_ps);
    CHECK(read<Duration>("3.6us") == 3'600'000_ps);
    CHECK(read<Duration>("5\xC2\xB5s") == 5_us);
    CHECK(read<Duration>("90min") == 5400_s);
    CHECK(read<Duration>("2h") == 7200_s);
    CHECK(read<Duration>("1d") == 86400_s);
    CHECK(error_of<Duration>("0.3ps").message == "0.3ps is not a whole number of picoseconds");
    CHECK(error_of<Duration>("107d").message == "107d is too large");  // 2^63 ps = 106.75 d
    CHECK(read<Duration>("106d") == 106 * 86400_s);
}

TEST_CASE("a bandwidth in bits is an eighth of one in bytes") {
    CHECK(read<Bandwidth>("400Gbps") == Bandwidth(50e9));
    CHECK(read<Bandwidth>("50GB/s") == Bandwidth(50e9));
    CHECK(read<Bandwidth>("200Gb/s") == Bandwidth(25e9));
    CHECK(read<Bandwidth>("200Gbit/s") == Bandwidth(25e9));
    CHECK(read<Bandwidth>("2039GB/s") == Bandwidth(2039e9));
    CHECK(read<Bandwidth>("1GiB/s") == Bandwidth(1073741824.0));
    CHECK(read<Bandwidth>("3.35TB/s") == Bandwidth(3.35e12));
}

TEST_CASE("compute rates and operations are apart") {
    CHECK(read<FlopRate>("312TFLOPS") == FlopRate(312e12));
    CHECK(read<FlopRate>("2.25PFLOPS") == FlopRate(2.25e15));
    CHECK(read<FlopRate>("989.4TFLOP/s") == FlopRate(989.4e12));
    CHECK(read<Flops>("2.5TFLOP") == Flops(2.5e12));
    CHECK(error_of<FlopRate>("312TFLOP").message ==
          "312TFLOP is a number of operations, not a compute rate");
    CHECK(error_of<FlopRate>("312TFLOP").suggestion == "say 312TFLOPS");
}

TEST_CASE("a bare number is refused where a unit is needed, with what to say") {
    CHECK(error_of<Bandwidth>("400").message == "400 has no unit");
    CHECK(error_of<Bandwidth>("400").suggestion == "say 400Gbps or 50GB/s");
    CHECK(error_of<Bytes>("80").suggestion == "say 80GiB, 80GB or 80B");
    CHECK(error_of<Duration>("1.5").suggestion == "say 1.5us, 1.5ms or 1.5s");
    CHECK(error_of<FlopRate>("312").suggestion == "say 312TFLOPS");
    CHECK(error_of<Duration>("0").message == "0 has no unit");
}

TEST_CASE("a wrong dimension is named, with the right one") {
    CHECK(error_of<Bytes>("80GB/s").message == "80GB/s is a bandwidth, not a size");
    CHECK(error_of<Bandwidth>("50GB").message == "50GB is a size, not a bandwidth");
    CHECK(error_of<Bandwidth>("50GB").suggestion == "say 50GB/s");
    CHECK(error_of<Bandwidth>("200Gb").suggestion == "say 200Gb/s");
    CHECK(error_of<Bytes>("80Gb").message == "80Gb is a number of bits, not a size");
    CHECK(error_of<double>("5GB").message == "5GB is not a plain number");
    CHECK(error_of<std::int64_t>("8 GPUs").suggestion == "say 8, without GPUs");
}

TEST_CASE("an unknown unit is answered with the nearest one") {
    CHECK(error_of<Bytes>("80gb").suggestion == "did you mean 80GB?");
    CHECK(error_of<Bytes>("80KB").suggestion == "did you mean 80kB?");
    CHECK(error_of<FlopRate>("312tflops").suggestion == "did you mean 312TFLOPS?");
    CHECK(error_of<Bandwidth>("50GBs").suggestion == "did you mean 50GB/s?");
    CHECK(error_of<Duration>("5m").suggestion == "say 5ms or 5min");
    CHECK(error_of<Bytes>("80parsec").suggestion == "say it as in 80GiB or 80GB");
}

TEST_CASE("what is not a finite, unsigned number in plain writing is refused") {
    for (const std::string_view text : {"nan", "NaN", "inf", "-inf", ".inf", "infinity"}) {
        CAPTURE(text);
        CHECK(error_of<Bytes>(text).message.ends_with("is not a finite number"));
        CHECK(error_of<double>(text).message.ends_with("is not a finite number"));
    }
    for (const std::string_view text : {"",
                                        "GiB",
                                        "-",
                                        "+",
                                        ".",
                                        "e5",
                                        "--5GB",
                                        "0x10B",
                                        "five",
                                        "-5GiB",
                                        "+5GiB",
                                        "010GiB",
                                        "1_000MB",
                                        "1,000MB",
                                        "9EiB",
                                        "1e30B",
                                        "1e999999999999999999999B",
                                        "80 GiB ",
                                        " 80GiB"}) {
        CAPTURE(text);
        CHECK_FALSE(parse<Bytes>(text).has_value());
        CHECK_FALSE(parse<Bytes>(text).error().message.empty());
    }
    CHECK(error_of<Bytes>("-5GiB").message == "-5GiB is negative, a size is not");
    CHECK(error_of<Bandwidth>("1e400GB/s").message == "1e400GB/s is too large");
    CHECK(error_of<Bandwidth>("1e-400GB/s").message == "1e-400GB/s is too small");
    CHECK(error_of<double>("1e999").message == "1e999 is too large");
}

TEST_CASE("a number of another base is answered with its decimal value") {
    CHECK(error_of<std::int64_t>("0x1000").suggestion == "say 4096");
    CHECK(error_of<std::int64_t>("0x1000").message == "0x1000 is not a decimal number");
    CHECK(error_of<int>("-0XfF").suggestion == "say -255");
    CHECK(error_of<double>("0b101").suggestion == "say 5");
    CHECK(error_of<int>("0o17").suggestion == "say 15");
    CHECK(error_of<Bytes>("0x10GiB").suggestion == "say it as in 80GiB or 80GB");
    CHECK(error_of<int>("0x" + std::string(40, 'f')).suggestion == "say it as in 8");
    CHECK(error_of<Bytes>("0bit").message == "0bit is a number of bits, not a size");
}

TEST_CASE("a very long value is cut in the message") {
    const std::string text(5000, '9');
    CHECK(error_of<Bytes>(text + "B").message.size() < 100);
    CHECK(error_of<Bytes>(std::string(50000, 'x')).message.size() < 100);
    CHECK(error_of<std::int64_t>(std::string(50000, '1')).message.size() < 100);
}

TEST_CASE("counts take an exponent when they are whole, but no octal, separators or fractions") {
    CHECK(read<std::int64_t>("8") == 8);
    CHECK(read<std::int64_t>("1e9") == 1'000'000'000);
    CHECK(read<std::int64_t>("1.5e3") == 1500);
    CHECK(read<std::int64_t>("-5") == -5);
    CHECK(read<std::int64_t>("0") == 0);
    CHECK(read<std::int64_t>("-0") == 0);
    CHECK(error_of<std::int64_t>("010").suggestion == "say 10");
    CHECK(error_of<std::int64_t>("00").suggestion == "say 0");
    CHECK(error_of<std::int64_t>("1_000").suggestion == "say 1000");
    CHECK(error_of<std::int64_t>("1,000,000").suggestion == "say 1000000");
    CHECK(error_of<std::int64_t>("8.0").suggestion == "say 8");
    CHECK(error_of<std::int64_t>("1.5").message == "1.5 is not a whole number");
    CHECK(error_of<std::int64_t>("15e-1").message == "15e-1 is not a whole number");
}

TEST_CASE("integers are refused beyond their type") {
    CHECK(read<std::int64_t>("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
    CHECK(error_of<std::int64_t>("9223372036854775808").message ==
          "9223372036854775808 is too large");
    CHECK(error_of<std::int64_t>("1e99").message == "1e99 is too large");
    CHECK(read<int>("2147483647") == 2147483647);
    CHECK(error_of<int>("2147483648").suggestion == "the most is 2147483647");
    CHECK(read<std::uint64_t>("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
    CHECK(error_of<std::uint64_t>("18446744073709551616").message ==
          "18446744073709551616 is too large");
    CHECK(error_of<std::uint64_t>("-1").message == "-1 is negative");
}

TEST_CASE("a percentage is a number") {
    CHECK(read<double>("10%") == 0.1);
    CHECK(read<double>("12.5 %") == 0.125);
    CHECK(read<double>("-3") == -3);
    CHECK(read<double>("1e-3") == 0.001);
    CHECK(error_of<double>("1,5").suggestion == "say 1.5");
}

TEST_CASE("only true and false are truth values") {
    CHECK(read<bool>("true"));
    CHECK_FALSE(read<bool>("false"));
    CHECK(error_of<bool>("yes").suggestion == "say true");
    CHECK(error_of<bool>("False").suggestion == "say false");
    CHECK(error_of<bool>("maybe").suggestion == "say true or false");
    CHECK(error_of<bool>("").message == "an empty value is neither true nor false");
}

TEST_CASE("the exact form is short") {
    CHECK(to_text(80_GiB) == "80GiB");
    CHECK(to_text(Bytes(80'000'000'000)) == "80GB");
    CHECK(to_text(Bytes(84986665370)) == "79.15GiB");
    CHECK(to_text(Bytes(1)) == "1B");
    CHECK(to_text(Bytes(0)) == "0B");
    CHECK(to_text(Bytes(-1024)) == "-1KiB");
    CHECK(to_text(Bytes(std::numeric_limits<std::int64_t>::min())) == "-9223372036854775808B");
    CHECK(to_text(1'500'000_ps) == "1.5us");
    CHECK(to_text(0_ps) == "0ps");
    CHECK(to_text(Bandwidth(50e9)) == "50GB/s");
    CHECK(to_text(Bandwidth(0)) == "0B/s");
    CHECK(to_text(FlopRate(312e12)) == "312TFLOPS");
    CHECK(to_text(Flops(1e9)) == "1GFLOP");
    CHECK(to_text(0.1) == "0.1");
}

TEST_CASE("the exact form reads back as the very same value") {
    for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::uint64_t bits = draw({.seed = 11, .index = i});
        const auto whole =
            static_cast<std::int64_t>(bits >> (1 + draw({.seed = 12, .index = i}) % 63));
        CHECK(read<Bytes>(to_text(Bytes(whole))).value == whole);
        CHECK(read<Duration>(to_text(Duration(whole))).count() == whole);
        // Any positive double from 1e-30 to 1e30, all its digits.
        const double real =
            std::ldexp(1 + draw_unit({.seed = 13, .index = i}), static_cast<int>(bits % 200) - 100);
        CHECK(read<Bandwidth>(to_text(Bandwidth(real))).value == real);
        CHECK(read<FlopRate>(to_text(FlopRate(real))).value == real);
        CHECK(read<Flops>(to_text(Flops(real))).value == real);
        CHECK(read<double>(to_text(-real)) == -real);
    }
}

TEST_CASE("reports show four digits in the unit that fits") {
    CHECK(human(31'500_ms) == "31.5 s");
    CHECK(human(16'060_ms) == "16.06 s");
    CHECK(human(Bytes(84'074'000'000)) == "78.3 GiB");
    CHECK(human(200_GBps) == "200 GB/s");
    CHECK(human(140_TFLOPS) == "140 TFLOP/s");
    CHECK(human(0_ps) == "0 s");
    CHECK(human(-1500_us) == "-1.5 ms");
    CHECK(human(1_ps) == "1 ps");
    CHECK(human(Bytes(0)) == "0 B");
    CHECK(human(Flops(1.5e12)) == "1.5 TFLOP");
    CHECK(human(7200_s) == "2 h");
    CHECK(human(15 * 60_s) == "15 min");
    CHECK(human(Bytes(1023)) == "1023 B");
    CHECK(human_percent(0.4321) == "43.2 %");
    CHECK(human_percent(1) == "100 %");
    CHECK(human_number(0.052344) == "0.05234");
    CHECK(human_number(0) == "0");
    CHECK(human_count(1536) == "1,536");
    CHECK(human_count(-174591631360) == "-174,591,631,360");
    CHECK(human_count(999) == "999");
}

TEST_CASE("what rounds up to the next unit is shown in it") {
    CHECK(human(999'996_ps) == "1 us");  // four digits of 999.996 ns are 1000
    CHECK(human(Bytes((1LL << 30) - 1)) == "1 GiB");
    CHECK(human(Bandwidth(999.99e9)) == "1 TB/s");
}
