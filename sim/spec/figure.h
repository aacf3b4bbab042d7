#pragma once
// The figures of a report that `published:` and `checks:` may name, with the unit they are written in.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/fields.h"
#include "sim/spec/plan.h"

namespace memwall {

enum class FigureUnit : std::uint8_t { Number, Seconds, Size, Teraflops };

struct Figure {
    std::string_view json;   // its name in the report: step_time_s
    std::string_view words;  // as typed in a check: step_time
    FigureUnit unit;
};

// By either name.
[[nodiscard]] const Figure* find_figure(std::string_view name);
[[nodiscard]] std::vector<std::string_view> figure_names();
[[nodiscard]] TextForm::Problem unknown_figure(std::string_view name);

// "31.5s" for step_time_s is 31.5. The value in the figure's JSON unit, or what is wrong.
[[nodiscard]] TextForm::Problem read_figure_value(const Figure& figure,
                                                  std::string_view text,
                                                  double& value);
[[nodiscard]] std::string write_figure_value(const Figure& figure, double value);

// "fits", "step_time < 30s".
[[nodiscard]] TextForm::Problem read_check(std::string_view text, CheckExpression& check);

}  // namespace memwall
