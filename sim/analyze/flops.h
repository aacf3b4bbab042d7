#pragma once
// Model, hardware and executed FLOPs of one step (glossary.md): what MFU and HFU divide, and what kernels really do.
//
//   F_model = B s (6 P_matmul + 12 A s a), A: sum over layers of heads x head_dim
//   a: share of the attention square that counts, by `attention_flops`:
//     full    1, whatever is masked (PaLM, Megatron until 2024)
//     causal  what the masks leave: 1/2, or (w/s)(1 - w/2s) with a window of w < s tokens
//   F_hw = F_model + forward products executed again, attention by the same convention
//   F_executed = sum over kernels. Below F_hw where fused attention skips masked scores that the convention counts; above it
//   by padded vocabulary, rounded shards and the scores that fused attention makes again in backward.
#include "sim/core/units.h"
#include "sim/model/trace.h"
#include "sim/parallel/program.h"
#include "sim/spec/gpu.h"
#include "sim/spec/plan.h"

namespace memwall {

// a of the formula above.
[[nodiscard]] double counted_attention(AttentionFlops convention, const WorkloadTrace& trace);

[[nodiscard]] Flops model_flops(const Job& job, const WorkloadTrace& trace);

// Forward products that all ranks together execute again for backward.
[[nodiscard]] Flops recomputed_flops(const Job& job, const ProgramSet& programs);

// Products that all ranks together execute.
[[nodiscard]] Flops executed_flops(const Job& job, const ProgramSet& programs);

// The most that a kernel reaches in a format: the data sheet's dense peak, or the rate of the kernel laws where that is
// higher (a data sheet states a boost clock that cards exceed: under load RTX cards reach 1.02 of their peak). 0 without a peak.
[[nodiscard]] FlopRate fastest_rate(const Gpu& gpu, Dtype dtype);

// Executed products of the busiest stage, each at the fastest rate of its format: no step is shorter. Kernels of stated
// duration are left out, since a file may state any.
[[nodiscard]] double seconds_at_fastest_rate(const Gpu& gpu, const ProgramSet& programs);

}  // namespace memwall
