#pragma once
// A workload trace states which dimensions of its kernels a tensor-parallel group divides; the degree must divide them.
#include "sim/model/trace.h"
#include "sim/spec/legality.h"

namespace memwall {

// E0337 for the first dimension that check.job.degrees.tp does not divide, E0336 for too many gradient buckets.
void check_trace_split(const WorkloadTrace& trace, const JobCheck& check);

}  // namespace memwall
