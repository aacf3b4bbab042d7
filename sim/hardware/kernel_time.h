#pragma once
// The duration of one kernel on one GPU when nothing else runs there, and how it grows when communication holds SMs.
// One law per kind of kernel: gemm.h, attention.h, memory_bound.h, copy.h, measured.h; constants: topologies/gpus.
#include <cstdint>
#include <string>

#include "sim/core/units.h"
#include "sim/hardware/rates.h"
#include "sim/spec/gpu.h"
#include "sim/spec/kernel.h"

namespace memwall {

struct KernelConditions {
    int blocks = 0;  // SMs held by communication kernels
    ClockState clock = ClockState::Sustained;
    bool quantise =
        false;  // add the quantisation of low-precision inputs, for stacks that do not list it as kernels
};

struct KernelTime {
    Duration duration{};
    const char* limit =
        "";  // the largest term: "compute", "memory", "fixed", "host link", "measured"
};

// The terms behind a KernelTime, for explain and reports. duration = role (compute^4 + memory^4)^(1/4) + fixed for
// compute kernels, their sum for the others.
struct KernelBreakdown {
    Duration duration{};
    const char* limit = "";
    Duration compute{};
    Duration memory{};  // HBM, or the host link for copies
    Duration fixed{};
    double role = 1;  // layout factor of a GEMM
    int tile_m = 0;   // 0 = no tiles
    int tile_n = 0;
    int split = 1;     // parts of k computed apart and summed
    double waves = 0;  // tiles per free SM
    double efficiency =
        0;  // reached share of the datasheet rate: of the dtype's peak, of HBM, or of the host link
    Dtype rates_dtype = Dtype::Bf16;  // whose constants were used
    bool rates_scaled = false;        // they were scaled from rates_dtype by datasheet peaks
};

// blocks: SMs held by communication kernels; 0 = the whole GPU is free. Sizes must be positive and the kernel supported.
[[nodiscard]] KernelTime kernel_time(const Gpu& gpu, const Kernel& kernel, int blocks = 0);

[[nodiscard]] KernelBreakdown kernel_time_explained(const Gpu& gpu,
                                                    const Kernel& kernel,
                                                    const KernelConditions& conditions = {});

// Empty when kernel_time can answer; else what is missing, such as "v100-32g-sxm2 has no fp8 arithmetic".
[[nodiscard]] std::string unsupported(const Gpu& gpu, const Kernel& kernel);

}  // namespace memwall
