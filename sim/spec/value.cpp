#include "sim/spec/value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/diagnostics.h"
#include "sim/core/quantity.h"

namespace memwall {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

double as_number(Duration d) {
    return static_cast<double>(d.count());
}
template <class Tag, class Rep>
double as_number(Quantity<Tag, Rep> q) {
    return static_cast<double>(q.value);
}
template <class T>
    requires std::is_arithmetic_v<T>
double as_number(T v) {
    return static_cast<double>(v);
}

// A bound of a range, as it is typed.
template <class T>
std::string in_unit(double number) {
    if constexpr (std::is_same_v<T, Duration>) {
        return to_text(Duration(std::llround(number)));
    } else if constexpr (std::is_same_v<T, Bytes>) {
        return to_text(Bytes(std::llround(number)));
    } else if constexpr (std::is_arithmetic_v<T>) {
        return fmt::format("{}", number);
    } else {
        return to_text(T(number));
    }
}

// What a value must be; empty when it is.
template <class T>
std::string wanted(double number, Rules rules) {
    const bool good = number == 0 ? rules.zero : number >= rules.least && number <= rules.most;
    if (good) {
        return {};
    }
    const bool open = std::isinf(rules.most);
    if (rules.least == 0 && rules.most == 1 && std::is_floating_point_v<T>) {
        return rules.zero ? "a share from 0 to 1, or from 0% to 100%"
                          : "a share above 0, up to 1 or 100%";
    }
    if (open) {
        return rules.least == 0
                   ? (rules.zero ? "0 or more" : "greater than 0")
                   : fmt::format(
                         "{}at least {}", rules.zero ? "0, or " : "", in_unit<T>(rules.least));
    }
    if (rules.least <= 0) {
        return fmt::format(
            "{} {}", rules.zero ? "from 0 to" : "above 0, up to", in_unit<T>(rules.most));
    }
    return fmt::format("{}from {} to {}",
                       rules.zero ? "0, or " : "",
                       in_unit<T>(rules.least),
                       in_unit<T>(rules.most));
}

// Of every field of a type. Rates below 1 MB/s or 1 MFLOP/s, and times above an hour, lead to steps beyond what the clock can
// count. The upper ends of rates stand for "not limiting".
template <class T>
constexpr Rules rules_of_type() {
    if constexpr (std::is_same_v<T, Bandwidth>) {
        return zero_or(1e6, 1e18);
    } else if constexpr (std::is_same_v<T, FlopRate>) {
        return zero_or(1e6, 1e21);
    } else if constexpr (std::is_same_v<T, Duration>) {
        return at_most(3600e12);
    } else if constexpr (std::is_same_v<T, Bytes>) {
        return at_most(1152921504606846976.0);  // 1 EiB
    } else {
        return {};
    }
}

template <class T>
ValueProblem read_parsed(T& value, const std::string& text, bool quoted, Rules rules) {
    Parsed<T> parsed = parse<T>(text);
    if (!parsed) {
        return {"E0204", parsed.error().message, parsed.error().suggestion};
    }
    if (quoted) {
        return {"E0203",
                fmt::format("'{}' in quotes is text", text),
                fmt::format("write {} without quotes", text)};
    }
    const std::string must_be = wanted<T>(as_number(*parsed), rules | rules_of_type<T>());
    if (!must_be.empty()) {
        return {"E0206",
                fmt::format("{} is out of range", text),
                fmt::format("it must be {}", must_be)};
    }
    value = *parsed;
    return {};
}

ValueProblem read_bool(bool& value, const std::string& text, bool quoted) {
    if (!quoted && (text == "true" || text == "yes")) {
        value = true;
        return {};
    }
    if (!quoted && (text == "false" || text == "no")) {
        value = false;
        return {};
    }
    return {"E0204", fmt::format("'{}' is neither true nor false", text), "say true or false"};
}

std::string choices(const EnumNames& names) {
    return fmt::format("{}", fmt::join(names.names, ", "));
}

ValueProblem read_enum(const EnumLeaf& leaf, const std::string& text) {
    const auto& names = leaf.names.names;
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) {
        *leaf.value = static_cast<std::uint8_t>(found - names.begin());
        return {};
    }
    const auto& planned = leaf.names.planned;
    if (std::find(planned.begin(), planned.end(), text) != planned.end()) {
        return {"E0390",
                fmt::format("'{}' is not simulated in this release", text),
                "choices: " + choices(leaf.names)};
    }
    const std::string_view near = nearest(text, {names.begin(), names.end()});
    const std::string hint = near.empty() ? "" : fmt::format("did you mean '{}'? ", near);
    return {"E0205",
            fmt::format("'{}' is not one of the choices", text),
            hint + "choices: " + choices(leaf.names)};
}

