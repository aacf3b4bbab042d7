#pragma once
// The duration of one kernel on one GPU when nothing else runs there, and how it grows when communication holds SMs.
#include <string>

#include "sim/core/units.h"
#include "sim/spec/gpu.h"
#include "sim/spec/kernel.h"

namespace memwall {

struct KernelTime {
    Duration duration{};
    const char* limit = "";  // "compute", "memory", "fixed", "measured": which term decides
};

// blocks: SMs held by communication kernels; 0 = the whole GPU is free.
[[nodiscard]] KernelTime kernel_time(const Gpu& gpu, const Kernel& kernel, int blocks = 0);

}  // namespace memwall
