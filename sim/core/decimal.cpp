#include "sim/core/decimal.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace memwall {

namespace {

constexpr int kExponentLimit = 10000;

// 128 bits hold the product of 19 digits and any 64-bit scale.
__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using)

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::size_t count_digits(std::string_view text, std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && is_digit(text[end])) {
        ++end;
    }
    return end - from;
}

// Reads [eE] sign? digits at `at`; returns the characters used, 0 when there is no exponent (the E of "5EB" is a unit).
std::size_t scan_exponent(std::string_view text, std::size_t at, int& exponent) {
    if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) {
        return 0;
    }
    std::size_t first = at + 1;
    const bool negative = first < text.size() && text[first] == '-';
    if (first < text.size() && (text[first] == '+' || text[first] == '-')) {
        ++first;
    }
    const std::size_t digits = count_digits(text, first);
    if (digits == 0) {
        return 0;
    }
    int value = 0;
    for (const char c : text.substr(first, digits)) {
        value = std::min(kExponentLimit, value * 10 + (c - '0'));
    }
    exponent = negative ? -value : value;
    return first + digits - at;
}

}  // namespace

std::optional<Decimal> scan_decimal(std::string_view text) {
    Decimal out;
    std::size_t at = 0;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
        out.negative = text[0] == '-';
        at = 1;
    }
    const std::size_t whole = count_digits(text, at);
    std::string digits(text.substr(at, whole));
    out.leading_zeros = whole > 1 && digits[0] == '0';
    at += whole;
    if (at < text.size() && text[at] == '.') {
        const std::size_t fraction = count_digits(text, at + 1);
        if (whole + fraction > 0) {
            digits += text.substr(at + 1, fraction);
            out.exponent = -static_cast<int>(std::min<std::size_t>(fraction, kExponentLimit));
            out.point = true;
            at += 1 + fraction;
        }
    }
    if (digits.empty() || digits.size() > kExponentLimit) {
        return std::nullopt;
    }
    int exponent = 0;
    const std::size_t used = scan_exponent(text, at, exponent);
    out.scientific = used > 0;
    out.exponent += exponent;
    out.length = at + used;

    const std::size_t first = digits.find_first_not_of('0');
    digits.erase(0, first == std::string::npos ? digits.size() : first);
    while (!digits.empty() && digits.back() == '0') {
        digits.pop_back();
        ++out.exponent;
    }
    out.digits = std::move(digits);
    return out;
}

ScaledInteger to_integer(const Decimal& decimal, std::uint64_t scale) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    constexpr std::size_t kDigits = 19;  // 10^19 < 2^64
    const ScaledInteger overflow{.value = 0, .rounding = Rounding::Overflow};

    // Digits after the 19th are below one part in 10^18: they only make the result inexact.
    const std::string_view kept = std::string_view(decimal.digits).substr(0, kDigits);
    int exponent = decimal.exponent + static_cast<int>(decimal.digits.size() - kept.size());
    bool exact = kept.size() == decimal.digits.size();
    std::uint64_t mantissa = 0;
    for (const char c : kept) {
        mantissa = mantissa * 10 + static_cast<std::uint64_t>(c - '0');
    }
    Wide wide = static_cast<Wide>(mantissa) * scale;
    for (; exponent > 0 && wide != 0; --exponent) {
        if (wide > kMax) {
            return overflow;
        }
        wide *= 10;
    }
    if (exponent < 0 && wide != 0) {
        Wide remainder_below = 0;  // anything lost by the first divisions
        Wide divisor = 1;
        for (; exponent < 0; ++exponent) {
            if (divisor > static_cast<Wide>(kMax)) {
                remainder_below |= wide % divisor;
                wide /= divisor;
                divisor = 1;
            }
            divisor *= 10;
        }
        const Wide remainder = wide % divisor;
        wide /= divisor;
        exact = exact && remainder == 0 && remainder_below == 0;
        wide += remainder >= divisor - remainder ? 1 : 0;
    }
    if (wide > kMax) {
        return overflow;
    }
    return {.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide)),
            .rounding = exact ? Rounding::Exact : Rounding::Rounded};
}

double to_double(const Decimal& decimal, int exp10) {
    if (decimal.digits.empty()) {
        return 0;
    }
    const std::string text = decimal.digits + "e" + std::to_string(decimal.exponent + exp10);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) {
        const bool tiny = decimal.exponent + exp10 + static_cast<int>(decimal.digits.size()) < 0;
        return tiny ? 0 : std::numeric_limits<double>::infinity();
    }
    return value;
}

}  // namespace memwall
