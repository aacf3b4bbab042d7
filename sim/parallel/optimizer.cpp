#include "sim/parallel/optimizer.h"

#include <cmath>

#include "sim/core/check.h"
#include "sim/parallel/optimizer_traffic.h"
#include "sim/parallel/slots.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

Bytes bytes(std::int64_t parameters, double each) {
    return Bytes(std::llround(static_cast<double>(parameters) * each));
}

PlannedItem kernel_item(
    Lowering& lowering, MemoryKind kind, Bytes traffic, int launches, const char* label) {
    Op op;
    op.kind = OpKind::Compute;
    op.category = Category::Optimizer;
    op.host = lowering.policy.kernel_launch * launches;
    op.label = lowering.programs.label(label);
    op.work = lowering.programs.kernel(MemoryBound{.kind = kind, .bytes = traffic});
    // All reductions and tensor-parallel collectives before it, whichever stream they ran on.
    add_wait(op, kSlotReduce);
    add_wait(op, kSlotReplicate);
    if (lowering.policy.tensor_parallel) {
        add_wait(op, kSlotTp);
    }
    op.records = kSlotCompute;
    return {.item = lowering.programs.op_item(op), .of_pass = false};
}

PlannedItem collective_item(Lowering& lowering, GroupRole role, Bytes size, const char* label) {
    Op op = after_segment(lowering, Stream::Dp, Category::DpComm, kSlotReduce);
    op.kind = OpKind::Collective;
    op.host = lowering.job.stack.host.collective_launch;
    op.label = lowering.programs.label(label);
    op.work = lowering.programs.collective(
        {.kind = CollectiveKind::AllReduce, .role = role, .bytes = size});
    return {.item = lowering.programs.op_item(op), .of_pass = false};
}

int tensors_of(const Lowering& lowering, const Stage& stage) {
    const auto& layout = lowering.job.stages[static_cast<std::size_t>(stage.index)];
    std::size_t tensors = 0;
    for (const ChunkLayout& chunk : layout) {
        for (int layer = chunk.first_layer; layer < chunk.first_layer + chunk.layers; ++layer) {
            const std::uint32_t kind = lowering.trace.layers[static_cast<std::size_t>(layer)];
            tensors += lowering.trace.kinds[kind].parameters.size();
        }
        tensors +=
            chunk.embedding ? lowering.trace.kinds[lowering.trace.embedding].parameters.size() : 0;
        tensors += chunk.head ? lowering.trace.kinds[lowering.trace.head].parameters.size() : 0;
    }
    return static_cast<int>(tensors);
}

// The norm is over the whole model: over every shard, tensor-parallel rank and stage. One number (fp32).
void append_norm(Lowering& lowering, std::int64_t parameters, double gradient_bytes, Items& items) {
    const Degrees& degrees = lowering.job.degrees;
    const Bytes scalar(4);
    items.push_back(kernel_item(
        lowering, MemoryKind::Reduction, bytes(parameters, gradient_bytes), 1, "gradient norm"));
    if (shards_optimizer(lowering.job.parallel.sharding.kind) && degrees.shard > 1) {
        items.push_back(
            collective_item(lowering, GroupRole::World, scalar, "gradient norm all-reduce"));
        return;
    }
    if (degrees.tp > 1) {
        items.push_back(
            collective_item(lowering, GroupRole::Tp, scalar, "gradient norm all-reduce over tp"));
    }
    if (degrees.pp > 1) {
        items.push_back(
            collective_item(lowering, GroupRole::Pp, scalar, "gradient norm all-reduce over pp"));
    }
}

// Weights that stay are quantised once a step, in both layouts. Scales of delayed scaling come from all ranks: the largest
// values of input, weight and output gradient of each product. Source: NVIDIA/TransformerEngine
// transformer_engine/pytorch/fp8.py, FP8GlobalStateManager.reduce_and_update_fp8_tensors.
void append_quantisation(Lowering& lowering, const Stage& stage, Items& items) {
    const Job& job = lowering.job;
    if (job.training.recipe == Recipe::Fp8Delayed && job.degrees.world() > 1) {
        // Three values of four bytes for each of some four products of a layer, on every stage alike.
        const Bytes values(static_cast<std::int64_t>(lowering.trace.layers.size()) * 4 * 3 * 4);
        items.push_back(collective_item(lowering, GroupRole::World, values, "largest values"));
    }
    if (stage.quantised > 0 && !shards_parameters(job.parallel.sharding.kind)) {
        const double each = gathered_bytes_per_parameter(lowering.precision) +
                            2 * bytes_per_element(recipe_dtype(job.training.recipe, Dtype::Fp8));
        items.push_back(kernel_item(lowering,
                                    MemoryKind::Cast,
                                    bytes(stage.quantised, each),
                                    std::max(1, tensors_of(lowering, stage)),
                                    "quantise weights"));
    }
}

}  // namespace

std::int64_t updated_parameters(const Lowering& lowering, const Stage& stage) {
    const ShardingKind kind = lowering.job.parallel.sharding.kind;
    const int shard = lowering.job.degrees.shard;
    if (!shards_optimizer(kind)) {
        return stage.trained;
    }
    if (!shards_parameters(kind)) {
        return shard_of(stage.trained, shard);
    }
    std::int64_t sum = 0;
    for (const RankParameters& unit : stage.units()) {
        sum += shard_of(unit.trained, shard);
    }
    return sum;
}

Items optimizer_items(Lowering& lowering, const Stage& stage) {
    Items items;
    const Job& job = lowering.job;
    const Precision& precision = lowering.precision;
    if (stage.tied_copy > 0) {
        // The two copies of a tied embedding sum their gradients. Source: Megatron-LM
        // megatron/core/distributed/finalize_model_grads.py, _allreduce_word_embedding_grads.
        items.push_back(collective_item(lowering,
                                        GroupRole::Embedding,
                                        bytes(stage.tied_copy, precision.gradient_bytes),
                                        "tied embedding gradients"));
    }
    if (stage.replicated > 0 && job.parallel.sequence_parallel && job.degrees.tp > 1) {
        // Replicated parameters have seen a shard of the tokens each. Source: as above, _allreduce_layernorm_grads.
        items.push_back(collective_item(lowering,
                                        GroupRole::Tp,
                                        bytes(stage.replicated, precision.gradient_bytes),
                                        "gradients of replicated parameters"));
    }
    const std::int64_t parameters = updated_parameters(lowering, stage);
    if (parameters == 0) {
        return items;
    }
    append_norm(lowering, parameters, precision.gradient_bytes, items);
    const StackKernels& kernels = job.stack.kernels;
    const OptimizerKind kind = job.training.optimizer;
    const int tensors = is_fused(kind, kernels) ? 1 : std::max(1, tensors_of(lowering, stage));
    items.push_back(
        kernel_item(lowering,
                    MemoryKind::Optimizer,
                    bytes(parameters, optimizer_bytes_per_parameter(job.training, kernels)),
                    update_accesses(kind, is_fused(kind, kernels)).kernels * tensors,
                    "optimizer"));
    append_quantisation(lowering, stage, items);
    if (!shards_gradients(job.parallel.sharding.kind)) {
        // The buffer in which whole gradients accumulate is cleared for the next step.
        items.push_back(kernel_item(lowering,
                                    MemoryKind::Elementwise,
                                    bytes(stage.trained, precision.gradient_bytes),
                                    1,
                                    "clear gradients"));
    }
    return items;
}

}  // namespace memwall
