// ZeRO-1 and ZeRO-2, parameter side: each rank updates its shard of the parameters, then all gather the shards.
// With overlap the gathers are issued at the begin of the next step, and each group of layers waits for its own.
// Source: Rajbhandari et al., SC20; Megatron-LM distributed optimizer (overlap_param_gather).
#include <cmath>

#include "sim/parallel/reduction.h"
#include "sim/parallel/slots.h"
#include "sim/parallel/strategy.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

// Consecutive units gathered together.
struct GatherGroup {
    std::size_t chunk = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::int64_t parameters = 0;
};

std::vector<GatherGroup> gather_groups(const Lowering& lowering, const Stage& stage) {
    const std::int64_t size = bucket_parameters(lowering);
    std::vector<GatherGroup> groups;
    for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
        const std::vector<Unit>& units = stage.chunks[c].units;
        GatherGroup group{.chunk = c};
        for (std::size_t i = 0; i < units.size(); ++i) {
            group.parameters += units[i].parameters.trained;
            group.end = i + 1;
            if (group.end == units.size() || (size > 0 && group.parameters >= size)) {
                groups.push_back(group);
                group = {.chunk = c, .begin = i + 1};
            }
        }
    }
    return groups;
}

bool gathers_behind_forward(const Lowering& lowering) {
    return lowering.job.stack.overlap.parameter_gather && lowering.job.degrees.shard > 1;
}

std::uint16_t slot_of_group(std::size_t group) {
    return static_cast<std::uint16_t>(kSlotUnit + group);
}

// Mean over the stage: quantised weights may be gathered as such.
double gathered_bytes(const Lowering& lowering, const Stage& stage) {
    const double wide = gathered_bytes_per_parameter(lowering.precision);
    if (!lowering.job.stack.kernels.quantised_gather || stage.quantised == 0) {
        return wide;
    }
    const double low = bytes_per_element(recipe_dtype(lowering.job.training.recipe, Dtype::Fp8));
    return wide -
           (wide - low) * static_cast<double>(stage.quantised) / static_cast<double>(stage.trained);
}

PlannedItem gather_item(Lowering& lowering,
                        const Stage& stage,
                        std::int64_t parameters,
                        std::uint16_t slot) {
    const int shard = lowering.job.degrees.shard;
    const double bytes = gathered_bytes(lowering, stage);
    Op op = after_segment(lowering, Stream::Dp, Category::DpComm, slot);
    op.kind = OpKind::Collective;
    op.host = lowering.job.stack.host.collective_launch;
    op.label = lowering.programs.label("gather parameters");
    op.work = lowering.programs.collective(
        {.kind = CollectiveKind::AllGather,
         .role = GroupRole::Shard,
         .bytes = Bytes(std::llround(static_cast<double>(padded(parameters, shard)) * bytes))});
    return {.item = lowering.programs.op_item(op), .of_pass = false};
}

}  // namespace

Items gather_at_begin(Lowering& lowering, const Stage& stage) {
    Items items;
    if (gathers_behind_forward(lowering)) {
        const std::vector<GatherGroup> groups = gather_groups(lowering, stage);
        for (std::size_t g = 0; g < groups.size(); ++g) {
            if (groups[g].parameters > 0) {
                items.push_back(
                    gather_item(lowering, stage, groups[g].parameters, slot_of_group(g)));
            }
        }
    }
    return items;
}

Items forward_after_gather(Lowering& lowering,
                           const Stage& stage,
                           const Chunk& chunk,
                           MicroBatch micro_batch) {
    SegmentRequest request{.end = chunk.units.size()};
    std::vector<std::uint16_t> blocking;
    if (shards_gradients(lowering.job.parallel.sharding.kind) && !lowering.overlaps_reduction()) {
        blocking = {reduction_slot(lowering)};  // of the micro-batch before
    }
    request.entry = blocking;
    if (!gathers_behind_forward(lowering) || !micro_batch.first) {
        if (micro_batch.first && lowering.job.degrees.shard > 1) {
            request.entry.push_back(kSlotParameters);  // gathered at the end of the step before
        }
        return segment_items(lowering, chunk, request);
    }
    Items items;
    const std::vector<GatherGroup> groups = gather_groups(lowering, stage);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (&stage.chunks[groups[g].chunk] == &chunk) {
            request.begin = groups[g].begin;
            request.end = groups[g].end;
            request.entry = blocking;
            request.entry.push_back(slot_of_group(g));
            append_segment(lowering, chunk, request, items);
        }
    }
    return items;
}

Items gather_at_end(Lowering& lowering, const Stage& stage) {
    Items items;
    if (gathers_behind_forward(lowering) || lowering.job.degrees.shard == 1) {
        return items;
    }
    const std::int64_t size = bucket_parameters(lowering);
    std::int64_t pending = stage.trained;
    for (; size > 0 && pending > size; pending -= size) {
        items.push_back(gather_item(lowering, stage, size, kSlotParameters));
    }
    if (pending > 0) {
        items.push_back(gather_item(lowering, stage, pending, kSlotParameters));
    }
    return items;
}

}  // namespace memwall
