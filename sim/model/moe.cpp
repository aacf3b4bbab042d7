// Mixture of experts: router, permutation of T top_k rows to E experts, grouped products, and back; shared experts beside.
// Experts are divided by ep and not by tp (expert tensor parallelism 1): their rows are the shard's tokens, so with
// sequence parallelism 1/tp of them. Rows are balanced and padded to a whole number per expert (capacity factor 1).
// Kept for backward (Megatron-LM core/transformer/moe, all-to-all dispatcher with probabilities applied inside the
// activation): router logits and probabilities in fp32, the routing map, the permuted input and the two expert activations.
// Neither the rows before dispatch nor the combined ones are kept.
#include "sim/model/blocks.h"

namespace memwall {
namespace {

struct Rows {
    std::int64_t per_expert = 0;
    std::int64_t all = 0;
};

Rows expert_rows(const BlockContext& c) {
    const Moe& moe = c.model.moe;
    const std::int64_t each = (c.tokens * moe.top_k + moe.experts - 1) / moe.experts;
    return {each, each * moe.experts};
}

TensorIndex rows_tensor(LayerBuilder& b,
                        const BlockContext& c,
                        const std::string& name,
                        std::int64_t width) {
    return b.tensor({.name = name,
                     .bytes = Bytes(expert_rows(c).all * width * c.element),
                     .split = Split::Sequence,
                     .module = TraceModule::Mlp});
}

TensorIndex stream_tensor(LayerBuilder& b, const BlockContext& c, const std::string& name) {
    return b.tensor({.name = name,
                     .bytes = c.activations(c.model.hidden),
                     .split = Split::Sequence,
                     .module = TraceModule::Mlp});
}

TensorIndex router_tensor(LayerBuilder& b,
                          const BlockContext& c,
                          const std::string& name,
                          std::int64_t bytes_per_expert) {
    return b.tensor({.name = name,
                     .bytes = c.per_token(c.model.moe.experts * bytes_per_expert),
                     .split = Split::Sequence,
                     .module = TraceModule::Mlp});
}

void elementwise(LayerBuilder& b, const std::string& name, Pass pass, Bytes bytes, const Data& d) {
    b.op({.name = name,
          .pass = pass,
          .kernel = MemoryBound{MemoryKind::Elementwise, bytes},
          .split = {.bytes = Split::Sequence},
          .module = TraceModule::Mlp,
          .uses = d.uses,
          .makes = d.makes});
}

// Rows scattered to experts, or gathered from them: one side has T rows read top_k times or written once.
Bytes permute_bytes(const BlockContext& c) {
    return Bytes(2 * expert_rows(c).all * c.model.hidden * c.element);
}
Bytes unpermute_bytes(const BlockContext& c) {
    return Bytes((expert_rows(c).all + c.tokens) * c.model.hidden * c.element);
}

void expert_boundary(LayerBuilder& b, const BlockContext& c, BoundaryKind kind, Pass pass) {
    b.boundary({.kind = kind,
                .pass = pass,
                .bytes = Bytes(expert_rows(c).all * c.model.hidden * c.element),
                .module = TraceModule::Mlp});
}

void route_forward(LayerBuilder& b, const BlockContext& c, MoeTensors& t) {
    const std::int64_t experts = c.model.moe.experts;
    t.router = {.name = "router",
                .in = c.model.hidden,
                .out = experts,
                .module = TraceModule::Mlp,
                .rows = c.tokens,
                .rows_split = Split::Sequence};
    t.logits = router_tensor(b, c, "router logits", 4);
    t.probabilities = router_tensor(b, c, "router probabilities", 4);
    t.map = router_tensor(b, c, "routing map", 1);
    linear_forward(b, c, t.router, {{t.normed}, {t.logits}});
    elementwise(b,
                "router top-k",
                Pass::Forward,
                c.per_token(experts * (4 + 4 + 1)),
                {{t.logits}, {t.probabilities, t.map}});
}

void shared_forward(LayerBuilder& b, const BlockContext& c, MoeTensors& t, TensorIndex routed) {
    const std::int64_t h = c.model.hidden;
    t.shared = mlp_forward(
        b, c, {.prefix = "shared ", .width = c.model.moe.shared_ffn, .rows = c.tokens}, t.normed);
    TensorIndex branch = t.shared->fc2.output;
    if (c.model.moe.shared_gate) {
        t.gate = Linear{.name = "shared expert gate",
                        .in = h,
                        .out = 1,
                        .module = TraceModule::Mlp,
                        .rows = c.tokens,
                        .rows_split = Split::Sequence};
        t.gate_output = b.tensor({.name = "shared expert gate output",
                                  .bytes = c.activations(1),
                                  .split = Split::Sequence,
                                  .module = TraceModule::Mlp});
        linear_forward(b, c, *t.gate, {{t.normed}, {*t.gate_output}});
        const TensorIndex gated = stream_tensor(b, c, "shared gated output");
        elementwise(b,
                    "shared expert gate multiply",
                    Pass::Forward,
                    c.activations(2 * h + 1),
                    {{branch, *t.gate_output}, {gated}});
        branch = gated;
    }
    t.output = stream_tensor(b, c, "expert sum");
    elementwise(
        b, "shared add", Pass::Forward, c.activations(3 * h), {{routed, branch}, {t.output}});
}

// Returns the gradient of the normed input through the shared experts.
TensorIndex shared_backward(LayerBuilder& b,
                            const BlockContext& c,
                            const MoeTensors& t,
                            TensorIndex gradient) {
    const std::int64_t h = c.model.hidden;
    if (!t.gate) {
        return mlp_backward(b, c, *t.shared, gradient);
    }
    const TensorIndex dgate = b.tensor({.name = "shared expert gate gradient",
                                        .bytes = c.activations(1),
                                        .split = Split::Sequence});
    const TensorIndex dbranch = stream_tensor(b, c, "shared output gradient");
    elementwise(b,
                "shared expert gate multiply backward",
                Pass::InputGradient,
                c.activations(3 * h + 2),
                {{gradient, *t.gate_output, t.shared->fc2.output}, {dbranch, dgate}});
    const TensorIndex through_gate = stream_tensor(b, c, "shared expert gate input gradient");
    linear_input_gradient(b, c, *t.gate, {{dgate}, {through_gate}});
    linear_weight_gradient(b, c, *t.gate, {{dgate, t.normed}, {}});
    const TensorIndex result = mlp_backward(b, c, *t.shared, dbranch);
    elementwise(b,
                "shared expert gate gradient add",
                Pass::InputGradient,
                c.activations(3 * h),
                {{through_gate, result}, {}});
    return result;
}

// Returns the gradient of the permuted input.
TensorIndex experts_backward(LayerBuilder& b,
                             const BlockContext& c,
                             const MoeTensors& t,
                             TensorIndex gradient) {
    const MlpTensors& e = t.experts;
    const TensorIndex activated = rows_tensor(b, c, "expert activation gradient", e.spec.width);
    linear_input_gradient(b, c, e.fc2.product, {{gradient}, {activated}});
    linear_weight_gradient(b, c, e.fc2.product, {{gradient, e.activated}, {}});
    const std::vector<TensorIndex> first = activation_backward(b, c, e, activated);
    const TensorIndex result = rows_tensor(b, c, "permuted input gradient", c.model.hidden);
    for (std::size_t i = 0; i < first.size(); ++i) {
        const Linear& l = e.fc1.products[i];
        if (i == 0) {
            linear_input_gradient(b, c, l, {{first[i]}, {result}});
        } else {
            const TensorIndex more = rows_tensor(b, c, l.name + " input gradient", c.model.hidden);
            linear_input_gradient(b, c, l, {{first[i]}, {more}});
            elementwise(b,
                        l.name + " input gradient add",
                        Pass::InputGradient,
                        Bytes(3 * expert_rows(c).all * c.model.hidden * c.element),
                        {{more, result}, {}});
        }
        linear_weight_gradient(b, c, l, {{first[i], t.permuted}, {}});
    }
    return result;
}

}  // namespace

MoeTensors moe_forward(LayerBuilder& b, const BlockContext& c, TensorIndex normed) {
    const Moe& moe = c.model.moe;
    const std::int64_t h = c.model.hidden;
    MoeTensors t;
    t.normed = normed;
    route_forward(b, c, t);

    t.permuted = rows_tensor(b, c, "permuted input", h);
    elementwise(b, "permute", Pass::Forward, permute_bytes(c), {{normed, t.map}, {t.permuted}});
    expert_boundary(b, c, BoundaryKind::ExpertDispatch, Pass::Forward);

    MlpTensors& e = t.experts;
    e.spec = {.prefix = "expert ",
              .width = moe.ffn,
              .split = Split::Sequence,
              .rows = expert_rows(c).all,
              .experts = moe.experts};
    e.fc1.products = mlp_first_products(c, e.spec);
    e.fc1.input = t.permuted;
    for (const Linear& l : e.fc1.products) {
        e.fc1.outputs.push_back(rows_tensor(b, c, l.name + " output", l.out));
        linear_forward(b, c, l, {{t.permuted}, {e.fc1.outputs.back()}});
    }
    activation_forward(b, c, e);
    e.fc2.product = mlp_second_product(c, e.spec);
    e.fc2.output = rows_tensor(b, c, "expert output", h);
    linear_forward(b, c, e.fc2.product, {{e.activated}, {e.fc2.output}});

    expert_boundary(b, c, BoundaryKind::ExpertCombine, Pass::Forward);
    t.output = stream_tensor(b, c, "unpermuted output");
    elementwise(
        b, "unpermute", Pass::Forward, unpermute_bytes(c), {{e.fc2.output, t.map}, {t.output}});
    if (moe.shared_ffn > 0) {
        shared_forward(b, c, t, t.output);
    }
    return t;
}

TensorIndex moe_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const MoeTensors& t,
                         TensorIndex gradient) {
    const std::int64_t h = c.model.hidden;
    const std::int64_t experts = c.model.moe.experts;
    const Pass g = Pass::InputGradient;

    std::optional<TensorIndex> shared;
    if (t.shared) {
        shared = shared_backward(b, c, t, gradient);
    }
    const TensorIndex rows = rows_tensor(b, c, "expert output gradient", h);
    elementwise(b, "unpermute backward", g, unpermute_bytes(c), {{gradient, t.map}, {rows}});
    expert_boundary(b, c, BoundaryKind::ExpertCombine, g);
    const TensorIndex permuted = experts_backward(b, c, t, rows);
    expert_boundary(b, c, BoundaryKind::ExpertDispatch, g);
    const TensorIndex result = stream_tensor(b, c, "expert input gradient");
    elementwise(b, "permute backward", g, unpermute_bytes(c), {{permuted, t.map}, {result}});

    const TensorIndex dlogits = router_tensor(b, c, "router logits gradient", 4);
    elementwise(b,
                "router top-k backward",
                g,
                c.per_token(experts * (4 + 4 + 4 + 1)),
                {{t.logits, t.probabilities, t.map}, {dlogits}});
    const TensorIndex drouter = stream_tensor(b, c, "router input gradient");
    linear_input_gradient(b, c, t.router, {{dlogits}, {drouter}});
    linear_weight_gradient(b, c, t.router, {{dlogits, t.normed}, {}});
    elementwise(b, "router gradient add", g, c.activations(3 * h), {{result, drouter}, {}});
    if (shared) {
        elementwise(b, "shared gradient add", g, c.activations(3 * h), {{result, *shared}, {}});
    }
    return result;
}

}  // namespace memwall
