#include "sim/spec/precision.h"

#include <array>

namespace memwall {
namespace {

struct Policy {
    std::string_view name;
    Dtype compute;
    double weights;
    double gradients;
    double master;  // 0 = the weights are the master copy
    double moments;
};

// fp16_mixed, bf16_mixed: 16 B, the model states of glossary.md (Rajbhandari et al., "ZeRO", SC20, section 3.1).
// *_fp32_gradients: 18 B, Megatron's main_grad (Megatron-LM docs, dist_optimizer: "bf16 param, fp32 grads").
// bf16_params_fp32_states: 16 B, FSDP2 mixed precision: the fp32 shard is the master, gathered and computed in bf16.
// bf16: everything in bf16 without a master copy, 8 B. fp32 and tf32: 16 B, tf32 only changes the matrix products.
constexpr std::array kPolicies = {
    Policy{"fp16_mixed", Dtype::Fp16, 2, 2, 4, 8},
    Policy{"bf16_mixed", Dtype::Bf16, 2, 2, 4, 8},
    Policy{"fp16_mixed_fp32_gradients", Dtype::Fp16, 2, 4, 4, 8},
    Policy{"bf16_mixed_fp32_gradients", Dtype::Bf16, 2, 4, 4, 8},
    Policy{"bf16_params_fp32_states", Dtype::Bf16, 4, 4, 0, 8},
    Policy{"bf16", Dtype::Bf16, 2, 2, 0, 4},
    Policy{"fp32", Dtype::Fp32, 4, 4, 0, 8},
    Policy{"tf32", Dtype::Tf32, 4, 4, 0, 8},
};

}  // namespace

std::optional<Precision> find_precision(std::string_view name) {
    for (const Policy& p : kPolicies) {
        if (p.name == name) {
            return Precision{
                std::string(p.name), p.compute, p.weights, p.gradients, p.master, p.moments};
        }
    }
    return std::nullopt;
}

std::vector<std::string_view> precision_names() {
    std::vector<std::string_view> names;
    for (const Policy& p : kPolicies) {
        names.push_back(p.name);
    }
    return names;
}

}  // namespace memwall
