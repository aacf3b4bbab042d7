#pragma once
// The workload trace as a table: one line for each op, totals for each kind of layer.
#include <string>

#include "sim/io/text_style.h"
#include "sim/model/trace.h"

namespace memwall {

[[nodiscard]] std::string trace_text(const WorkloadTrace& trace, const TextStyle& style);

}  // namespace memwall
