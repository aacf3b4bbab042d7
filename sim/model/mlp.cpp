// The MLP. Plain: fc1, activation (with its bias, in one kernel), fc2. Gated (SwiGLU, Shazeer, arXiv:2002.05202): fc1 makes
// gate and up side by side, or two products do; activation = silu(gate) * up.
// Bytes per 16-bit output element: GELU 4 forward, 6 backward; SwiGLU fused 6 and 10; eager silu 4 and multiply 6 forward,
// multiply 6 + 6 and silu 6 backward (and it keeps silu(gate) beside its inputs).
#include "sim/model/blocks.h"
#include "sim/model/parameters.h"

namespace memwall {
namespace {

struct Activation {
    LayerBuilder& b;
    const BlockContext& c;
    const MlpSpec& s;

    [[nodiscard]] Bytes bytes(std::int64_t elements) const {
        return Bytes(s.rows * elements * c.element);
    }
    [[nodiscard]] TensorIndex tensor(const std::string& name, std::int64_t width) const {
        return b.tensor({.name = s.prefix + name,
                         .bytes = bytes(width),
                         .split = s.split,
                         .module = TraceModule::Mlp});
    }
    // `elements` moved per output element.
    void op(const std::string& name, Pass pass, std::int64_t elements, const Data& d) const {
        b.op({.name = s.prefix + name,
              .pass = pass,
              .kernel = MemoryBound{MemoryKind::Elementwise, bytes(elements * s.width)},
              .split = {.bytes = s.split},
              .module = TraceModule::Mlp,
              .uses = d.uses,
              .makes = d.makes});
    }
};

Linear fc(const BlockContext& c, const MlpSpec& s, const std::string& name) {
    Linear l{.name = s.prefix + name, .module = TraceModule::Mlp, .bias = mlp_has_bias(c.model)};
    if (s.split == Split::Sequence) {
        l.rows = s.rows / s.experts;
        l.rows_split = Split::Sequence;
        l.batch = s.experts;
    }
    return l;
}

Linear first(const BlockContext& c, const MlpSpec& s, const std::string& name, std::int64_t width) {
    Linear l = fc(c, s, name);
    l.in = c.model.hidden;
    l.out = width;
    l.out_split = s.split == Split::Tp ? Split::Tp : Split::None;
    return l;
}

std::vector<TensorIndex> eager_gated_backward(const Activation& a,
                                              const MlpTensors& t,
                                              TensorIndex gradient) {
    const std::int64_t f = t.spec.width;
    const Pass g = Pass::InputGradient;
    const std::vector<TensorIndex>& in = t.fc1.outputs;
    const TensorIndex dsilu = a.tensor("silu gradient", f);
    const TensorIndex dup = a.tensor("up gradient", f);
    const TensorIndex dgate = a.tensor("gate gradient", f);
    a.op("multiply backward, silu", g, 3, {{gradient, in.back()}, {dsilu}});
    a.op("multiply backward, up", g, 3, {{gradient, t.silu.value()}, {dup}});
    a.op("silu backward", g, 3, {{dsilu, in.front()}, {dgate}});
    if (in.size() == 2) {
        return {dgate, dup};
    }
    const TensorIndex both = a.tensor("fc1 output gradient", 2 * f);
    a.op("gate and up gradient concat", g, 4, {{dgate, dup}, {both}});
    return {both};
}

}  // namespace

std::vector<Linear> mlp_first_products(const BlockContext& c, const MlpSpec& s) {
    if (!c.model.gated) {
        return {first(c, s, "fc1", s.width)};
    }
    if (c.kernels().fused_projections) {
        return {first(c, s, "fc1", 2 * s.width)};
    }
    return {first(c, s, "gate", s.width), first(c, s, "up", s.width)};
}

Linear mlp_second_product(const BlockContext& c, const MlpSpec& s) {
    Linear l = fc(c, s, "fc2");
    l.in = s.width;
    l.out = c.model.hidden;
    l.in_split = s.split == Split::Tp ? Split::Tp : Split::None;
    return l;
}

void activation_forward(LayerBuilder& b, const BlockContext& c, MlpTensors& t) {
    const Activation a{b, c, t.spec};
    const Pass p = Pass::Forward;
    const std::int64_t f = t.spec.width;
    const std::vector<TensorIndex>& in = t.fc1.outputs;
    t.activated = a.tensor("activation", f);
    if (!c.model.gated) {
        a.op("gelu", p, 2, {in, {t.activated}});
    } else if (c.kernels().fused_bias_activation) {
        a.op("swiglu", p, 3, {in, {t.activated}});
    } else {
        t.silu = a.tensor("silu", f);
        a.op("silu", p, 2, {{in.front()}, {*t.silu}});
        a.op("multiply", p, 3, {{*t.silu, in.back()}, {t.activated}});
    }
}

std::vector<TensorIndex> activation_backward(LayerBuilder& b,
                                             const BlockContext& c,
                                             const MlpTensors& t,
                                             TensorIndex gradient) {
    const Activation a{b, c, t.spec};
    if (t.silu) {
        return eager_gated_backward(a, t, gradient);
    }
    const std::int64_t f = t.spec.width;
    std::vector<TensorIndex> result;
    if (t.fc1.outputs.size() == 2) {
        result = {a.tensor("gate gradient", f), a.tensor("up gradient", f)};
    } else {
        result = {a.tensor("fc1 output gradient", c.model.gated ? 2 * f : f)};
    }
    std::vector<TensorIndex> uses = t.fc1.outputs;
    uses.push_back(gradient);
    const Pass g = Pass::InputGradient;
    if (c.model.gated) {
        a.op("swiglu backward", g, 5, {uses, result});
    } else {
        a.op("gelu backward", g, 3, {uses, result});
    }
    return result;
}

MlpSpec dense_mlp(const BlockContext& c) {
    return {.width = c.model.ffn, .rows = c.tokens};
}

MlpTensors mlp_forward(LayerBuilder& b,
                       const BlockContext& c,
                       const MlpSpec& spec,
                       TensorIndex normed) {
    MlpTensors t;
    t.spec = spec;
    t.fc1 = column_forward(b, c, mlp_first_products(c, spec), normed);
    activation_forward(b, c, t);
    t.fc2 = row_forward(b, c, mlp_second_product(c, spec), t.activated);
    return t;
}

TensorIndex mlp_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const MlpTensors& t,
                         TensorIndex gradient) {
    const TensorIndex activated = row_backward(b, c, t.fc2, gradient);
    return column_backward(b, c, t.fc1, activation_backward(b, c, t, activated));
}

}  // namespace memwall
