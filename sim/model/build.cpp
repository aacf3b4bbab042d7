#include "sim/model/build.h"

#include <map>
#include <utility>

#include "sim/core/check.h"
#include "sim/model/blocks.h"
#include "sim/model/parameters.h"

namespace memwall {
namespace {

std::int64_t activation_bytes(Dtype compute) {
    return compute == Dtype::Fp32 || compute == Dtype::Tf32 ? 4 : 2;
}

}  // namespace

WorkloadTrace build_trace(const Model& model, const Stack& stack, const TraceShape& shape) {
    MW_CHECK(model.layers > 0 && model.hidden > 0 && model.heads > 0, "an empty model");
    MW_CHECK(model.kv_heads > 0 && model.head_dim > 0, "kv_heads and head_dim are filled in");
    MW_CHECK(shape.micro_batch > 0 && shape.sequence > 0, "an empty micro-batch");
    MW_CHECK(model.moe.experts == 0 || model.moe.top_k > 0, "experts without top_k");
    const std::int64_t vocabulary =
        shape.padded_vocabulary > 0 ? shape.padded_vocabulary : model.vocabulary;
    const BlockContext c{.model = model,
                         .stack = stack,
                         .shape = shape,
                         .tokens = shape.micro_batch * shape.sequence,
                         .element = activation_bytes(shape.compute)};
    WorkloadTrace t;
    t.name = model.name;
    t.source = "model " + model.name;
    t.tokens = c.tokens;
    t.sequence = shape.sequence;
    t.boundary_bytes = c.activations(model.hidden);
    t.parameters = parameter_count(model);
    t.active_parameters = active_parameter_count(model);
    t.matmul_parameters = matmul_parameter_count(model);
    t.attention_flops_factor = attention_flops_factor(model);
    t.window = model.window < shape.sequence ? model.window : 0;
    t.tied_embeddings = model.tied_embeddings;

    t.embedding = 0;
    t.kinds.push_back(embedding_layer(c, vocabulary));
    t.head = 1;
    t.kinds.push_back(head_layer(c, vocabulary));
    BlockContext low = c;
    low.recipe = shape.recipe;
    std::map<std::pair<bool, bool>, std::uint32_t> kind_of;  // (with experts, by the recipe)
    for (std::int64_t i = 0; i < model.layers; ++i) {
        const bool skipped = shape.recipe == Recipe::None || i < shape.recipe_skips_first ||
                             i >= model.layers - shape.recipe_skips_last;
        const bool experts = layer_has_experts(model, i);
        const auto [kind, added] =
            kind_of.try_emplace({experts, !skipped}, static_cast<std::uint32_t>(t.kinds.size()));
        if (added) {
            t.kinds.push_back(transformer_layer(skipped ? c : low, experts));
        }
        t.layers.push_back(kind->second);
    }
    return t;
}

}  // namespace memwall
