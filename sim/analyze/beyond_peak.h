#pragma once
// Figures that the data sheet does not allow: a slip of the hand in a rate makes a machine that is too good.
#include "sim/analyze/metrics.h"
#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"

namespace memwall {

// W0408 at the peak rate of the GPU in `composed`, when kernels execute more than it, or MFU or HFU are above 100 %.
void warn_beyond_peak(const Plan& plan,
                      const Metrics& metrics,
                      const DocNode& composed,
                      Diagnostics& diagnostics);

}  // namespace memwall
