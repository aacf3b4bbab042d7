// One pre-norm transformer layer: x2 = x + drop(attention(norm(x))), next x = x2 + drop(mlp(norm(x2))).
#include <variant>

#include "sim/model/blocks.h"
#include "sim/model/parameters.h"

namespace memwall {
namespace {

using AnyAttention = std::variant<AttentionTensors, LatentAttention>;
using AnyMlp = std::variant<MlpTensors, MoeTensors>;

TensorIndex stream(LayerBuilder& b, const BlockContext& c, const char* name, bool input) {
    return b.tensor({.name = name,
                     .bytes = c.activations(c.model.hidden),
                     .split = Split::Sequence,
                     .input = input});
}

AnyAttention any_attention_forward(LayerBuilder& b, const BlockContext& c, TensorIndex normed) {
    if (c.model.mla.kv_rank > 0) {
        return latent_attention_forward(b, c, normed);
    }
    return attention_forward(b, c, normed);
}

TensorIndex output_of(const AnyAttention& a) {
    const auto* latent = std::get_if<LatentAttention>(&a);
    return latent != nullptr ? latent->proj.output : std::get<AttentionTensors>(a).proj.output;
}

TensorIndex any_attention_backward(LayerBuilder& b,
                                   const BlockContext& c,
                                   const AnyAttention& a,
                                   TensorIndex gradient) {
    if (const auto* latent = std::get_if<LatentAttention>(&a)) {
        return latent_attention_backward(b, c, *latent, gradient);
    }
    return attention_backward(b, c, std::get<AttentionTensors>(a), gradient);
}

AnyMlp any_mlp_forward(LayerBuilder& b, const BlockContext& c, bool experts, TensorIndex normed) {
    if (experts) {
        return moe_forward(b, c, normed);
    }
    return mlp_forward(b, c, dense_mlp(c), normed);
}

TensorIndex output_of(const AnyMlp& m) {
    const auto* moe = std::get_if<MoeTensors>(&m);
    return moe != nullptr ? moe->output : std::get<MlpTensors>(m).fc2.output;
}

TensorIndex any_mlp_backward(LayerBuilder& b,
                             const BlockContext& c,
                             const AnyMlp& m,
                             TensorIndex gradient) {
    if (const auto* moe = std::get_if<MoeTensors>(&m)) {
        return moe_backward(b, c, *moe, gradient);
    }
    return mlp_backward(b, c, std::get<MlpTensors>(m), gradient);
}

}  // namespace

LayerTrace transformer_layer(const BlockContext& c, bool experts) {
    LayerBuilder b(experts ? "moe_transformer" : "transformer");
    b.parameters(layer_parameters(c.model, experts, c.kernels().fused_projections));
    if (experts) {
        const Moe& moe = c.model.moe;
        b.active_expert_share(static_cast<double>(moe.top_k) / static_cast<double>(moe.experts));
    }
    const std::int64_t h = c.model.hidden;

    const TensorIndex x = stream(b, c, "input", true);
    b.starts_with(x);
    const NormTensors norm1 = norm_forward(b, c, {.name = "norm 1", .width = h}, x);
    const AnyAttention attention = any_attention_forward(b, c, norm1.output);
    const TensorIndex x2 = stream(b, c, "input of norm 2", false);
    const ResidualTensors residual1 =
        residual_forward(b, c, "residual 1", {{output_of(attention), x}, {x2}});
    const NormTensors norm2 = norm_forward(b, c, {.name = "norm 2", .width = h}, x2);
    const AnyMlp mlp = any_mlp_forward(b, c, experts, norm2.output);
    const ResidualTensors residual2 =
        residual_forward(b, c, "residual 2", {{output_of(mlp), x2}, {}});

    const TensorIndex dy = stream(b, c, "output_gradient", false);
    b.starts_with(dy);
    const TensorIndex dbranch2 = residual_backward(b, c, residual2, dy);
    const TensorIndex dnormed2 = any_mlp_backward(b, c, mlp, dbranch2);
    const TensorIndex dx2 = norm_backward(b, c, norm2, dnormed2);
    residual_gradient_add(b, c, "residual 2", dy, dx2);
    const TensorIndex dbranch1 = residual_backward(b, c, residual1, dx2);
    const TensorIndex dnormed1 = any_attention_backward(b, c, attention, dbranch1);
    const TensorIndex dx = norm_backward(b, c, norm1, dnormed1);
    residual_gradient_add(b, c, "residual 1", dx2, dx);
    return std::move(b).finish();
}

}  // namespace memwall
