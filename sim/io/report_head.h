#pragma once
// What was run, at the top of the report in a terminal.
#include <string>

#include "sim/io/report.h"
#include "sim/io/text_style.h"

namespace memwall {

// Name, machine, strategy, batch.
[[nodiscard]] std::string head_text(const Report& report, const TextStyle& style);
// With background jobs: who else is on the links. Else empty.
[[nodiscard]] std::string jobs_text(const Report& report, const TextStyle& style);
// What breaks the symmetry of the machine. Empty when nothing does.
[[nodiscard]] std::string events_text(const Report& report, const TextStyle& style);

}  // namespace memwall
