// One pre-norm transformer layer: x2 = x + drop(attention(norm(x))), next x = x2 + drop(mlp(norm(x2))).
#include "sim/model/blocks.h"
#include "sim/model/parameters.h"

namespace memwall {
namespace {

TensorIndex stream(LayerBuilder& b, const BlockContext& c, const char* name, bool input) {
    return b.tensor({.name = name,
                     .bytes = c.activations(c.model.hidden),
                     .split = Split::Sequence,
                     .input = input});
}

}  // namespace

LayerTrace transformer_layer(const BlockContext& c, bool experts) {
    LayerBuilder b(experts ? "moe_transformer" : "transformer");
    b.parameters(layer_parameters(c.model, experts, c.kernels().fused_projections));
    const std::int64_t h = c.model.hidden;

    const TensorIndex x = stream(b, c, "input", true);
    b.starts_with(x);
    const NormTensors norm1 = norm_forward(b, c, {.name = "norm 1", .width = h}, x);
    const AttentionTensors attention = attention_forward(b, c, norm1.output);
    const TensorIndex x2 = stream(b, c, "input of norm 2", false);
    const ResidualTensors residual1 =
        residual_forward(b, c, "residual 1", {{attention.proj.output, x}, {x2}});
    const NormTensors norm2 = norm_forward(b, c, {.name = "norm 2", .width = h}, x2);
    const MlpTensors mlp = mlp_forward(b, c, norm2.output);
    const ResidualTensors residual2 =
        residual_forward(b, c, "residual 2", {{mlp.fc2.output, x2}, {}});

    const TensorIndex dy = stream(b, c, "output_gradient", false);
    b.starts_with(dy);
    const TensorIndex dbranch2 = residual_backward(b, c, residual2, dy);
    const TensorIndex dnormed2 = mlp_backward(b, c, mlp, dbranch2);
    const TensorIndex dx2 = norm_backward(b, c, norm2, dnormed2);
    residual_gradient_add(b, c, "residual 2", dy, dx2);
    const TensorIndex dbranch1 = residual_backward(b, c, residual1, dx2);
    const TensorIndex dnormed1 = attention_backward(b, c, attention, dbranch1);
    const TensorIndex dx = norm_backward(b, c, norm1, dnormed1);
    residual_gradient_add(b, c, "residual 1", dx2, dx);
    return std::move(b).finish();
}

}  // namespace memwall
