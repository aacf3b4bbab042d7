#pragma once
// Lowering: a job and its workload trace become one program per pipeline stage. No durations of kernels or transfers, no
// hardware: only what is done, in which order, on which stream, and what waits for what.
#include "sim/model/build.h"
#include "sim/model/trace.h"
#include "sim/parallel/program.h"
#include "sim/spec/plan.h"

namespace memwall {

// The job is legal (spec::check_supported and the legality rules ran before); ep = 1.
[[nodiscard]] ProgramSet lower(const Job& job, const WorkloadTrace& trace);

// What a job's trace must be built with, so that it agrees with the strategy: gradients that are reduced away with each
// micro-batch (ZeRO-2/3, FSDP) are written, not accumulated.
[[nodiscard]] TraceShape trace_shape(const Job& job);

}  // namespace memwall
