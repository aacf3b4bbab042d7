#pragma once
// A data-parallel strategy: what it adds to forward, backward and the end of a step. Pure functions over values; one file
// each in sim/parallel/strategies, one line in the table.
#include <string_view>
#include <vector>

#include "sim/parallel/chunk.h"

namespace memwall {

struct Strategy {
    ShardingKind kind;
    std::string_view name;  // as in scenario files
    Items (*begin_step)(Lowering& lowering, const Stage& stage);
    Items (*forward)(Lowering& lowering,
                     const Stage& stage,
                     const Chunk& chunk,
                     MicroBatch micro_batch);
    Items (*backward)(Lowering& lowering,
                      const Stage& stage,
                      const Chunk& chunk,
                      MicroBatch micro_batch);
    // After the last backward: what is left to reduce.
    Items (*end_step)(Lowering& lowering, const Stage& stage);
    Items (*after_optimizer)(Lowering& lowering, const Stage& stage);
};

[[nodiscard]] const std::vector<Strategy>& strategy_table();
[[nodiscard]] const Strategy& strategy_entry(ShardingKind kind);

Items no_items(Lowering& lowering, const Stage& stage);
Items plain_forward(Lowering& lowering,
                    const Stage& stage,
                    const Chunk& chunk,
                    MicroBatch micro_batch);

// None, ZeRO-1: gradients stay whole on every rank, and are reduced once per step.
Items backward_reducing_last(Lowering& lowering,
                             const Stage& stage,
                             const Chunk& chunk,
                             MicroBatch micro_batch);
Items reduce_at_end(Lowering& lowering, const Stage& stage);

// ZeRO-1/2: the updated shards are gathered, after the optimizer or behind the first forward pass of the next step.
Items gather_at_begin(Lowering& lowering, const Stage& stage);
Items forward_after_gather(Lowering& lowering,
                           const Stage& stage,
                           const Chunk& chunk,
                           MicroBatch micro_batch);
Items gather_at_end(Lowering& lowering, const Stage& stage);

Items zero2_backward(Lowering& lowering,
                     const Stage& stage,
                     const Chunk& chunk,
                     MicroBatch micro_batch);

Items fsdp_forward(Lowering& lowering,
                   const Stage& stage,
                   const Chunk& chunk,
                   MicroBatch micro_batch);
Items fsdp_backward(Lowering& lowering,
                    const Stage& stage,
                    const Chunk& chunk,
                    MicroBatch micro_batch);

}  // namespace memwall
