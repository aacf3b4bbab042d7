#pragma once
// Kernels that stream tensors through HBM once: t = t1 + bytes / (HBM rate x reached share x occupancy share).
//
// The reached share and t1 belong to the kind of kernel (Gpu::memory_kernels); kinds without constants take those of
// Elementwise. Occupancy share: what is left of the memory rate when communication kernels hold some SMs, read from the
// GPU's table by linear interpolation; without a table the rate falls in proportion to the SMs lost.
// Neglects: hits in L2 of what the kernel before has just written (1.5-4 x faster below half of L2).
#include "sim/hardware/kernel_time.h"

namespace memwall {

[[nodiscard]] KernelBreakdown memory_bound_time(const Gpu& gpu,
                                                const MemoryBound& kernel,
                                                const KernelConditions& conditions);

// Share of the full memory rate that is left with this share of the threads resident, both in 0..1.
[[nodiscard]] double occupancy_rate(const std::vector<OccupancyPoint>& table, double threads);

}  // namespace memwall
