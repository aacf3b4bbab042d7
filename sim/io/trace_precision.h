#pragma once
// The kernels of a workload trace state their number format; the precision of the scenario must be that of most products.
#include "sim/model/trace.h"
#include "sim/spec/legality.h"

namespace memwall {

// E0337 at training.precision. A trace without matrix products (measured durations alone) says nothing.
void check_trace_precision(const WorkloadTrace& trace, const JobCheck& check);

}  // namespace memwall
