#pragma once
// A transformer as its architecture: what a config.json says. One file each in workloads/.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/spec/dtype.h"

namespace memwall {

enum class NormKind : std::uint8_t { LayerNorm, RmsNorm };
enum class PositionKind : std::uint8_t { Learned, Rotary, Alibi, None };
enum class AttentionImplementation : std::uint8_t {
    Auto,
    Unfused,
    Flash2,
    Flash3,
    Cudnn
};  // Auto: the stack's
enum class LossImplementation : std::uint8_t { Auto, Unfused, Fused };

// DeepSeek's multi-head latent attention; q_rank 0 = queries are not compressed, kv_rank 0 = no MLA.
struct Mla {
    std::int64_t q_rank = 0;
    std::int64_t kv_rank = 0;
    std::int64_t nope_dim = 0;
    std::int64_t rope_dim = 0;
    std::int64_t v_dim = 0;
};

struct Moe {
    std::int64_t experts = 0;  // 0 = dense
    std::int64_t top_k = 0;
    std::int64_t ffn = 0;
    std::int64_t shared_ffn = 0;  // total width of the shared experts
    bool shared_gate = false;     // qwen2_moe: a sigmoid gate on the shared expert
    std::vector<bool> layers;     // per layer: true = experts; empty = all
    bool router_bias = false;     // DeepSeek's correction bias (not trained by gradient, counted)
};

struct Model {
    std::string name;
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;  // hidden / heads unless stated
    std::int64_t ffn = 0;
    std::int64_t vocabulary = 0;
    std::int64_t positions = 0;  // rows of a learned position table; 0 = none
    bool gated = false;          // SwiGLU: three matrices
    bool tied_embeddings = false;
    bool linear_bias = false;     // on every matrix of a layer
    bool qkv_bias = false;        // Qwen2: bias on q, k, v only
    bool attention_bias = false;  // Llama's attention_bias: q, k, v and the output projection
    bool mlp_bias = false;        // Llama's mlp_bias
    bool qk_norm = false;         // Qwen3: RMSNorm on each head's q and k
    NormKind norm = NormKind::LayerNorm;
    PositionKind position = PositionKind::Learned;
    std::int64_t window = 0;
    double dropout = 0;
    AttentionImplementation attention = AttentionImplementation::Auto;
    LossImplementation loss = LossImplementation::Auto;
    Mla mla;
    Moe moe;
    std::int64_t mtp_layers = 0;  // multi-token prediction modules
    std::int64_t published_parameters =
        0;  // as published, checked by the data test; 0 = none stated
};

}  // namespace memwall
