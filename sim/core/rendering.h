#pragma once
// Diagnostics as text for a terminal: the message, the line of the file with a caret, notes, and the hint.
//   scenarios/gpt3.yaml:14:9: error: tp 5 does not divide 96 attention heads [E0312]
//      14 |     tp: 5
//         |         ^
//   workloads/gpt3-175b.yaml:6:10: note: heads is given here
//   hint: divisors of 96 within one NVLink domain of 8: 1, 2, 3, 4, 6, 8
// Control characters that come from files are shown as \x1b, so that a file cannot steer the terminal.
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/diagnostics.h"

namespace memwall {

// The text of a file by the name that places use; empty when there is none. May be a null function: no source lines.
using SourceText = std::function<std::optional<std::string_view>(const std::string& file)>;

struct RenderOptions {
    bool color = false;  // ANSI colours
};

// One diagnostic, ending in a newline.
[[nodiscard]] std::string render(const Diagnostic& diagnostic,
                                 const SourceText& source,
                                 RenderOptions options = {});

// All of them in order of place, then a line such as "2 errors, 1 warning"; empty when there are none.
[[nodiscard]] std::string render(const Diagnostics& diagnostics,
                                 const SourceText& source,
                                 RenderOptions options = {});

// "scenarios/a.yaml:14:9", "scenarios/a.yaml" when the whole file is meant, "--set 2" for the second --set.
[[nodiscard]] std::string to_text(const Place& place);

}  // namespace memwall
