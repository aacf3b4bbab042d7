// Attention around its core: q, k, v projections, per-head norms (Qwen3), rotary positions, output projection.
//
// Fused rotary reads and writes q and k once (TransformerEngine fused_rope); eager rotary works on fp32 complex numbers
// (meta-llama/llama3 model.py, apply_rotary_emb): cast 6, multiply 8, cast back 6 bytes per 16-bit element.
// With one product for q, k, v and rotary positions, q, k and v become contiguous copies and the fused output is freed;
// without rotary they stay views of it.
#include "sim/core/check.h"
#include "sim/model/blocks.h"
#include "sim/model/parameters.h"

namespace memwall {
namespace {

struct Part {
    const char* name;
    std::int64_t width;
};

struct Widths {
    std::int64_t q, k, v;
    [[nodiscard]] std::int64_t sum() const { return q + k + v; }
};

Widths widths(const Model& m) {
    const CoreShape s = core_shape(m);
    return {s.heads * s.dim_qk, s.kv_heads * s.dim_qk, s.kv_heads * s.dim_v};
}

void elementwise(LayerBuilder& b,
                 const BlockContext& c,
                 const std::string& name,
                 Pass pass,
                 MemoryKind kind,
                 std::int64_t bytes_per_token,
                 const Data& d) {
    b.op({.name = name,
          .pass = pass,
          .kernel = MemoryBound{kind, c.per_token(bytes_per_token)},
          .split = {.bytes = Split::Tp},
          .uses = d.uses,
          .makes = d.makes});
}

TensorIndex head_tensor(LayerBuilder& b,
                        const BlockContext& c,
                        const std::string& name,
                        std::int64_t bytes_per_token) {
    return b.tensor({.name = name, .bytes = c.per_token(bytes_per_token), .split = Split::Tp});
}

// Rotates one of q and k; the same kernels with the conjugate angles in backward.
TensorIndex rotate(
    LayerBuilder& b, const BlockContext& c, const Part& p, Pass pass, TensorIndex in) {
    const std::int64_t e = c.element;
    const std::string suffix = pass == Pass::Forward ? "" : " backward";
    const std::string name = std::string(p.name) + " rotary" + suffix;
    const TensorIndex out = head_tensor(b, c, name, p.width * e);
    if (c.kernels().fused_rotary) {
        elementwise(b, c, name, pass, MemoryKind::Elementwise, 2 * e * p.width, {{in}, {out}});
        return out;
    }
    const TensorIndex cast = head_tensor(b, c, name + " fp32", p.width * 4);
    const TensorIndex rotated = head_tensor(b, c, name + " fp32 rotated", p.width * 4);
    elementwise(b, c, name + " cast", pass, MemoryKind::Cast, (e + 4) * p.width, {{in}, {cast}});
    elementwise(
        b, c, name + " multiply", pass, MemoryKind::Elementwise, 8 * p.width, {{cast}, {rotated}});
    elementwise(
        b, c, name + " cast back", pass, MemoryKind::Cast, (4 + e) * p.width, {{rotated}, {out}});
    return out;
}

NormSpec head_norm(const Model& m, const char* name, std::int64_t heads) {
    return {.name = name, .width = m.head_dim, .rows = heads, .split = Split::Tp};
}

std::vector<Linear> projections(const BlockContext& c) {
    const Model& m = c.model;
    const Widths w = widths(m);
    const bool bias = qkv_has_bias(m);
    const auto linear = [&](const char* name, std::int64_t out) {
        return Linear{
            .name = name, .in = m.hidden, .out = out, .out_split = Split::Tp, .bias = bias};
    };
    if (c.kernels().fused_projections) {
        return {linear("qkv", w.sum())};
    }
    return {linear("q", w.q), linear("k", w.k), linear("v", w.v)};
}

// Unfused products need one k and v head per query head.
std::vector<TensorIndex> expand(LayerBuilder& b,
                                const BlockContext& c,
                                const std::vector<TensorIndex>& qkv) {
    const CoreShape s = core_shape(c.model);
    if (s.heads == s.kv_heads || attention_of(c) != AttentionImplementation::Unfused) {
        return qkv;
    }
    const std::int64_t e = c.element;
    const TensorIndex k = head_tensor(b, c, "k expanded", s.heads * s.dim_qk * e);
    const TensorIndex v = head_tensor(b, c, "v expanded", s.heads * s.dim_v * e);
    const Pass f = Pass::Forward;
    const MemoryKind kind = MemoryKind::Elementwise;
    const bool packed = qkv.size() == 1;
    elementwise(b,
                c,
                "k expand",
                f,
                kind,
                (s.heads + s.kv_heads) * s.dim_qk * e,
                {{qkv[packed ? 0 : 1]}, {k}});
    elementwise(
        b, c, "v expand", f, kind, (s.heads + s.kv_heads) * s.dim_v * e, {{qkv.back()}, {v}});
    return {qkv.front(), k, v};
}

void reduce_expanded(LayerBuilder& b, const BlockContext& c, std::vector<TensorIndex>& gradients) {
    const CoreShape s = core_shape(c.model);
    if (s.heads == s.kv_heads || attention_of(c) != AttentionImplementation::Unfused) {
        return;
    }
    const std::int64_t e = c.element;
    const Pass g = Pass::InputGradient;
    const MemoryKind kind = MemoryKind::Reduction;
    const std::int64_t dims[] = {s.dim_qk, s.dim_v};
    for (const std::size_t i : {1U, 2U}) {
        const std::int64_t dim = dims[i - 1];
        const std::string name = i == 1 ? "k gradient sum" : "v gradient sum";
        const TensorIndex sum = head_tensor(b, c, name, s.kv_heads * dim * e);
        elementwise(b, c, name, g, kind, (s.heads + s.kv_heads) * dim * e, {{gradients[i]}, {sum}});
        gradients[i] = sum;
    }
}

bool rotary(const BlockContext& c) {
    return c.model.position == PositionKind::Rotary;
}

}  // namespace

CoreShape core_shape(const Model& m) {
    return {.heads = m.heads, .kv_heads = m.kv_heads, .dim_qk = m.head_dim, .dim_v = m.head_dim};
}

AttentionTensors attention_forward(LayerBuilder& b, const BlockContext& c, TensorIndex normed) {
    const Model& m = c.model;
    const Widths w = widths(m);
    AttentionTensors t;
    t.qkv = column_forward(b, c, projections(c), normed);
    std::vector<TensorIndex> qkv = t.qkv.outputs;
    const bool packed = qkv.size() == 1;
    if (packed && (rotary(c) || m.qk_norm)) {
        qkv = {qkv[0], qkv[0], qkv[0]};
    }
    if (m.qk_norm) {
        t.q_norm = norm_forward(b, c, head_norm(m, "q norm", m.heads), qkv[0]);
        t.k_norm = norm_forward(b, c, head_norm(m, "k norm", m.kv_heads), qkv[1]);
        qkv[0] = t.q_norm->output;
        qkv[1] = t.k_norm->output;
    }
    if (rotary(c)) {
        qkv[0] = rotate(b, c, {"q", w.q}, Pass::Forward, qkv[0]);
        qkv[1] = rotate(b, c, {"k", w.k}, Pass::Forward, qkv[1]);
    }
    if (packed && qkv.size() == 3) {
        const TensorIndex v = head_tensor(b, c, "v", w.v * c.element);
        elementwise(b,
                    c,
                    "v copy",
                    Pass::Forward,
                    MemoryKind::Elementwise,
                    2 * w.v * c.element,
                    {{qkv[2]}, {v}});
        qkv[2] = v;
    }
    t.core = core_forward(b, c, core_shape(m), expand(b, c, qkv));
    t.proj = row_forward(b,
                         c,
                         {.name = "proj",
                          .in = core_shape(m).heads * core_shape(m).dim_v,
                          .out = m.hidden,
                          .in_split = Split::Tp,
                          .bias = projection_has_bias(m)},
                         t.core.context);
    return t;
}

TensorIndex attention_backward(LayerBuilder& b,
                               const BlockContext& c,
                               const AttentionTensors& t,
                               TensorIndex gradient) {
    const Widths w = widths(c.model);
    const TensorIndex context = row_backward(b, c, t.proj, gradient);
    std::vector<TensorIndex> gradients = core_backward(b, c, core_shape(c.model), t.core, context);
    if (gradients.size() == 3) {
        reduce_expanded(b, c, gradients);
        if (rotary(c)) {
            gradients[0] = rotate(b, c, {"q", w.q}, Pass::InputGradient, gradients[0]);
            gradients[1] = rotate(b, c, {"k", w.k}, Pass::InputGradient, gradients[1]);
        }
        if (t.q_norm && t.k_norm) {
            gradients[0] = norm_backward(b, c, *t.q_norm, gradients[0]);
            gradients[1] = norm_backward(b, c, *t.k_norm, gradients[1]);
        }
        if (t.qkv.products.size() == 1) {
            const TensorIndex packed = head_tensor(b, c, "qkv gradient", w.sum() * c.element);
            elementwise(b,
                        c,
                        "qkv gradient concat",
                        Pass::InputGradient,
                        MemoryKind::Elementwise,
                        2 * w.sum() * c.element,
                        {gradients, {packed}});
            gradients = {packed};
        }
    }
    return column_backward(b, c, t.qkv, gradients);
}

}  // namespace memwall
