#pragma once
// What the header of a workload trace states of the whole model, against what its layers hold. MFU divides by the header, time
// comes from the layers: a slip of the hand in the header would pass as a fast machine.
#include "sim/core/diagnostics.h"
#include "sim/model/trace.h"
#include "sim/spec/document.h"

namespace memwall {

// E0530 at the key of `doc` that contradicts the layers. What the layers leave open (no parameters listed, kernels of stated
// duration in place of products) is not checked.
void check_trace_header(const WorkloadTrace& trace, const DocNode& doc, Diagnostics& diagnostics);

}  // namespace memwall
