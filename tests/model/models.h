#pragma once
// Models of the tests, written out so that expectations do not depend on the data files.
#include "sim/spec/model.h"

namespace memwall::testing {

// GPT-2/3 layout: learned positions, tied output, biases everywhere, f = 4h.
inline Model gpt(std::int64_t layers,
                 std::int64_t hidden,
                 std::int64_t heads,
                 std::int64_t vocabulary = 50257,
                 std::int64_t positions = 2048) {
    Model m;
    m.name = "gpt";
    m.layers = layers;
    m.hidden = hidden;
    m.heads = heads;
    m.kv_heads = heads;
    m.head_dim = hidden / heads;
    m.ffn = 4 * hidden;
    m.vocabulary = vocabulary;
    m.positions = positions;
    m.tied_embeddings = true;
    m.linear_bias = true;
    m.norm = NormKind::LayerNorm;
    m.position = PositionKind::Learned;
    m.dropout = 0.1;
    return m;
}

struct LlamaShape {
    std::int64_t layers, hidden, heads, kv_heads, ffn, vocabulary;
};

// Llama layout: rotary, RMSNorm, SwiGLU, no bias, untied.
inline Model llama(const LlamaShape& s) {
    Model m;
    m.name = "llama";
    m.layers = s.layers;
    m.hidden = s.hidden;
    m.heads = s.heads;
    m.kv_heads = s.kv_heads;
    m.head_dim = s.hidden / s.heads;
    m.ffn = s.ffn;
    m.vocabulary = s.vocabulary;
    m.gated = true;
    m.norm = NormKind::RmsNorm;
    m.position = PositionKind::Rotary;
    return m;
}

inline Model llama3_8b() {
    return llama({32, 4096, 32, 8, 14336, 128256});
}
inline Model llama3_70b() {
    return llama({80, 8192, 64, 8, 28672, 128256});
}

inline Moe experts(std::int64_t count, std::int64_t top_k, std::int64_t ffn) {
    Moe moe;
    moe.experts = count;
    moe.top_k = top_k;
    moe.ffn = ffn;
    return moe;
}

inline Model mixtral_8x7b() {
    Model m = llama({32, 4096, 32, 8, 14336, 32000});
    m.moe = experts(8, 2, 14336);
    return m;
}

inline Model qwen3_30b_a3b() {
    Model m = llama({48, 2048, 32, 4, 6144, 151936});
    m.head_dim = 128;
    m.qk_norm = true;
    m.moe = experts(128, 8, 768);
    return m;
}

inline Model deepseek_v3() {
    Model m = llama({61, 7168, 128, 128, 18432, 129280});
    m.head_dim = 192;
    m.mla = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};
    m.moe = experts(256, 8, 2048);
    m.moe.shared_ffn = 2048;
    m.moe.router_bias = true;
    for (int layer = 0; layer < 61; ++layer) {
        m.moe.layers.push_back(layer >= 3);
    }
    return m;
}

}  // namespace memwall::testing
