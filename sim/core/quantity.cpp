#include "sim/core/quantity.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "sim/core/decimal.h"
#include "sim/core/diagnostics.h"
#include "sim/core/units_table.h"

namespace memwall {

namespace {

using Error = tl::unexpected<QuantityError>;

Error refuse(std::string message, std::string suggestion = {}) {
    return Error(QuantityError{std::move(message), std::move(suggestion)});
}

// What was typed, short enough for a message.
std::string shown(std::string_view text) {
    constexpr std::size_t kMost = 40;
    if (text.empty()) {
        return "an empty value";
    }
    return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

// "1000" for 1_000, 1,000 and 1'000; "1.5" for 1,5. Empty when there are no separators.
std::optional<std::string> without_separators(std::string_view text) {
    constexpr std::string_view kNumber = "0123456789_,'";
    const std::size_t end = std::min(text.find_first_not_of(kNumber), text.size());
    std::string number(text.substr(0, end));
    const std::size_t first = number.find_first_of("_,'");
    if (first == std::string::npos || first == 0) {
        return std::nullopt;
    }
    if (number[first] == ',' && first == number.rfind(',') && number.size() - first != 4) {
        number[first] = '.';
    } else {
        std::erase_if(number, [](char c) { return c == '_' || c == ',' || c == '\''; });
    }
    return number + std::string(text.substr(end));
}

// "0x1000" as "4096": a number of another base, written as programs do. Empty text: not to be converted.
std::optional<std::string> in_decimal(std::string_view text) {
    struct Base {
        std::string_view prefix;
        int base;
        std::string_view digits;
    };
    constexpr Base kBases[] = {{"0x", 16, "0123456789abcdefABCDEF"},
                               {"0X", 16, "0123456789abcdefABCDEF"},
                               {"0o", 8, "01234567"},
                               {"0b", 2, "01"}};
    const std::string_view bare = text.substr(text.starts_with('-') ? 1 : 0);
    for (const Base& base : kBases) {
        if (!bare.starts_with(base.prefix) || bare.size() == base.prefix.size() ||
            base.digits.find(bare[base.prefix.size()]) == std::string_view::npos) {
            continue;
        }
        const std::string_view digits = bare.substr(base.prefix.size());
        std::uint64_t value = 0;
        const auto [end, failed] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, base.base);
        return failed == std::errc() && end == digits.data() + digits.size()
                   ? fmt::format("{}{}", text.starts_with('-') ? "-" : "", value)
                   : std::string();
    }
    return std::nullopt;
}

struct Number {
    Decimal decimal;
    std::string_view rest;  // after the number and the space that may follow it
};

// The number at the front; `what` is named in the messages ("a size").
Parsed<Number> read_number(std::string_view text, std::string_view what, std::string_view example) {
    const std::string say = fmt::format("say it as in {}", example);
    if (const auto plain = without_separators(text)) {
        return refuse(fmt::format("{} has separators between its digits", shown(text)),
                      "say " + *plain);
    }
    if (const auto plain = in_decimal(text)) {
        return refuse(fmt::format("{} is not a decimal number", shown(text)),
                      plain->empty() ? say : "say " + *plain);
    }
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        const std::string_view bare =
            !text.empty() && (text[0] == '-' || text[0] == '+') ? text.substr(1) : text;
        if (nearest(bare, {".inf", "inf", ".nan", "nan", "infinity"}).size() >= bare.size() &&
            bare.size() >= 3) {
            return refuse(fmt::format("{} is not a finite number", shown(text)), say);
        }
        return refuse(fmt::format("{} is not {}", shown(text), what), say);
    }
    if (decimal->leading_zeros) {
        const std::size_t sign = text.find_first_of('0');
        const std::size_t digit = std::min(text.find_first_not_of('0', sign), text.size());
        const bool bare = digit == text.size() || text[digit] < '1' || text[digit] > '9';
        return refuse(
            fmt::format("{} has leading zeros, which some readers take for octal", shown(text)),
            fmt::format("say {}", text.substr(bare ? digit - 1 : digit)));
    }
    if (text[0] == '+') {
        return refuse(fmt::format("{} begins with a plus sign", shown(text)),
                      fmt::format("say {}", text.substr(1)));
    }
    std::string_view rest = text.substr(decimal->length);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return Number{*decimal, rest};
}

std::string suggest_unit(std::string_view number, Dimension wanted) {
    switch (wanted) {
    case Dimension::ByteCount:
        return fmt::format("say {0}GiB, {0}GB or {0}B", number);
    case Dimension::TimeSpan:
        return fmt::format("say {0}us, {0}ms or {0}s", number);
    case Dimension::ByteRate: {
        const double value = to_double(*scan_decimal(number), 0);
        return fmt::format("say {}Gbps or {}GB/s", number, human_number(value / 8));
    }
    case Dimension::OperationRate:
        return fmt::format("say {}TFLOPS", number);
    case Dimension::OperationCount:
        return fmt::format("say {}FLOP", number);
    case Dimension::BitCount:
        break;
    }
    return fmt::format("say it as in {}", dimension_info(wanted).example);
}

QuantityError unit_error(std::string_view text,
                         std::string_view number,
                         std::string_view typed,
                         Dimension wanted) {
    const DimensionInfo& info = dimension_info(wanted);
    if (const auto found = find_unit(typed)) {
        std::string say = fmt::format("say it as in {}", info.example);
        if (found->dimension == Dimension::BitCount && wanted == Dimension::ByteCount) {
            say = "b is a bit and B is a byte: " + say;
        } else if ((found->dimension == Dimension::ByteCount ||
                    found->dimension == Dimension::BitCount) &&
                   wanted == Dimension::ByteRate) {
            say = fmt::format("say {}{}/s", number, typed);
        } else if (found->dimension == Dimension::OperationCount &&
                   wanted == Dimension::OperationRate) {
            say = fmt::format("say {}{}S", number, typed);
        }
        return {
            fmt::format(
                "{} is {}, not {}", shown(text), dimension_info(found->dimension).what, info.what),
            say};
    }
    if (typed == "m" && wanted == Dimension::TimeSpan) {
        return {fmt::format("{} has an unknown unit m", shown(text)),
                fmt::format("say {0}ms or {0}min", number)};
    }
    const std::vector<std::string> names = unit_names(wanted);
    const std::string_view near =
        nearest(typed, std::vector<std::string_view>(names.begin(), names.end()));
    return {fmt::format("{} has an unknown unit {}", shown(text), shown(typed)),
            near.empty() ? fmt::format("say it as in {}", info.example)
                         : fmt::format("did you mean {}{}?", number, near)};
}

struct Amount {
    Decimal decimal;
    Unit unit;
};

Parsed<Amount> read_amount(std::string_view text, Dimension wanted) {
    const DimensionInfo& info = dimension_info(wanted);
    const auto number = read_number(text, info.what, info.example);
    if (!number) {
        return tl::unexpected(number.error());
    }
    if (number->decimal.negative) {
        return refuse(fmt::format("{} is negative, {} is not", shown(text), info.what));
    }
    const std::string_view digits = text.substr(0, number->decimal.length);
    if (number->rest.empty()) {
        return refuse(fmt::format("{} has no unit", shown(text)), suggest_unit(digits, wanted));
    }
    const auto unit = find_unit(number->rest);
    if (!unit || unit->dimension != wanted) {
        return tl::unexpected(unit_error(text, digits, number->rest, wanted));
    }
    return Amount{number->decimal, *unit};
}

std::uint64_t integer_scale(const Unit& unit) {
    std::uint64_t scale = static_cast<std::uint64_t>(unit.factor) << unit.exp2;
    for (int i = 0; i < unit.exp10; ++i) {
        scale *= 10;
    }
    return scale;
}

// An integer number of `smallest` (bytes, picoseconds).
Parsed<std::int64_t> read_whole(std::string_view text,
                                Dimension dimension,
                                std::string_view smallest) {
    const auto amount = read_amount(text, dimension);
    if (!amount) {
        return tl::unexpected(amount.error());
    }
    const std::uint64_t scale = integer_scale(amount->unit);
    const ScaledInteger whole = to_integer(amount->decimal, scale);
    if (whole.rounding == Rounding::Overflow) {
        return refuse(fmt::format("{} is too large", shown(text)),
                      fmt::format("the most is 2^63 - 1 {}", smallest));
    }
    if (whole.rounding == Rounding::Rounded && (scale == 1 || whole.value == 0)) {
        return refuse(fmt::format("{} is not a whole number of {}", shown(text), smallest));
    }
    return whole.value;
}

Parsed<double> read_rate(std::string_view text, Dimension dimension) {
    const auto amount = read_amount(text, dimension);
    if (!amount) {
        return tl::unexpected(amount.error());
    }
    const double value =
        std::ldexp(to_double(amount->decimal, amount->unit.exp10), amount->unit.exp2);
    if (!std::isfinite(value)) {
        return refuse(fmt::format("{} is too large", shown(text)));
    }
    if (value == 0 && !amount->decimal.digits.empty()) {
        return refuse(fmt::format("{} is too small", shown(text)));
    }
    return value;
}

// A whole number below 2^64: its size and sign.
struct Integer {
    std::uint64_t size = 0;
    bool negative = false;
};

Parsed<Integer> read_integer(std::string_view text) {
    const auto number = read_number(text, "a whole number", "8");
    if (!number) {
        return tl::unexpected(number.error());
    }
    const Decimal& decimal = number->decimal;
    if (!number->rest.empty()) {
        return refuse(
            fmt::format("{} is not a whole number", shown(text)),
            fmt::format("say {}, without {}", text.substr(0, decimal.length), shown(number->rest)));
    }
    if (decimal.exponent < 0 && !decimal.digits.empty()) {
        return refuse(fmt::format("{} is not a whole number", shown(text)));
    }
    if (decimal.point && !decimal.scientific) {
        return refuse(
            fmt::format("{} is written as a fraction, a whole number is wanted", shown(text)),
            fmt::format("say {}", text.substr(0, text.find('.'))));
    }
    std::string digits = decimal.digits;
    constexpr std::size_t kMost = 20;  // digits of 2^64
    if (!digits.empty()) {
        digits.append(std::min(static_cast<std::size_t>(std::max(0, decimal.exponent)), kMost + 1),
                      '0');
    } else {
        digits = "0";
    }
    Integer out{.negative = decimal.negative};
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out.size);
    if (error != std::errc()) {
        return refuse(fmt::format("{} is too large", shown(text)));
    }
    return out;
}

