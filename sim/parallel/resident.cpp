#include "sim/parallel/resident.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "sim/spec/precision.h"

namespace memwall {
namespace {

void hold(Lowering& lowering,
          Program& program,
          TensorClass memory,
          std::int64_t bytes,
          const std::string& name) {
    if (bytes > 0) {
        program.resident.push_back(
            {.memory = memory,
             .bytes = bytes,
             .tensor = lowering.programs.tensor("resident " + name, 0, 0, name)});
    }
}

// A persistent buffer serves all layers of its shape.
void hold_persistent(Lowering& lowering, const Stage& stage, Program& program) {
    std::set<std::pair<std::string, std::int64_t>> held;
    for (const Chunk& chunk : stage.chunks) {
        for (const Unit& unit : chunk.units) {
            for (const RankTensor& tensor : unit.layer->tensors) {
                if (tensor.persistent && held.emplace(tensor.name, tensor.bytes).second) {
                    hold(lowering, program, tensor.memory, tensor.bytes, tensor.name);
                }
            }
        }
    }
}

// Transformer Engine returns one cached dummy per distinct (shape, dtype) of the weights whose gradients accumulate inside
// the product; the dummy of the logits is made anew for each call and belongs to the head's trace.
// Source: NVIDIA/TransformerEngine transformer_engine/pytorch/module/base.py, get_dummy_wgrad.
std::int64_t dummy_weight_gradients(const Lowering& lowering, const Stage& stage) {
    std::set<std::uint32_t> kinds;
    for (const ChunkLayout& chunk : lowering.job.stages[static_cast<std::size_t>(stage.index)]) {
        for (int layer = chunk.first_layer; layer < chunk.first_layer + chunk.layers; ++layer) {
            kinds.insert(lowering.trace.layers[static_cast<std::size_t>(layer)]);
        }
    }
    std::set<std::tuple<std::int64_t, std::int64_t, bool>> shapes;
    std::int64_t elements = 0;
    for (const std::uint32_t kind : kinds) {
        for (const ParameterTensor& tensor : lowering.trace.kinds[kind].parameters) {
            const bool divided = tensor.split == Split::Tp;
            if (tensor.matmul && shapes.emplace(tensor.rows, tensor.columns, divided).second) {
                const std::int64_t whole = tensor.rows * tensor.columns;
                elements += divided ? shard_of(whole, lowering.job.degrees.tp) : whole;
            }
        }
    }
    return std::llround(static_cast<double>(elements) *
                        gathered_bytes_per_parameter(lowering.precision));
}

// Two layouts of each weight of low-precision products.
std::int64_t quantised_weights(const Lowering& lowering, const Stage& stage) {
    const double each = bytes_per_element(recipe_dtype(lowering.job.training.recipe, Dtype::Fp8));
    return std::llround(static_cast<double>(stage.quantised) * 2 * each);
}

// ZeRO-1 and ZeRO-2 that gather quantised weights keep no 16-bit ones of them (Transformer Engine, fp8 parameters).
std::int64_t replaced_weights(const Lowering& lowering, const Stage& stage) {
    const bool replaces = lowering.job.stack.kernels.quantised_gather &&
                          shards_optimizer(lowering.job.parallel.sharding.kind) &&
                          !shards_parameters(lowering.job.parallel.sharding.kind);
    return replaces ? std::llround(static_cast<double>(stage.quantised) *
                                   lowering.precision.weight_bytes)
                    : 0;
}

bool any_chunk(const Job& job, int stage, bool ChunkLayout::* holds) {
    const auto& chunks = job.stages[static_cast<std::size_t>(stage)];
    return std::any_of(
        chunks.begin(), chunks.end(), [&](const ChunkLayout& chunk) { return chunk.*holds; });
}

}  // namespace

bool holds_embedding(const Job& job, int stage) {
    return any_chunk(job, stage, &ChunkLayout::embedding);
}
bool holds_head(const Job& job, int stage) {
    return any_chunk(job, stage, &ChunkLayout::head);
}

int communicators(const Job& job, const Stage& stage) {
    const Degrees& d = job.degrees;
    int count = 0;
    count += d.tp > 1 ? 1 : 0;
    count += d.cp > 1 ? 1 : 0;
    count += d.pp > 1 ? 1 : 0;
    count += stage.tied_copy > 0 ? 1 : 0;
    if (shards_optimizer(job.parallel.sharding.kind)) {
        count += d.shard > 1 ? 1 : 0;
        count += d.replicate > 1 ? 1 : 0;
        count += d.world() > d.shard && d.shard > 1 ? 1 : 0;  // the norm over all ranks
    } else {
        count += d.dp * d.cp > 1 ? 1 : 0;
    }
    return count;
}

void describe_resident(Lowering& lowering, const Stage& stage, Program& program) {
    const Job& job = lowering.job;
    const std::vector<RankParameters> units = stage.units();
    for (const RankParameters& unit : units) {
        program.parameters += unit.all();
    }
    const StateBytes states = model_states(
        units, lowering.precision, job.parallel.sharding.kind, std::max(1, job.degrees.shard));
    hold(lowering,
         program,
         TensorClass::Parameters,
         states.parameters - replaced_weights(lowering, stage),
         "parameters");
    if (!shards_parameters(job.parallel.sharding.kind)) {
        hold(lowering,
             program,
             TensorClass::Parameters,
             quantised_weights(lowering, stage),
             "quantised weights");
    }
    hold(lowering, program, TensorClass::Gradients, states.gradients, "gradients");
    hold(lowering, program, TensorClass::MasterWeights, states.master, "master weights");
    hold(lowering, program, TensorClass::OptimizerStates, states.optimizer, "optimizer states");
    hold(lowering,
         program,
         TensorClass::Workspaces,
         job.stack.memory.workspaces.value,
         "workspaces");

    hold_persistent(lowering, stage, program);
    if (job.stack.memory.dummy_weight_gradients) {
        hold(lowering,
             program,
             TensorClass::Workspaces,
             dummy_weight_gradients(lowering, stage),
             "dummy weight gradients");
    }
    hold(lowering, program, TensorClass::Context, job.stack.memory.context.value, "context");
    hold(lowering,
         program,
         TensorClass::Context,
         job.stack.memory.nccl_per_communicator.value * communicators(job, stage),
         "communicators");
}

}  // namespace memwall
