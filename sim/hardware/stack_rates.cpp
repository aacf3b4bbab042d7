#include "sim/hardware/stack_rates.h"

#include <algorithm>

namespace memwall {
namespace {

void scale(std::map<Dtype, AttentionRates>& all, double share) {
    for (auto& [dtype, rates] : all) {
        rates.matrix.value *= share;
        rates.exponentials *= share;
    }
}

}  // namespace

Gpu as_used_by(Gpu gpu, const Stack& stack) {
    const auto found =
        std::find_if(stack.rates.begin(), stack.rates.end(), [&](const StackRates& rates) {
            return rates.architecture == gpu.architecture;
        });
    if (found == stack.rates.end()) {
        return gpu;
    }
    for (auto& [dtype, rates] : gpu.gemm) {
        rates.burst.value *= found->gemm;
        rates.sustained.value *= found->gemm;
    }
    gpu.gemm_tiling.batched_unaligned *= found->batched_unaligned;
    gpu.gemm_tiling.batched_off_64 *= found->batched_off_64;
    scale(gpu.attention_forward, found->attention_forward);
    scale(gpu.flash2_forward, found->attention_forward);
    scale(gpu.attention_backward, found->attention_backward);
    scale(gpu.flash2_backward, found->attention_backward);
    for (auto& [kind, rates] : gpu.memory_kernels) {
        rates.efficiency = std::min(1.0, rates.efficiency * found->memory);
    }
    return gpu;
}

}  // namespace memwall
