#include "sim/core/check.h"
#include "sim/parallel/strategy.h"

namespace memwall {

const std::vector<Strategy>& strategy_table() {
    static const std::vector<Strategy> table = {
        {ShardingKind::None,
         "none",
         no_items,
         plain_forward,
         backward_reducing_last,
         reduce_at_end,
         no_items},
        {ShardingKind::Zero1,
         "zero1",
         gather_at_begin,
         forward_after_gather,
         backward_reducing_last,
         reduce_at_end,
         gather_at_end},
        {ShardingKind::Zero2,
         "zero2",
         gather_at_begin,
         forward_after_gather,
         zero2_backward,
         no_items,
         gather_at_end},
        {ShardingKind::Zero3, "zero3", no_items, fsdp_forward, fsdp_backward, no_items, no_items},
        {ShardingKind::Fsdp, "fsdp", no_items, fsdp_forward, fsdp_backward, no_items, no_items},
        {ShardingKind::Hsdp, "hsdp", no_items, fsdp_forward, fsdp_backward, no_items, no_items},
    };
    return table;
}

const Strategy& strategy_entry(ShardingKind kind) {
    for (const Strategy& entry : strategy_table()) {
        if (entry.kind == kind) {
            return entry;
        }
    }
    bug(__FILE__, __LINE__, "a sharding kind without a line in the table");
}

Items no_items(Lowering& /*lowering*/, const Stage& /*stage*/) {
    return {};
}

Items plain_forward(Lowering& lowering,
                    const Stage& /*stage*/,
                    const Chunk& chunk,
                    MicroBatch /*micro_batch*/) {
    return segment_items(lowering, chunk, {.end = chunk.units.size()});
}

}  // namespace memwall
