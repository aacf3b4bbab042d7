#pragma once
// The number at the start of what a person typed, read exactly and without a locale: digits x 10^exponent.
// Grammar: sign? digits? ('.' digits)? ([eE] sign? digits)?   with at least one digit before the exponent.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memwall {

struct Decimal {
    std::string digits;  // significant digits, no leading zeros, no point; empty = zero
    int exponent =
        0;  // value = digits x 10^exponent; |exponent| <= 20000 (larger ones are clamped)
    bool negative = false;
    bool point = false;          // written with a decimal point
    bool scientific = false;     // written with an exponent
    bool leading_zeros = false;  // written as 010, which some readers take for octal
    std::size_t length = 0;      // characters used of the text
};

// Empty when the text does not start with a number.
[[nodiscard]] std::optional<Decimal> scan_decimal(std::string_view text);

enum class Rounding : std::uint8_t { Exact, Rounded, Overflow };

struct ScaledInteger {
    std::int64_t value = 0;
    Rounding rounding = Rounding::Exact;
};

// |decimal| x scale, rounded half up to an integer.
[[nodiscard]] ScaledInteger to_integer(const Decimal& decimal, std::uint64_t scale);

// |decimal| x 10^exp10, correctly rounded; infinity when out of range.
[[nodiscard]] double to_double(const Decimal& decimal, int exp10);

}  // namespace memwall
