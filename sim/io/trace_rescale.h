#pragma once
// Durations of a workload trace that were measured on another GPU than the scenario's:
//   t = t_measured x kernel_time(this GPU, kernel) / kernel_time(that GPU, kernel)     of the unsharded kernel, GPU free
// The error of the laws cancels as far as it is the same on both cards. A duration is used as it is when the other GPU
// has no data file, or one of the two has no law for the kernel.
#include "sim/core/diagnostics.h"
#include "sim/io/data_source.h"
#include "sim/model/trace.h"
#include "sim/spec/gpu.h"

namespace memwall {

// Sets TraceOp::measured_scale. A warning (W0530) at `place` for each GPU that was measured on.
void rescale_measured(WorkloadTrace& trace,
                      const Gpu& gpu,
                      const Place& place,
                      DataSource& source,
                      Diagnostics& diagnostics);

}  // namespace memwall