ValueProblem read_optional(const OptionalLeaf& leaf,
                           const std::string& text,
                           bool quoted,
                           Rules rules) {
    if (text == leaf.word) {
        leaf.value->reset();
        return {};
    }
    int number = 0;
    ValueProblem problem = read_parsed(number, text, quoted, rules);
    if (problem.code.empty()) {
        *leaf.value = number;
    } else if (problem.code == "E0204") {
        problem.hint = fmt::format("say a whole number or {}", leaf.word);
    }
    return problem;
}

ValueProblem read_text(TextForm& form, const std::string& text) {
    TextForm::Problem wrong = form.read(text);
    if (wrong.text.empty()) {
        return {};
    }
    return {std::string(wrong.code),
            std::move(wrong.text),
            wrong.hint.empty() ? "wanted: " + form.wanted() : std::move(wrong.hint)};
}

WrittenValue plain(std::string text) {
    return {std::move(text), false};
}

WrittenValue quoted_if_needed(std::string text) {
    const bool quote = needs_quotes(text);
    return {std::move(text), quote};
}

}  // namespace

ValueProblem read_value(const Leaf& leaf, const std::string& text, bool quoted, Rules rules) {
    return std::visit(
        Overloaded{
            [&](bool* v) { return read_bool(*v, text, quoted); },
            [&](std::string* v) {
                *v = text;
                return ValueProblem{};
            },
            [&](const EnumLeaf& v) { return read_enum(v, text); },
            [&](const OptionalLeaf& v) { return read_optional(v, text, quoted, rules); },
            [&](TextForm* v) { return read_text(*v, text); },
            [&](auto* v) { return read_parsed(*v, text, quoted, rules); },
        },
        leaf);
}

WrittenValue write_value(const Leaf& leaf) {
    return std::visit(
        Overloaded{
            [](const bool* v) { return plain(*v ? "true" : "false"); },
            [](const std::string* v) { return quoted_if_needed(*v); },
            [](const int* v) { return plain(fmt::format("{}", *v)); },
            [](const std::int64_t* v) { return plain(fmt::format("{}", *v)); },
            [](const std::uint64_t* v) { return plain(fmt::format("{}", *v)); },
            [](const EnumLeaf& v) { return plain(std::string(v.names.names[*v.value])); },
            [](const OptionalLeaf& v) {
                return plain(*v.value ? fmt::format("{}", **v.value) : std::string(v.word));
            },
            [](const TextForm* v) { return quoted_if_needed(v->write()); },
            [](const auto* v) { return plain(to_text(*v)); },
        },
        leaf);
}

bool needs_quotes(std::string_view text) {
    constexpr std::array<std::string_view, 12> kWords = {
        "", "~", "null", "Null", "NULL", "true", "false", "yes", "no", "on", "off", "<<"};
    if (std::find(kWords.begin(), kWords.end(), text) != kWords.end()) {
        return true;
    }
    if (std::string_view("-?:,[]{}#&*!|>'\"%@` 0123456789+.=").find(text.front()) !=
        std::string_view::npos) {
        // A digit in front is harmless for words such as 1f1b, but a number must not be mistaken for one.
        const bool word = std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
                          !parse<double>(text).has_value() &&
                          text.find_first_of(":#,[]{}'\"\\ ") == std::string_view::npos;
        return !word;
    }
    return text.back() == ' ' || text.back() == ':' || text.find(": ") != std::string_view::npos ||
           text.find(" #") != std::string_view::npos ||
           text.find_first_of(",[]{}\n\t\r\\\"") != std::string_view::npos;
}

std::string kind_of(const Leaf& leaf) {
    return std::visit(
        Overloaded{
            [](const bool*) { return std::string("true or false"); },
            [](const int*) { return std::string("a whole number"); },
            [](const std::int64_t*) { return std::string("a whole number"); },
            [](const std::uint64_t*) { return std::string("a whole number"); },
            [](const double*) { return std::string("a number"); },
            [](const std::string*) { return std::string("a text"); },
            [](const Duration*) { return std::string("a time, such as 3.6us"); },
            [](const Bytes*) { return std::string("a size, such as 80GiB"); },
            [](const Bandwidth*) { return std::string("a rate, such as 2039GB/s or 200Gbps"); },
            [](const FlopRate*) { return std::string("a rate, such as 312TFLOPS"); },
            [](const EnumLeaf& v) { return "one of: " + choices(v.names); },
            [](const OptionalLeaf& v) { return fmt::format("a whole number or {}", v.word); },
            [](const TextForm* v) { return v->wanted(); },
        },
        leaf);
}

}  // namespace memwall
