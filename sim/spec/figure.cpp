#include "sim/spec/figure.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/diagnostics.h"
#include "sim/core/quantity.h"

namespace memwall {
namespace {

constexpr std::array kFigures = {
    Figure{"step_time_s", "step_time", FigureUnit::Seconds},
    Figure{"first_step_time_s", "first_step_time", FigureUnit::Seconds},
    Figure{"tokens_per_s_per_gpu", "tokens_per_s_per_gpu", FigureUnit::Number},
    Figure{"tflops_per_gpu", "tflops_per_gpu", FigureUnit::Teraflops},
    Figure{"tflops_per_gpu_hardware", "tflops_per_gpu_hardware", FigureUnit::Teraflops},
    Figure{"mfu", "mfu", FigureUnit::Number},
    Figure{"hfu", "hfu", FigureUnit::Number},
    Figure{"peak_memory_bytes", "peak_memory", FigureUnit::Size},
    Figure{"peak_reserved_bytes", "peak_reserved", FigureUnit::Size},
    Figure{"peak_device_bytes", "peak_device", FigureUnit::Size},
};

template <class T, class F>
TextForm::Problem read_as(std::string_view text, double& value, F convert) {
    const Parsed<T> parsed = parse<T>(text);
    if (!parsed) {
        return {parsed.error().message, parsed.error().suggestion};
    }
    // 15 digits: what was written in the unit comes back as it was written.
    value = std::strtod(fmt::format("{:.15g}", convert(*parsed)).c_str(), nullptr);
    return {};
}

std::string_view trim(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(' ');
    return begin == std::string_view::npos
               ? std::string_view()
               : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

const Figure* find_figure(std::string_view name) {
    for (const Figure& figure : kFigures) {
        if (figure.json == name || figure.words == name) {
            return &figure;
        }
    }
    return nullptr;
}

std::vector<std::string_view> figure_names() {
    std::vector<std::string_view> names;
    for (const Figure& figure : kFigures) {
        names.push_back(figure.json);
    }
    for (const Figure& figure : kFigures) {
        if (figure.words != figure.json) {
            names.push_back(figure.words);
        }
    }
    return names;
}

TextForm::Problem unknown_figure(std::string_view name) {
    const std::vector<std::string_view> known = figure_names();
    const std::string_view near = nearest(name, known);
    return {fmt::format("'{}' is not a figure of the report", name),
            near.empty() ? fmt::format("figures: {}", fmt::join(known, ", "))
                         : fmt::format("did you mean '{}'?", near)};
}

TextForm::Problem read_figure_value(const Figure& figure, std::string_view text, double& value) {
    switch (figure.unit) {
    case FigureUnit::Number:
        return read_as<double>(text, value, [](double v) { return v; });
    case FigureUnit::Seconds:
        return read_as<Duration>(text, value, [](Duration v) { return to_seconds(v); });
    case FigureUnit::Size:
        return read_as<Bytes>(text, value, [](Bytes v) { return static_cast<double>(v.value); });
    case FigureUnit::Teraflops:
        return read_as<FlopRate>(text, value, [](FlopRate v) { return v.value / 1e12; });
    }
    return {};
}

std::string write_figure_value(const Figure& figure, double value) {
    switch (figure.unit) {
    case FigureUnit::Number:
        return to_text(value);
    case FigureUnit::Seconds:
        return to_text(Duration(std::llround(value * 1e12)));
    case FigureUnit::Size:
        return to_text(Bytes(std::llround(value)));
    case FigureUnit::Teraflops:
        return fmt::format("{}TFLOPS", value);
    }
    return {};
}

TextForm::Problem read_check(std::string_view text, CheckExpression& check) {
    using Relation = CheckExpression::Relation;
    check.text = trim(text);
    const std::size_t at = text.find_first_of("<>");
    if (at == std::string_view::npos) {
        check.figure = check.text;
        check.relation = Relation::Holds;
        return check.figure == "fits"
                   ? TextForm::Problem{}
                   : TextForm::Problem{fmt::format("'{}' is not a check", check.text),
                                       "say `fits`, or compare a figure, as in `step_time < 30s`"};
    }
    const bool equal = at + 1 < text.size() && text[at + 1] == '=';
    const bool less = text[at] == '<';
    check.relation = less ? (equal ? Relation::LessEqual : Relation::Less)
                          : (equal ? Relation::GreaterEqual : Relation::Greater);
    const std::string_view name = trim(text.substr(0, at));
    const Figure* figure = find_figure(name);
    if (figure == nullptr) {
        return unknown_figure(name);
    }
    check.figure = figure->json;
    return read_figure_value(*figure, trim(text.substr(at + (equal ? 2 : 1))), check.value);
}

}  // namespace memwall
