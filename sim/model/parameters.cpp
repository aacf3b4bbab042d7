#include "sim/model/parameters.h"

#include <string>

namespace memwall {
namespace {

struct Matrix {
    std::string name;
    std::int64_t rows;
    std::int64_t columns;
    Split split = Split::Tp;
    bool bias = false;
    Split bias_split = Split::Tp;
};

void add_matrix(std::vector<ParameterTensor>& list, const Matrix& m) {
    list.push_back(
        {.name = m.name, .rows = m.rows, .columns = m.columns, .split = m.split, .matmul = true});
    if (m.bias) {
        list.push_back({.name = m.name + " bias", .rows = m.rows, .split = m.bias_split});
    }
}

void add_norm(std::vector<ParameterTensor>& list,
              const Model& model,
              const std::string& name,
              std::int64_t width) {
    list.push_back({.name = name, .rows = width});
    if (model.norm == NormKind::LayerNorm) {
        list.push_back({.name = name + " bias", .rows = width});
    }
}

void add_plain_projections(std::vector<ParameterTensor>& list, const Model& m, bool fused) {
    const std::int64_t q = m.heads * m.head_dim;
    const std::int64_t kv = m.kv_heads * m.head_dim;
    const bool bias = qkv_has_bias(m);
    if (fused) {
        add_matrix(list, {.name = "qkv", .rows = q + 2 * kv, .columns = m.hidden, .bias = bias});
    } else {
        add_matrix(list, {.name = "q", .rows = q, .columns = m.hidden, .bias = bias});
        add_matrix(list, {.name = "k", .rows = kv, .columns = m.hidden, .bias = bias});
        add_matrix(list, {.name = "v", .rows = kv, .columns = m.hidden, .bias = bias});
    }
    if (m.qk_norm) {
        list.push_back({.name = "q norm", .rows = m.head_dim});
        list.push_back({.name = "k norm", .rows = m.head_dim});
    }
    add_matrix(list,
               {.name = "proj",
                .rows = m.hidden,
                .columns = q,
                .bias = projection_has_bias(m),
                .bias_split = Split::None});
}

// Multi-head latent attention: the down projections are replicated over tp, the up projections are split by heads.
// Source: deepseek-ai/DeepSeek-V3 inference/model.py, class MLA.
void add_latent_projections(std::vector<ParameterTensor>& list, const Model& m) {
    const Mla& a = m.mla;
    const std::int64_t qk_dim = a.nope_dim + a.rope_dim;
    if (a.q_rank > 0) {
        add_matrix(list,
                   {.name = "q down", .rows = a.q_rank, .columns = m.hidden, .split = Split::None});
        list.push_back({.name = "q norm", .rows = a.q_rank});
        add_matrix(list, {.name = "q up", .rows = m.heads * qk_dim, .columns = a.q_rank});
    } else {
        add_matrix(list, {.name = "q", .rows = m.heads * qk_dim, .columns = m.hidden});
    }
    add_matrix(list,
               {.name = "kv down",
                .rows = a.kv_rank + a.rope_dim,
                .columns = m.hidden,
                .split = Split::None});
    list.push_back({.name = "kv norm", .rows = a.kv_rank});
    add_matrix(list,
               {.name = "kv up", .rows = m.heads * (a.nope_dim + a.v_dim), .columns = a.kv_rank});
    add_matrix(list, {.name = "proj", .rows = m.hidden, .columns = m.heads * a.v_dim});
}

// One gated or plain MLP of the given width.
void add_mlp(std::vector<ParameterTensor>& list,
             const Model& m,
             const std::string& prefix,
             std::int64_t width,
             bool fused) {
    const std::string fc1 = prefix + "fc1";
    const std::string gate = prefix + "gate";
    const std::string up = prefix + "up";
    const std::string fc2 = prefix + "fc2";
    const bool bias = mlp_has_bias(m);
    if (m.gated && !fused) {
        add_matrix(list, {.name = gate, .rows = width, .columns = m.hidden, .bias = bias});
        add_matrix(list, {.name = up, .rows = width, .columns = m.hidden, .bias = bias});
    } else {
        add_matrix(
            list,
            {.name = fc1, .rows = (m.gated ? 2 : 1) * width, .columns = m.hidden, .bias = bias});
    }
    add_matrix(
        list,
        {.name = fc2, .rows = m.hidden, .columns = width, .bias = bias, .bias_split = Split::None});
}

std::int64_t active_count(const ParameterTensor& p, const Moe& moe) {
    return p.expert ? p.rows * p.columns * moe.top_k : p.count();
}

// Sum of `count` over the model's layers, each kind counted once and multiplied.
template <class Count>
std::int64_t sum_over_layers(const Model& model, Count count) {
    std::int64_t sum = 0;
    for (const bool experts : {false, true}) {
        std::int64_t layers = 0;
        for (std::int64_t i = 0; i < model.layers; ++i) {
            layers += layer_has_experts(model, i) == experts ? 1 : 0;
        }
        if (layers == 0) {
            continue;
        }
        std::int64_t one = 0;
        for (const ParameterTensor& p : layer_parameters(model, experts, true)) {
            one += count(p);
        }
        sum += layers * one;
    }
    return sum;
}

std::int64_t ends_count(const Model& model) {
    std::int64_t sum = 0;
    for (const ParameterTensor& p : embedding_parameters(model, model.vocabulary)) {
        sum += p.count();
    }
    for (const ParameterTensor& p : head_parameters(model, model.vocabulary)) {
        sum += p.tied ? 0 : p.count();
    }
    return sum;
}

}  // namespace

std::vector<ParameterTensor> embedding_parameters(const Model& model, std::int64_t vocabulary) {
    std::vector<ParameterTensor> list = {
        {.name = "embedding", .rows = vocabulary, .columns = model.hidden, .split = Split::Tp}};
    if (model.position == PositionKind::Learned && model.positions > 0) {
        list.push_back({.name = "positions", .rows = model.positions, .columns = model.hidden});
    }
    return list;
}

std::vector<ParameterTensor> attention_parameters(const Model& model, bool fused) {
    std::vector<ParameterTensor> list;
    add_norm(list, model, "norm 1", model.hidden);
    if (model.mla.kv_rank > 0) {
        add_latent_projections(list, model);
    } else {
        add_plain_projections(list, model, fused);
    }
    return list;
}

std::vector<ParameterTensor> mlp_parameters(const Model& model, bool fused) {
    std::vector<ParameterTensor> list;
    add_norm(list, model, "norm 2", model.hidden);
    add_mlp(list, model, "", model.ffn, fused);
    return list;
}

std::vector<ParameterTensor> moe_parameters(const Model& model, bool fused) {
    const Moe& moe = model.moe;
    std::vector<ParameterTensor> list;
    add_norm(list, model, "norm 2", model.hidden);
    add_matrix(
        list,
        {.name = "router", .rows = moe.experts, .columns = model.hidden, .split = Split::None});
    if (moe.router_bias) {
        list.push_back({.name = "router correction", .rows = moe.experts, .trained = false});
    }
    const std::size_t first = list.size();
    add_mlp(list, model, "expert ", moe.ffn, fused);
    for (std::size_t i = first; i < list.size(); ++i) {
        list[i].copies = moe.experts;
        list[i].expert = true;
        list[i].split = Split::None;  // expert tensor parallelism 1
    }
    if (moe.shared_ffn > 0) {
        add_mlp(list, model, "shared ", moe.shared_ffn, fused);
        if (moe.shared_gate) {
            add_matrix(list,
                       {.name = "shared expert gate",
                        .rows = 1,
                        .columns = model.hidden,
                        .split = Split::None});
        }
    }
    return list;
}

std::vector<ParameterTensor> layer_parameters(const Model& model, bool experts, bool fused) {
    std::vector<ParameterTensor> list = attention_parameters(model, fused);
    const auto rest = experts ? moe_parameters(model, fused) : mlp_parameters(model, fused);
    list.insert(list.end(), rest.begin(), rest.end());
    return list;
}

std::vector<ParameterTensor> head_parameters(const Model& model, std::int64_t vocabulary) {
    std::vector<ParameterTensor> list;
    add_norm(list, model, "final norm", model.hidden);
    list.push_back({.name = "output",
                    .rows = vocabulary,
                    .columns = model.hidden,
                    .split = Split::Tp,
                    .matmul = true,
                    .tied = model.tied_embeddings});
    return list;
}

bool qkv_has_bias(const Model& model) {
    return model.linear_bias || model.attention_bias || model.qkv_bias;
}

bool projection_has_bias(const Model& model) {
    return model.linear_bias || model.attention_bias;
}

bool mlp_has_bias(const Model& model) {
    return model.linear_bias || model.mlp_bias;
}

bool layer_has_experts(const Model& model, std::int64_t layer) {
    if (model.moe.experts == 0) {
        return false;
    }
    const std::vector<bool>& layers = model.moe.layers;
    return layers.empty() || (layer < static_cast<std::int64_t>(layers.size()) &&
                              layers[static_cast<std::size_t>(layer)]);
}

std::int64_t parameter_count(const Model& model) {
    return ends_count(model) +
           sum_over_layers(model, [](const ParameterTensor& p) { return p.count(); });
}

std::int64_t active_parameter_count(const Model& model) {
    return ends_count(model) + sum_over_layers(model, [&](const ParameterTensor& p) {
               return active_count(p, model.moe);
           });
}

std::int64_t matmul_parameter_count(const Model& model) {
    return model.vocabulary * model.hidden + sum_over_layers(model, [&](const ParameterTensor& p) {
               return p.matmul ? active_count(p, model.moe) : 0;
           });
}

std::int64_t attention_flops_factor(const Model& model) {
    const Mla& a = model.mla;
    const std::int64_t one = a.kv_rank > 0 ? model.heads * (a.nope_dim + a.rope_dim + a.v_dim) / 2
                                           : model.heads * model.head_dim;
    return model.layers * one;
}

}  // namespace memwall
