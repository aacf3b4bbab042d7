#include "sim/hardware/rates.h"

#include <map>

namespace memwall {
namespace {

bool is_16_bit(Dtype d) {
    return d == Dtype::Fp16 || d == Dtype::Bf16;
}

template <class Rates>
std::optional<Chosen<Rates>> sixteen_bit(const std::map<Dtype, Rates>& all) {
    for (const Dtype d : {Dtype::Bf16, Dtype::Fp16}) {
        const auto found = all.find(d);
        if (found != all.end()) {
            return Chosen<Rates>{.rates = found->second, .dtype = d};
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Chosen<GemmRates>> gemm_rates(const Gpu& gpu, Dtype dtype, ClockState clock) {
    if (clock == ClockState::Burst) {
        const auto burst = gpu.gemm_burst.find(dtype);
        if (burst != gpu.gemm_burst.end()) {
            return Chosen<GemmRates>{.rates = burst->second, .dtype = dtype};
        }
    }
    const auto own = gpu.gemm.find(dtype);
    if (own != gpu.gemm.end()) {
        return Chosen<GemmRates>{.rates = own->second, .dtype = dtype};
    }
    const auto peak = gpu.peak.find(dtype);
    if (peak == gpu.peak.end()) {
        return dtype == Dtype::Tf32 ? gemm_rates(gpu, Dtype::Fp32) : std::nullopt;
    }
    auto chosen = sixteen_bit(gpu.gemm);
    if (!chosen) {
        return std::nullopt;
    }
    const auto chosen_peak = gpu.peak.find(chosen->dtype);
    if (chosen_peak == gpu.peak.end()) {
        return std::nullopt;
    }
    const double ratio = peak->second / chosen_peak->second;
    chosen->rates.burst = chosen->rates.burst * ratio;
    chosen->rates.sustained = chosen->rates.sustained * ratio;
    chosen->scaled = !is_16_bit(dtype);
    return chosen;
}

std::optional<Chosen<AttentionRates>> attention_rates(const Gpu& gpu, const AttentionQuery& query) {
    if (query.dtype == Dtype::Fp32 || query.dtype == Dtype::Tf32) {
        return std::nullopt;
    }
    const auto& best = query.backward ? gpu.attention_backward : gpu.attention_forward;
    const auto& flash2 = query.backward ? gpu.flash2_backward : gpu.flash2_forward;
    const bool trtllm = query.kind == AttentionKind::TrtLlm && !query.backward;
    const auto& all = trtllm && !gpu.trtllm_forward.empty()                    ? gpu.trtllm_forward
                      : query.kind == AttentionKind::Flash2 && !flash2.empty() ? flash2
                                                                               : best;
    const auto own = all.find(query.dtype);
    if (own != all.end()) {
        return Chosen<AttentionRates>{.rates = own->second, .dtype = query.dtype};
    }
    if (query.dtype == Dtype::Bf16 && !gpu.peak.contains(Dtype::Bf16)) {
        return std::nullopt;
    }
    return sixteen_bit(all);
}

}  // namespace memwall
