#pragma once
// Collectives and the groups they run in: vocabulary shared by the machine and the work.
#include <cstdint>

#include "sim/core/units.h"

namespace memwall {

enum class CollectiveKind : std::uint8_t {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    AllToAll,
    Barrier,
    Shift,  // every rank sends S to the next rank of its group and receives S from the one before, in a circle
};

// The kinds of process groups. A rank is in at most one group of each role.
// Rank order, innermost first: tp, cp, dp, pp. "Dp" holds the ranks that hold the same shard of the weights (dp x cp).
enum class GroupRole : std::uint8_t {
    Tp,
    Cp,
    Dp,         // gradient reduction: dp x cp
    Shard,      // ranks that together hold one copy of sharded states (FSDP/ZeRO shard group)
    Replicate,  // HSDP: ranks with equal shards
    Ep,
    Pp,
    Embedding,  // first and last stage of a pipeline with tied embeddings
    World,
};
inline constexpr int kGroupRoles = 9;

// S: per-rank buffer for all-reduce, broadcast and shift, the total (n x shard) for all-gather, reduce-scatter, all-to-all.
struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::AllReduce;
    GroupRole role = GroupRole::Tp;
    Bytes bytes;
    auto operator<=>(const CollectiveCall&) const = default;
};

}  // namespace memwall