template <class T>
Parsed<T> read_signed(std::string_view text) {
    const auto integer = read_integer(text);
    if (!integer) {
        return tl::unexpected(integer.error());
    }
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (integer->size > kMax) {  // the most negative number is refused too
        return refuse(fmt::format("{} is too large", shown(text)),
                      fmt::format("the most is {}", kMax));
    }
    const T size = static_cast<T>(integer->size);
    return integer->negative ? -size : size;
}

}  // namespace

template <>
Parsed<Bytes> parse<Bytes>(std::string_view text) {
    return read_whole(text, Dimension::ByteCount, "bytes").map([](std::int64_t v) {
        return Bytes(v);
    });
}

template <>
Parsed<Duration> parse<Duration>(std::string_view text) {
    return read_whole(text, Dimension::TimeSpan, "picoseconds").map([](std::int64_t v) {
        return Duration(v);
    });
}

template <>
Parsed<Bandwidth> parse<Bandwidth>(std::string_view text) {
    return read_rate(text, Dimension::ByteRate).map([](double v) { return Bandwidth(v); });
}

template <>
Parsed<FlopRate> parse<FlopRate>(std::string_view text) {
    return read_rate(text, Dimension::OperationRate).map([](double v) { return FlopRate(v); });
}

template <>
Parsed<Flops> parse<Flops>(std::string_view text) {
    return read_rate(text, Dimension::OperationCount).map([](double v) { return Flops(v); });
}

