// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): queries from q_rank, keys and values from kv_rank numbers per
// token; a heads of nope + rope (q, k) and v dimensions; the rotary part of k is one head shared by all.
// The down projections work on the shard's own tokens (replicated weights), the up projections are column-parallel.
// Rotary kernels (Megatron-LM core/fusions/fused_mla_yarn_rope_apply.py): q in place; k and v are written once from the up
// projection and the shared rotary part.
// Kept: both compressed vectors before and after their norms, the kv one also with its rotary part; q, k, v whole.
#include "sim/model/blocks.h"

namespace memwall {
namespace {

struct Widths {
    std::int64_t q, k, v, kv_up;
};

Widths widths(const Model& m) {
    const Mla& a = m.mla;
    const std::int64_t qk = a.nope_dim + a.rope_dim;
    return {m.heads * qk, m.heads * qk, m.heads * a.v_dim, m.heads * (a.nope_dim + a.v_dim)};
}

CoreShape latent_core(const Model& m) {
    return {.heads = m.heads,
            .kv_heads = m.heads,
            .dim_qk = m.mla.nope_dim + m.mla.rope_dim,
            .dim_v = m.mla.v_dim};
}

TensorIndex tensor(LayerBuilder& b,
                   const BlockContext& c,
                   const std::string& name,
                   std::int64_t width,
                   Split split) {
    return b.tensor({.name = name, .bytes = c.activations(width), .split = split});
}

void move(LayerBuilder& b,
          const BlockContext& c,
          const std::string& name,
          Pass pass,
          std::int64_t elements,
          Split split,
          const Data& d) {
    b.op({.name = name,
          .pass = pass,
          .kernel = MemoryBound{MemoryKind::Elementwise, c.activations(elements)},
          .split = {.bytes = split},
          .uses = d.uses,
          .makes = d.makes});
}

Linear down(const BlockContext& c, const char* name, std::int64_t width) {
    return {.name = name,
            .in = c.model.hidden,
            .out = width,
            .rows = c.tokens,
            .rows_split = Split::Sequence};
}

void rotary_boundary(LayerBuilder& b, const BlockContext& c, Pass pass) {
    b.boundary({.kind = BoundaryKind::ColumnInput,
                .pass = pass,
                .bytes = c.activations(c.model.mla.rope_dim)});
}

void queries_forward(LayerBuilder& b, const BlockContext& c, LatentAttention& t) {
    const Model& m = c.model;
    const std::int64_t rank = m.mla.q_rank;
    Linear up{.name = "q", .in = m.hidden, .out = widths(m).q, .out_split = Split::Tp};
    if (rank == 0) {
        t.q = column_forward(b, c, {up}, t.normed);
        return;
    }
    t.q_down = down(c, "q down", rank);
    const TensorIndex compressed = tensor(b, c, "q compressed", rank, Split::Sequence);
    linear_forward(b, c, *t.q_down, {{t.normed}, {compressed}});
    t.q_norm = norm_forward(b, c, {.name = "q norm", .width = rank}, compressed);
    up.name = "q up";
    up.in = rank;
    t.q = column_forward(b, c, {up}, t.q_norm->output);
}

void keys_forward(LayerBuilder& b, const BlockContext& c, LatentAttention& t) {
    const Mla& a = c.model.mla;
    t.kv_down = down(c, "kv down", a.kv_rank + a.rope_dim);
    t.kv_compressed = tensor(b, c, "kv compressed", a.kv_rank + a.rope_dim, Split::Sequence);
    linear_forward(b, c, t.kv_down, {{t.normed}, {t.kv_compressed}});
    const TensorIndex latent = tensor(b, c, "kv latent", a.kv_rank, Split::Sequence);
    move(b,
         c,
         "kv latent copy",
         Pass::Forward,
         2 * a.kv_rank,
         Split::Sequence,
         {{t.kv_compressed}, {latent}});
    t.kv_norm = norm_forward(b, c, {.name = "kv norm", .width = a.kv_rank}, latent);
    rotary_boundary(b, c, Pass::Forward);
    t.kv_up = column_forward(
        b,
        c,
        {{.name = "kv up", .in = a.kv_rank, .out = widths(c.model).kv_up, .out_split = Split::Tp}},
        t.kv_norm.output);
}

// Returns the gradient of the normed input through keys and values.
TensorIndex keys_backward(LayerBuilder& b,
                          const BlockContext& c,
                          const LatentAttention& t,
                          const std::vector<TensorIndex>& gradients) {
    const Mla& a = c.model.mla;
    const Widths w = widths(c.model);
    const Pass g = Pass::InputGradient;
    const TensorIndex up = tensor(b, c, "kv up output gradient", w.kv_up, Split::Tp);
    const TensorIndex rope = tensor(b, c, "k rotary part gradient", a.rope_dim, Split::None);
    move(b,
         c,
         "kv rotary backward",
         g,
         w.k + w.v + w.kv_up + a.rope_dim,
         Split::Tp,
         {{gradients[1], gradients[2], t.kv_compressed}, {up, rope}});
    rotary_boundary(b, c, g);
    const TensorIndex normed = column_backward(b, c, t.kv_up, {up});
    const TensorIndex latent = norm_backward(b, c, t.kv_norm, normed);
    const TensorIndex compressed =
        tensor(b, c, "kv compressed gradient", a.kv_rank + a.rope_dim, Split::Sequence);
    move(b,
         c,
         "kv compressed gradient concat",
         g,
         2 * (a.kv_rank + a.rope_dim),
         Split::Sequence,
         {{latent, rope}, {compressed}});
    const TensorIndex result =
        tensor(b, c, "kv down input gradient", c.model.hidden, Split::Sequence);
    linear_input_gradient(b, c, t.kv_down, {{compressed}, {result}});
    linear_weight_gradient(b, c, t.kv_down, {{compressed, t.normed}, {}});
    return result;
}

TensorIndex queries_backward(LayerBuilder& b,
                             const BlockContext& c,
                             const LatentAttention& t,
                             TensorIndex gradient) {
    move(b,
         c,
         "q rotary backward",
         Pass::InputGradient,
         2 * c.model.heads * c.model.mla.rope_dim,
         Split::Tp,
         {{gradient}, {}});
    const TensorIndex up = column_backward(b, c, t.q, {gradient});
    if (!t.q_down) {
        return up;
    }
    const TensorIndex compressed = norm_backward(b, c, t.q_norm.value(), up);
    const TensorIndex result =
        tensor(b, c, "q down input gradient", c.model.hidden, Split::Sequence);
    linear_input_gradient(b, c, *t.q_down, {{compressed}, {result}});
    linear_weight_gradient(b, c, *t.q_down, {{compressed, t.normed}, {}});
    return result;
}

}  // namespace

LatentAttention latent_attention_forward(LayerBuilder& b,
                                         const BlockContext& c,
                                         TensorIndex normed) {
    const Model& m = c.model;
    const Widths w = widths(m);
    LatentAttention t;
    t.normed = normed;
    queries_forward(b, c, t);
    keys_forward(b, c, t);
    const TensorIndex q = t.q.outputs.front();
    move(b, c, "q rotary", Pass::Forward, 2 * m.heads * m.mla.rope_dim, Split::Tp, {{q}, {}});
    const TensorIndex k = tensor(b, c, "k", w.k, Split::Tp);
    const TensorIndex v = tensor(b, c, "v", w.v, Split::Tp);
    move(b,
         c,
         "kv rotary",
         Pass::Forward,
         w.kv_up + m.mla.rope_dim + w.k + w.v,
         Split::Tp,
         {{t.kv_up.outputs.front(), t.kv_compressed}, {k, v}});
    t.core = core_forward(b, c, latent_core(m), {q, k, v});
    t.proj = row_forward(
        b, c, {.name = "proj", .in = w.v, .out = m.hidden, .in_split = Split::Tp}, t.core.context);
    return t;
}

TensorIndex latent_attention_backward(LayerBuilder& b,
                                      const BlockContext& c,
                                      const LatentAttention& t,
                                      TensorIndex gradient) {
    const TensorIndex context = row_backward(b, c, t.proj, gradient);
    const std::vector<TensorIndex> gradients =
        core_backward(b, c, latent_core(c.model), t.core, context);
    const TensorIndex keys = keys_backward(b, c, t, gradients);
    const TensorIndex queries = queries_backward(b, c, t, gradients[0]);
    move(b,
         c,
         "attention input gradient add",
         Pass::InputGradient,
         3 * c.model.hidden,
         Split::Sequence,
         {{queries, keys}, {}});
    return keys;
}

}  // namespace memwall
