#pragma once
// The timeline as Chrome trace-event JSON, which ui.perfetto.dev opens: a rank is a process, a stream a thread, and so is
// the host. A slice says what is done, for which layer and micro-batch, how much and how fast.
#include <string>

#include "sim/parallel/program.h"
#include "sim/run/result.h"
#include "sim/spec/plan.h"

namespace memwall {

// Of the first job, to which the programs belong.
[[nodiscard]] std::string chrome_trace(const RunResult& result,
                                       const ProgramSet& programs,
                                       const Plan& plan);

}  // namespace memwall
