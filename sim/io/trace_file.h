#pragma once
// The workload trace as a file (schema memwall/trace/1), YAML or JSON: what `memwall trace` writes and a scenario reads in
// place of a model. Tensors and kinds are referred to by name. An op may carry `measured`, a duration of the unsharded
// kernel, with the GPU it was measured on. Writing what was read gives the same bytes.
//
// Checked on reading: every kernel has its sizes; tensors are known, allocated before they are freed, once each, and freed
// once over forward then backward unless persistent; embedding, head and every layer name a kind; pass and list agree.
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/diagnostics.h"
#include "sim/model/trace.h"
#include "sim/spec/document.h"

namespace memwall {

enum class TraceFormat : std::uint8_t { Yaml, Json };

[[nodiscard]] std::string write_trace(const WorkloadTrace& trace, TraceFormat format);

// nullopt: at least one error was added.
[[nodiscard]] std::optional<WorkloadTrace> read_trace(const std::string& label,
                                                      std::string_view text,
                                                      Diagnostics& diagnostics);
[[nodiscard]] std::optional<WorkloadTrace> read_trace(const DocNode& document,
                                                      Diagnostics& diagnostics);

}  // namespace memwall
