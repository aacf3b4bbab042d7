#pragma once
// A duration from a trace stands as it is. When communication holds SMs, a kernel that computes (flops > 0) is stretched
// by SM / (SM - blocks), the mean of the wave law; one without flops is left alone, since nothing is known about it.
#include "sim/hardware/kernel_time.h"

namespace memwall {

[[nodiscard]] KernelBreakdown measured_time(const Gpu& gpu,
                                            const Measured& kernel,
                                            const KernelConditions& conditions);

}  // namespace memwall
