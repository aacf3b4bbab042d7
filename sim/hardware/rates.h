#pragma once
// Which constants serve a kernel's number format on a GPU, and what stands in where none were fitted.
#include <cstdint>
#include <optional>

#include "sim/spec/gpu.h"

namespace memwall {

// Sustained: the clock of minutes of load under the power limit, as in a training step. Burst: a benchmark that runs a
// kernel a few times on a cool GPU, so that short kernels see the boost clock; most published sweeps are of this kind.
enum class ClockState : std::uint8_t { Sustained, Burst };

template <class Rates>
struct Chosen {
    Rates rates;
    Dtype dtype = Dtype::Bf16;  // whose constants these are
    bool scaled = false;        // by the ratio of datasheet peaks
};

// GEMM: the dtype's own constants; else fp16 for bf16 and the reverse, where the GPU has that arithmetic (a peak rate);
// else the 16-bit constants with rates scaled to the dtype's datasheet peak; tf32 without tf32 units runs as fp32.
// A burst takes constants of burst sweeps where the GPU has them. Nothing: the GPU has no such arithmetic.
[[nodiscard]] std::optional<Chosen<GemmRates>> gemm_rates(const Gpu& gpu,
                                                          Dtype dtype,
                                                          ClockState clock = ClockState::Sustained);

// Fused attention: the dtype's own constants; else 16 bit, which is also what fp8 recipes use for attention.
// Nothing: fp32 and tf32, for which no fused kernel is modelled, or a GPU without 16-bit attention constants.
struct AttentionQuery {
    AttentionKind kind = AttentionKind::Flash2;
    bool backward = false;
    Dtype dtype = Dtype::Bf16;
};
[[nodiscard]] std::optional<Chosen<AttentionRates>> attention_rates(const Gpu& gpu,
                                                                    const AttentionQuery& query);

}  // namespace memwall
