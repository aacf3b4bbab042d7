#include "sim/parallel/reduction.h"

#include <algorithm>
#include <cmath>

#include "sim/parallel/slots.h"

namespace memwall {

void append_reduction(Lowering& lowering,
                      const Bucket& bucket,
                      std::span<const MemoryEvent> memory,
                      Items& items) {
    const Degrees& degrees = lowering.job.degrees;
    const bool sharded = shards_optimizer(lowering.job.parallel.sharding.kind);
    const int ranks = sharded ? degrees.shard : degrees.dp * degrees.cp;
    const std::int64_t whole =
        sharded ? padded(bucket.parameters, degrees.shard) : bucket.parameters;
    const Bytes bytes(std::llround(static_cast<double>(whole) * lowering.reduce_bytes()));
    std::span<const MemoryEvent> events = memory;
    if (ranks > 1 && bytes.value > 0) {
        Op op = after_segment(lowering, Stream::Dp, bucket.category, kSlotReduce);
        op.kind = OpKind::Collective;
        op.host = lowering.job.stack.host.collective_launch;
        op.label = lowering.programs.label(bucket.label);
        op.work = lowering.programs.collective(
            {.kind = sharded ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
             .role = sharded ? GroupRole::Shard : GroupRole::Dp,
             .bytes = bytes});
        items.push_back({.item = lowering.programs.op_item(op, events), .of_pass = bucket.of_pass});
        events = {};
    }
    if (sharded && degrees.replicate > 1 && bytes.value > 0) {
        Op op = after_segment(lowering, Stream::Replicate, bucket.category, kSlotReplicate);
        add_wait(op, kSlotReduce);
        op.kind = OpKind::Collective;
        op.host = lowering.job.stack.host.collective_launch;
        op.label = lowering.programs.label("reduce shard over replicas");
        op.work = lowering.programs.collective({.kind = CollectiveKind::AllReduce,
                                                .role = GroupRole::Replicate,
                                                .bytes = Bytes(bytes.value / degrees.shard)});
        items.push_back({.item = lowering.programs.op_item(op, events), .of_pass = bucket.of_pass});
        events = {};
    }
    if (!events.empty()) {
        items.push_back(memory_item(lowering, "release gradients", events, bucket.of_pass));
    }
}

std::uint16_t reduction_slot(const Lowering& lowering) {
    return lowering.job.degrees.replicate > 1 ? kSlotReplicate : kSlotReduce;
}

std::int64_t bucket_parameters(const Lowering& lowering) {
    const Bytes bytes = lowering.job.parallel.gradients.bucket;
    if (bytes.value <= 0) {
        return 0;
    }
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(bytes.value) / lowering.reduce_bytes()));
}

}  // namespace memwall
