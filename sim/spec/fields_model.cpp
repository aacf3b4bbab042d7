#include "sim/spec/fields_work.h"

namespace memwall {
namespace {

// `attention: flash2` and `attention: {implementation: flash2}` are the same.
struct AttentionFields {
    AttentionImplementation& implementation;
};

void describe(Fields& f, AttentionFields& v) {
    f.leaf("implementation", v.implementation);
}

}  // namespace

void describe(Fields& f, Mla& v) {
    f.leaf("q_rank", v.q_rank, kNonNegative);
    f.leaf("kv_rank", v.kv_rank, kNonNegative);
    f.leaf("nope_dim", v.nope_dim, kNonNegative);
    f.leaf("rope_dim", v.rope_dim, kNonNegative);
    f.leaf("v_dim", v.v_dim, kNonNegative);
}

void describe(Fields& f, Moe& v) {
    f.leaf("experts", v.experts, kNonNegative);
    f.leaf("top_k", v.top_k, kNonNegative);
    f.leaf("ffn", v.ffn, kNonNegative);
    f.leaf("shared_ffn", v.shared_ffn, kNonNegative);
    f.leaf("shared_gate", v.shared_gate);
    f.list("layers", v.layers);
    f.leaf("router_bias", v.router_bias);
}

void describe(Fields& f, Model& v) {
    f.leaf("name", v.name, kRequired);
    f.keep("about");
    f.leaf("layers", v.layers, kRequired | kPositive);
    f.leaf("hidden", v.hidden, kRequired | kPositive);
    f.leaf("heads", v.heads, kRequired | kPositive);
    f.leaf("kv_heads", v.kv_heads, kPositive);
    f.leaf("head_dim", v.head_dim, kPositive);
    f.leaf("ffn", v.ffn, kRequired | kNonNegative);
    f.leaf("vocabulary", v.vocabulary, kRequired | kPositive);
    f.leaf("positions", v.positions, kNonNegative);
    f.leaf("gated", v.gated);
    f.leaf("tied_embeddings", v.tied_embeddings);
    f.leaf("linear_bias", v.linear_bias);
    f.leaf("qkv_bias", v.qkv_bias);
    f.leaf("attention_bias", v.attention_bias);
    f.leaf("mlp_bias", v.mlp_bias);
    f.leaf("qk_norm", v.qk_norm);
    f.leaf("norm", v.norm);
    f.leaf("position", v.position);
    f.leaf("window", v.window, kNonNegative);
    f.leaf("dropout", v.dropout, kShare);
    AttentionFields attention{v.attention};
    f.map("attention", attention, {}, "implementation");
    f.leaf("loss", v.loss);
    f.map("mla", v.mla);
    f.map("moe", v.moe);
    f.leaf("mtp_layers", v.mtp_layers, kNonNegative);
    f.leaf("published_parameters", v.published_parameters, kNonNegative);
    f.keep("sources");
}

}  // namespace memwall
