#pragma once
// Lowering: a job and its workload trace become one program per pipeline stage. No durations of kernels or transfers, no
// hardware: only what is done, in which order, on which stream, and what waits for what.
#include "sim/model/trace.h"
#include "sim/parallel/program.h"
#include "sim/spec/plan.h"

namespace memwall {

// The job is legal (spec::check_supported and the legality rules ran before); cp = ep = 1.
[[nodiscard]] ProgramSet lower(const Job& job, const WorkloadTrace& trace);

}  // namespace memwall
