#include "sim/parallel/stage.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/parallel/resident.h"

namespace memwall {
namespace {

// Weights of the products that compute below 16 bits: all of a layer's, where some do.
std::int64_t quantised_parameters(const LayerTrace& layer, int tp) {
    const bool low =
        std::any_of(layer.forward.begin(), layer.forward.end(), [](const TraceItem& item) {
            const Gemm* gemm = item.op ? std::get_if<Gemm>(&item.op->kernel) : nullptr;
            return gemm != nullptr && bytes_per_element(gemm->dtype) < 2;
        });
    std::int64_t count = 0;
    for (const ParameterTensor& tensor : layer.parameters) {
        if (low && tensor.matmul) {
            count += tensor.split == Split::Tp ? shard_of(tensor.count(), tp) : tensor.count();
        }
    }
    return count;
}

}  // namespace

TensorParallel tensor_parallel(const Job& job) {
    return {.tp = job.degrees.tp,
            .sequence_parallel = job.parallel.sequence_parallel && job.degrees.tp > 1};
}

ContextParallel context_parallel(const Job& job) {
    return {.cp = job.degrees.cp,
            .kind = job.parallel.cp_kind,
            .balanced = job.stack.kernels.balanced_context};
}

StageFactory::StageFactory(const Job& job, const WorkloadTrace& trace) : job_(job), trace_(trace) {
    const RecomputePolicy policy{.kind = job.training.recompute,
                                 .modules = job.training.recompute_modules};
    for (const LayerTrace& layer : trace.kinds) {
        RankKind& kind = kinds_.emplace_back();
        const RankLayer divided =
            shard_layer(divide_tokens(layer, job.degrees.cp), tensor_parallel(job));
        kind.layer = exchange_context(divided, context_parallel(job));
        kind.parameters = rank_parameters(layer, job.degrees.tp);
        kind.quantised = quantised_parameters(layer, job.degrees.tp);
        kind.kept = layer_passes(kind.layer, {});
        kind.recomputed = layer_passes(kind.layer, policy);
    }
    MW_CHECK(trace.embedding < kinds_.size(), "the embedding's kind is outside the trace");
    MW_CHECK(trace.head < kinds_.size(), "the head's kind is outside the trace");
}

Stage StageFactory::stage(int index) const {
    Stage result;
    result.index = index;
    for (int c = 0; c < job_.degrees.vpp; ++c) {
        result.chunks.push_back(chunk(index, c));
        for (const Unit& unit : result.chunks.back().units) {
            result.trained += unit.parameters.trained;
            result.replicated += unit.parameters.replicated;
            result.quantised += unit.quantised;
        }
    }
    if (holds_embedding(job_, index) != holds_head(job_, index)) {
        result.tied_copy = kinds_[trace_.head].parameters.tied;
    }
    return result;
}

Chunk StageFactory::chunk(int stage, int index) const {
    const ChunkLayout& layout =
        job_.stages[static_cast<std::size_t>(stage)][static_cast<std::size_t>(index)];
    MW_CHECK(layout.layers > 0 || layout.embedding || layout.head, "an empty chunk");
    Chunk result;
    result.stage = stage;
    result.index = index;
    result.first = stage == 0 && index == 0;
    result.last = stage == job_.degrees.pp - 1 && index == job_.degrees.vpp - 1;
    result.key = {
        layout.embedding ? 1 : 0, layout.head ? 1 : 0, result.first ? 1 : 0, result.last ? 1 : 0};
    if (layout.embedding) {
        Unit embedding = unit(trace_.embedding, false);
        embedding.owner = "embedding";
        embedding.position = -1;
        embedding.block = false;
        result.units.push_back(std::move(embedding));
    }
    const int recomputed = job_.training.recompute_layers.value_or(layout.layers);
    for (int i = 0; i < layout.layers; ++i) {
        const int layer = layout.first_layer + i;
        MW_CHECK(layer >= 0, "a layer before the first");
        MW_CHECK(layer < static_cast<int>(trace_.layers.size()), "a layer beyond the last");
        const std::uint32_t kind = trace_.layers[static_cast<std::size_t>(layer)];
        Unit block = unit(kind, i < recomputed);
        block.owner = fmt::format("L{}", i);
        block.position = i;
        result.units.push_back(std::move(block));
        result.key.insert(result.key.end(),
                          {static_cast<std::int64_t>(kind), i < recomputed ? 1 : 0});
    }
    if (layout.head) {
        Unit head = unit(trace_.head, false);
        head.owner = "head";
        head.position = -2;
        head.block = false;
        if (holds_embedding(job_, stage)) {
            head.parameters.trained -= head.parameters.tied;  // the table of this very stage
            head.parameters.tied = 0;
        }
        result.units.push_back(std::move(head));
    }
    return result;
}

Unit StageFactory::unit(std::uint32_t kind, bool recompute) const {
    MW_CHECK(kind < kinds_.size(), "a layer kind outside the trace");
    const RankKind& k = kinds_[kind];
    Unit result;
    result.layer = &k.layer;
    result.passes = recompute ? &k.recomputed : &k.kept;
    result.parameters = k.parameters;
    result.quantised = k.quantised;
    return result;
}

}  // namespace memwall
