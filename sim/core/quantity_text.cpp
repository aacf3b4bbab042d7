// Printing of quantities (quantity.h): exact forms that read back as the same value, and short forms for reports.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "sim/core/quantity.h"

namespace memwall {

namespace {

std::string fixed(double value, int decimals) {
    std::array<char, 400> buffer{};
    const auto result = std::to_chars(
        buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
    return {buffer.data(), result.ptr};
}

std::string trimmed(std::string digits) {
    if (digits.find('.') != std::string::npos) {
        digits.erase(digits.find_last_not_of('0') + 1);
        if (digits.back() == '.') {
            digits.pop_back();
        }
    }
    return digits == "-0" ? "0" : digits;
}

// value rounded to `digits` significant digits, without exponent and closing zeros
std::string significant(double value, int digits) {
    if (value == 0 || !std::isfinite(value)) {
        return value == 0 ? "0" : (std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf"));
    }
    std::array<char, 64> buffer{};
    const auto written = std::to_chars(buffer.data(),
                                       buffer.data() + buffer.size(),
                                       value,
                                       std::chars_format::scientific,
                                       digits - 1);
    const std::string_view text(buffer.data(),
                                static_cast<std::size_t>(written.ptr - buffer.data()));
    const std::size_t at = text.find('e');
    int exponent = 0;  // of the rounded value, so that 9.9996 counts as 10
    const char* first = text.data() + at + (text[at + 1] == '+' ? 2 : 1);
    std::from_chars(first, written.ptr, exponent);
    double rounded = 0;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): ends at written.ptr
    std::from_chars(text.data(), written.ptr, rounded);
    return trimmed(fixed(rounded, std::clamp(digits - 1 - exponent, 0, 300)));
}

struct Step {
    std::string_view unit;
    double scale;  // base units in one of it
};

// The largest unit of which the rounded value has at least one.
std::string scaled(double value, int digits, std::span<const Step> steps) {
    std::string text;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        text = significant(value / steps[i].scale, digits) + " " + std::string(steps[i].unit);
        if (i + 1 < steps.size()) {
            double shown = 0;
            std::from_chars(text.data(), text.data() + text.find(' '), shown);
            if (std::fabs(shown) * steps[i].scale < steps[i + 1].scale) {
                break;
            }
        }
    }
    return text;
}

struct WholeUnit {
    std::string_view name;
    std::int64_t scale;
};

// value / scale as a decimal if it has at most `kDecimals` of them, such that parse() rounds it back to value.
template <class T>
std::string shortest_whole(std::int64_t value, std::span<const WholeUnit> units) {
    constexpr int kDecimals = 3;
    if (value < 0) {
        return value == INT64_MIN ? "-9223372036854775808" + std::string(units[0].name)
                                  : "-" + shortest_whole<T>(-value, units);
    }
    std::string best = std::to_string(value) + std::string(units[0].name);
    for (const WholeUnit& unit : units) {
        std::string whole = std::to_string(value / unit.scale);
        double rest = static_cast<double>(value % unit.scale) / static_cast<double>(unit.scale);
        for (int decimals = 0; decimals <= kDecimals && !(value < unit.scale && decimals == 0);
             ++decimals) {
            const std::string fraction =
                fixed(rest, decimals);  // "0.125", or "1.000" when it rounds up
            if (fraction[0] != '0') {
                continue;
            }
            std::string text = whole + fraction.substr(1) + std::string(unit.name);
            const auto again = parse<T>(text);
            if (again && *again == T(value)) {
                if (text.size() < best.size() || (text.size() == best.size() && decimals == 0)) {
                    best = std::move(text);
                }
                break;
            }
        }
    }
    return best;
}

constexpr std::array<std::string_view, 7> kDecimalPrefixes{"", "k", "M", "G", "T", "P", "E"};

// Shortest digits of the double, its decimal point moved to the prefix that makes the text shortest.
std::string shortest_rate(double value, std::string_view base) {
    if (value == 0) {
        return "0" + std::string(base);
    }
    std::array<char, 64> buffer{};
    const auto written = std::to_chars(
        buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
    std::string text(buffer.data(), written.ptr);
    const std::size_t at = text.find('e');
    const int exponent = std::atoi(text.c_str() + at + 1);
    std::string sign = value < 0 ? "-" : "";
    std::string digits = text.substr(sign.size(), at - sign.size());
    std::erase(digits, '.');
    std::string best = text + std::string(base);
    for (std::size_t p = 0; p < kDecimalPrefixes.size(); ++p) {
        const int point = exponent - 3 * static_cast<int>(p) + 1;  // digits before the point
        if (point < 1 || point > 6) {
            continue;
        }
        std::string number = digits;
        const auto before = static_cast<std::size_t>(point);
        if (number.size() <= before) {
            number.append(before - number.size(), '0');
        } else {
            number.insert(before, ".");
        }
        number.insert(0, sign);
        number += kDecimalPrefixes[p];
        number += base;
        if (number.size() <= best.size()) {
            best = std::move(number);
        }
    }
    return best;
}

constexpr std::array<Step, 7> kBytes{{{"B", 1},
                                      {"KiB", 1024.0},
                                      {"MiB", 1048576.0},
                                      {"GiB", 1073741824.0},
                                      {"TiB", 1099511627776.0},
                                      {"PiB", 1125899906842624.0},
                                      {"EiB", 1152921504606846976.0}}};
constexpr std::array<Step, 8> kTimes{{{"ps", 1},
                                      {"ns", 1e3},
                                      {"us", 1e6},
                                      {"ms", 1e9},
                                      {"s", 1e12},
                                      {"min", 6e14},
                                      {"h", 7.2e15},
                                      {"d", 2.592e17}}};
constexpr std::array<Step, 6> kBandwidths{
    {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}, {"PB/s", 1e15}}};
constexpr std::array<Step, 7> kFlopRates{{{"FLOP/s", 1},
                                          {"kFLOP/s", 1e3},
                                          {"MFLOP/s", 1e6},
                                          {"GFLOP/s", 1e9},
                                          {"TFLOP/s", 1e12},
                                          {"PFLOP/s", 1e15},
                                          {"EFLOP/s", 1e18}}};
constexpr std::array<Step, 7> kFlops{{{"FLOP", 1},
                                      {"kFLOP", 1e3},
                                      {"MFLOP", 1e6},
                                      {"GFLOP", 1e9},
                                      {"TFLOP", 1e12},
                                      {"PFLOP", 1e15},
                                      {"EFLOP", 1e18}}};

}  // namespace

std::string to_text(Bytes value) {
    static constexpr std::array<WholeUnit, 13> kUnits{{{"B", 1},
                                                       {"KiB", std::int64_t{1} << 10},
                                                       {"MiB", std::int64_t{1} << 20},
                                                       {"GiB", std::int64_t{1} << 30},
                                                       {"TiB", std::int64_t{1} << 40},
                                                       {"PiB", std::int64_t{1} << 50},
                                                       {"EiB", std::int64_t{1} << 60},
                                                       {"kB", 1'000},
                                                       {"MB", 1'000'000},
                                                       {"GB", 1'000'000'000},
                                                       {"TB", 1'000'000'000'000},
                                                       {"PB", 1'000'000'000'000'000},
                                                       {"EB", 1'000'000'000'000'000'000}}};
    return shortest_whole<Bytes>(value.value, kUnits);
}

std::string to_text(Duration value) {
    static constexpr std::array<WholeUnit, 5> kUnits{{{"ps", 1},
                                                      {"ns", 1'000},
                                                      {"us", 1'000'000},
                                                      {"ms", 1'000'000'000},
                                                      {"s", 1'000'000'000'000}}};
    return shortest_whole<Duration>(value.count(), kUnits);
}

std::string to_text(Bandwidth value) {
    return shortest_rate(value.value, "B/s");
}
std::string to_text(FlopRate value) {
    return shortest_rate(value.value, "FLOPS");
}
std::string to_text(Flops value) {
    return shortest_rate(value.value, "FLOP");
}

std::string to_text(double value) {
    std::array<char, 64> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), result.ptr};
}

std::string human(Bytes value, int digits) {
    return scaled(static_cast<double>(value.value), digits, kBytes);
}
std::string human(Bandwidth value, int digits) {
    return scaled(value.value, digits, kBandwidths);
}
std::string human(FlopRate value, int digits) {
    return scaled(value.value, digits, kFlopRates);
}
std::string human(Flops value, int digits) {
    return scaled(value.value, digits, kFlops);
}
std::string human_number(double value, int digits) {
    return significant(value, digits);
}
std::string human_percent(double fraction, int digits) {
    return significant(fraction * 100, digits) + " %";
}

std::string human(Duration value, int digits) {
    // Minutes from 10 min on, hours from 2 h on, days from 3 d on: kTimes holds where each unit begins.
    const auto ps = static_cast<double>(value.count());
    if (ps == 0) {
        return "0 s";
    }
    if (std::fabs(ps) >= kTimes[7].scale) {
        return significant(ps / 8.64e16, digits) + " d";
    }
    if (std::fabs(ps) >= kTimes[6].scale) {
        return significant(ps / 3.6e15, digits) + " h";
    }
    if (std::fabs(ps) >= kTimes[5].scale) {
        return significant(ps / 6e13, digits) + " min";
    }
    return scaled(ps, digits, std::span(kTimes).first(5));
}

std::string human_count(std::int64_t value) {
    std::string text = std::to_string(value);
    const std::size_t first = value < 0 ? 1 : 0;
    for (std::size_t at = text.size(); at > first + 3;) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

}  // namespace memwall
