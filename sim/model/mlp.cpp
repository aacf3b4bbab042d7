// The MLP. Plain: fc1, activation (with its bias, in one kernel), fc2. Gated (SwiGLU, Shazeer, arXiv:2002.05202): fc1 makes
// gate and up side by side, or two products do; activation = silu(gate) * up.
// Bytes per 16-bit output element: GELU 4 forward, 6 backward; SwiGLU fused 6 and 10; eager silu 4 and multiply 6 forward,
// multiply 6 + 6 and silu 6 backward (and it keeps silu(gate) beside its inputs).
#include "sim/model/blocks.h"

namespace memwall {
namespace {

struct Activation {
    LayerBuilder& b;
    const BlockContext& c;

    [[nodiscard]] TensorIndex tensor(const std::string& name, std::int64_t width) const {
        return b.tensor({.name = name,
                         .bytes = c.activations(width),
                         .split = Split::Tp,
                         .module = TraceModule::Mlp});
    }
    // `elements` moved per output element.
    void op(const std::string& name, Pass pass, std::int64_t elements, const Data& d) const {
        b.op({.name = name,
              .pass = pass,
              .kernel = MemoryBound{MemoryKind::Elementwise, c.activations(elements * c.model.ffn)},
              .split = {.bytes = Split::Tp},
              .module = TraceModule::Mlp,
              .uses = d.uses,
              .makes = d.makes});
    }
};

Linear fc(const BlockContext& c, const char* name, std::int64_t width) {
    return {.name = name,
            .in = c.model.hidden,
            .out = width,
            .out_split = Split::Tp,
            .module = TraceModule::Mlp,
            .bias = c.model.linear_bias};
}

std::vector<Linear> first_products(const BlockContext& c) {
    const std::int64_t f = c.model.ffn;
    if (!c.model.gated) {
        return {fc(c, "fc1", f)};
    }
    if (c.kernels().fused_projections) {
        return {fc(c, "fc1", 2 * f)};
    }
    return {fc(c, "gate", f), fc(c, "up", f)};
}

std::vector<TensorIndex> gated_backward(const Activation& a,
                                        const MlpTensors& t,
                                        TensorIndex gradient) {
    const std::int64_t f = a.c.model.ffn;
    const Pass g = Pass::InputGradient;
    const std::vector<TensorIndex>& in = t.fc1.outputs;
    if (!t.silu) {
        std::vector<TensorIndex> result;
        if (in.size() == 1) {
            result = {a.tensor("fc1 output gradient", 2 * f)};
        } else {
            result = {a.tensor("gate gradient", f), a.tensor("up gradient", f)};
        }
        std::vector<TensorIndex> uses = in;
        uses.push_back(gradient);
        a.op("swiglu backward", g, 5, {uses, result});
        return result;
    }
    const TensorIndex dsilu = a.tensor("silu gradient", f);
    const TensorIndex dup = a.tensor("up gradient", f);
    const TensorIndex dgate = a.tensor("gate gradient", f);
    a.op("multiply backward, silu", g, 3, {{gradient, in.back()}, {dsilu}});
    a.op("multiply backward, up", g, 3, {{gradient, *t.silu}, {dup}});
    a.op("silu backward", g, 3, {{dsilu, in.front()}, {dgate}});
    if (in.size() == 2) {
        return {dgate, dup};
    }
    const TensorIndex both = a.tensor("fc1 output gradient", 2 * f);
    a.op("gate and up gradient concat", g, 4, {{dgate, dup}, {both}});
    return {both};
}

}  // namespace

MlpTensors mlp_forward(LayerBuilder& b, const BlockContext& c, TensorIndex normed) {
    const std::int64_t f = c.model.ffn;
    const Activation a{b, c};
    const Pass p = Pass::Forward;
    MlpTensors t;
    t.fc1 = column_forward(b, c, first_products(c), normed);
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
    t.fc2 = row_forward(b,
                        c,
                        {.name = "fc2",
                         .in = f,
                         .out = c.model.hidden,
                         .in_split = Split::Tp,
                         .module = TraceModule::Mlp,
                         .bias = c.model.linear_bias},
                        t.activated);
    return t;
}

TensorIndex mlp_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const MlpTensors& t,
                         TensorIndex gradient) {
    const Activation a{b, c};
    const TensorIndex activated = row_backward(b, c, t.fc2, gradient);
    std::vector<TensorIndex> gradients;
    if (c.model.gated) {
        gradients = gated_backward(a, t, activated);
    } else {
        gradients = {a.tensor("fc1 output gradient", c.model.ffn)};
        a.op("gelu backward",
             Pass::InputGradient,
             3,
             {{activated, t.fc1.outputs.front()}, gradients});
    }
    return column_backward(b, c, t.fc1, gradients);
}

}  // namespace memwall
