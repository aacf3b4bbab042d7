#pragma once
// GPUs for the tests of the kernel laws: one with round numbers, so that expectations are algebra, and real ones whose
// constants are typed in from topologies/gpus (sources there), since this room cannot read files.
#include <cmath>
#include <cstdint>

#include "sim/spec/gpu.h"

namespace memwall::tests {

inline FlopRate tflops(double v) {
    return FlopRate(v * 1e12);
}
inline Bandwidth gbps(double v) {
    return Bandwidth(v * 1e9);
}
inline Duration us(double v) {
    return Duration(std::llround(v * 1e6));
}
inline double in_us(Duration d) {
    return static_cast<double>(d.count()) * 1e-6;
}

// 100 SMs of 1 TFLOP/s (one flop per us and SM: 1e6), whole waves, equal tiles, no overheads, memory out of the way.
inline Gpu round_gpu() {
    Gpu g;
    g.name = "round";
    g.architecture = "sm90";
    g.hbm = gbps(1000);
    g.peak = {{Dtype::Bf16, tflops(100)}, {Dtype::Fp16, tflops(100)}, {Dtype::Fp32, tflops(25)}};
    g.sms = 100;
    g.pcie = gbps(50);
    g.pcie_efficiency = 0.8;
    g.pcie_fixed = us(2);
    g.gemm_tiling = {.tile_starvation = 0, .wave_hardness = 1, .l2_hit = 0, .two_cta_tile = false};
    g.gemm[Dtype::Bf16].burst = tflops(100);
    g.gemm[Dtype::Bf16].memory = Bandwidth(1e30);
    g.attention_forward[Dtype::Bf16] = {.matrix = tflops(100), .memory = Bandwidth(1e30)};
    g.attention_backward[Dtype::Bf16] = {.matrix = tflops(100), .memory = Bandwidth(1e30)};
    g.memory_kernels[MemoryKind::Elementwise] = {.efficiency = 0.8, .fixed = us(2)};
    g.memory_kernels[MemoryKind::Softmax] = {.efficiency = 0.5, .fixed = us(3)};
    return g;
}

inline Gpu a100() {
    Gpu g;
    g.name = "a100-80g-sxm";
    g.architecture = "sm80";
    g.hbm = gbps(2039);
    g.peak = {{Dtype::Fp32, tflops(19.5)},
              {Dtype::Tf32, tflops(156)},
              {Dtype::Fp16, tflops(312)},
              {Dtype::Bf16, tflops(312)}};
    g.sms = 108;
    g.l2 = Bytes(40LL << 20);
    g.gemm_tiling = {
        .tile_starvation = 30, .wave_hardness = 0.75, .l2_hit = 1, .two_cta_tile = false};
    g.gemm[Dtype::Bf16] = {.burst = tflops(303.7),
                           .sustained = tflops(288.1),
                           .prologue_k = 219.7,
                           .memory = gbps(2039),
                           .fixed = us(3.59),
                           .clock_drop = 0.116,
                           .reaction = us(1000)};
    g.attention_forward[Dtype::Bf16] = {
        .matrix = tflops(245.1), .tile_overhead = us(3), .fixed = us(5), .memory = gbps(1427)};
    g.attention_backward[Dtype::Bf16] = {.matrix = tflops(236.6),
                                         .tile_overhead = us(7),
                                         .fixed = us(20),
                                         .memory = gbps(1427),
                                         .wide_head_penalty = 1.33};
    g.flash2_forward[Dtype::Bf16] = {
        .matrix = tflops(228), .tile_overhead = us(3), .fixed = us(5), .memory = gbps(1427)};
    g.flash2_backward[Dtype::Bf16] = {
        .matrix = tflops(197), .tile_overhead = us(7), .fixed = us(20), .memory = gbps(1427)};
    g.memory_kernels[MemoryKind::Elementwise] = {.efficiency = 0.85, .fixed = us(2.4)};
    g.occupancy = {{.threads = 0.25, .rate = 0.592},
                   {.threads = 0.5, .rate = 0.911},
                   {.threads = 0.75, .rate = 0.969},
                   {.threads = 0.875, .rate = 0.983}};
    return g;
}

inline Gpu h100() {
    Gpu g;
    g.name = "h100-80g-sxm";
    g.architecture = "sm90";
    g.hbm = gbps(3352);
    g.peak = {{Dtype::Bf16, tflops(989)}, {Dtype::Fp8, tflops(1979)}};
    g.sms = 132;
    g.l2 = Bytes(50LL << 20);
    g.pcie = gbps(63);
    g.pcie_efficiency = 0.82;
    g.pcie_fixed = us(2.4);
    g.gemm_tiling = {.tile_starvation = 5, .wave_hardness = 0.4, .l2_hit = 0, .two_cta_tile = true};
    g.gemm[Dtype::Bf16] = {.burst = tflops(891.7),
                           .sustained = tflops(777.1),
                           .prologue_k = 169.2,
                           .memory = gbps(2813),
                           .fixed = us(2.7),
                           .clock_drop = 0.195,
                           .reaction = us(1000)};
    return g;
}

inline Gpu h200() {
    Gpu g = h100();
    g.name = "h200";
    g.hbm = gbps(4800);
    g.attention_forward[Dtype::Bf16] = {.matrix = tflops(915.1),
                                        .exponentials = 6.64e12,
                                        .tile_overhead = us(3),
                                        .fixed = us(5),
                                        .memory = gbps(3360)};
    g.attention_backward[Dtype::Bf16] = {.matrix = tflops(865.2),
                                         .exponentials = 1.58e12,
                                         .tile_overhead = us(7),
                                         .fixed = us(20),
                                         .memory = gbps(3360)};
    g.memory_kernels[MemoryKind::Elementwise] = {.efficiency = 0.84, .fixed = us(2.4)};
    g.memory_kernels[MemoryKind::Norm] = {.efficiency = 0.8, .fixed = us(1.2)};
    g.memory_kernels[MemoryKind::NormBackward] = {.efficiency = 0.8, .fixed = us(5.8)};
    return g;
}

}  // namespace memwall::tests
