#pragma once
// Exact parameter tensors of each layer kind, and the counts that follow from them.
#include <cstdint>
#include <vector>

#include "sim/model/trace.h"
#include "sim/spec/model.h"

namespace memwall {

// Fused: q, k, v are one matrix and gate, up are one (Megatron, Transformer Engine); else one each (Llama, torchtitan).
[[nodiscard]] std::vector<ParameterTensor> embedding_parameters(const Model& model,
                                                                std::int64_t vocabulary);
[[nodiscard]] std::vector<ParameterTensor> attention_parameters(const Model& model, bool fused);
[[nodiscard]] std::vector<ParameterTensor> mlp_parameters(const Model& model, bool fused);
[[nodiscard]] std::vector<ParameterTensor> moe_parameters(const Model& model, bool fused);
// The norms before attention and before the MLP are in the respective list.
[[nodiscard]] std::vector<ParameterTensor> layer_parameters(const Model& model,
                                                            bool experts,
                                                            bool fused);
[[nodiscard]] std::vector<ParameterTensor> head_parameters(const Model& model,
                                                           std::int64_t vocabulary);

// Which matrices of a layer add a bias.
[[nodiscard]] bool qkv_has_bias(const Model& model);
[[nodiscard]] bool projection_has_bias(const Model& model);  // of attention's output
[[nodiscard]] bool mlp_has_bias(const Model& model);

[[nodiscard]] bool layer_has_experts(const Model& model, std::int64_t layer);

// Multi-token prediction modules are not counted (their parameters are usually published apart).
[[nodiscard]] std::int64_t parameter_count(const Model& model);
// Per token: top_k of the routed experts, everything else in full, embedding included.
[[nodiscard]] std::int64_t active_parameter_count(const Model& model);
// In matrix products: head included (also when tied), embedding lookup excluded, active experts only.
[[nodiscard]] std::int64_t matmul_parameter_count(const Model& model);
// Sum over layers of heads x mean of the two head dimensions: the h of 12 L h s.
[[nodiscard]] std::int64_t attention_flops_factor(const Model& model);

}  // namespace memwall