template <>
Parsed<double> parse<double>(std::string_view text) {
    const auto number = read_number(text, "a number", "0.5 or 50%");
    if (!number) {
        return tl::unexpected(number.error());
    }
    const bool percent = number->rest == "%";
    if (!number->rest.empty() && !percent) {
        return refuse(
            fmt::format("{} is not a plain number", shown(text)),
            fmt::format(
                "say {}, without {}", text.substr(0, number->decimal.length), shown(number->rest)));
    }
    const double size = to_double(number->decimal, percent ? -2 : 0);
    if (!std::isfinite(size)) {
        return refuse(fmt::format("{} is too large", shown(text)));
    }
    return number->decimal.negative ? -size : size;
}

template <>
Parsed<std::int64_t> parse<std::int64_t>(std::string_view text) {
    return read_signed<std::int64_t>(text);
}

template <>
Parsed<int> parse<int>(std::string_view text) {
    return read_signed<int>(text);
}

template <>
Parsed<std::uint64_t> parse<std::uint64_t>(std::string_view text) {
    const auto integer = read_integer(text);
    if (!integer) {
        return tl::unexpected(integer.error());
    }
    if (integer->negative && integer->size > 0) {
        return refuse(fmt::format("{} is negative", shown(text)));
    }
    return integer->size;
}

template <>
Parsed<bool> parse<bool>(std::string_view text) {
    if (text == "true" || text == "false") {
        return text == "true";
    }
    std::string lower(text.substr(0, 8));
    for (char& c : lower) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    const bool yes =
        lower == "yes" || lower == "on" || lower == "1" || lower == "true" || lower == "y";
    const bool no =
        lower == "no" || lower == "off" || lower == "0" || lower == "false" || lower == "n";
    return refuse(fmt::format("{} is neither true nor false", shown(text)),
                  yes ? "say true" : (no ? "say false" : "say true or false"));
}

}  // namespace memwall
