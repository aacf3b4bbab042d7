#pragma once
// The timeline as Chrome trace-event JSON, which ui.perfetto.dev opens: a rank is a process, a stream a thread.
#include <string>

#include "sim/parallel/program.h"
#include "sim/run/result.h"

namespace memwall {

[[nodiscard]] std::string chrome_trace(const RunResult& result,
                                       const ProgramSet& programs,
                                       const std::string& name);

}  // namespace memwall
