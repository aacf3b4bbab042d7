#pragma once
// Event slots of a rank: one per stream that others wait for. A wait means "the latest recorded op of that stream".
#include <cstdint>

namespace memwall {

enum EventSlot : std::uint16_t {
    kSlotCompute,     // last kernel before a collective, an exchange or the end of a segment
    kSlotTp,          // tensor-parallel collective
    kSlotTpGather,    // sp: the input gathered again behind the input-gradient product
    kSlotExchange,    // batched p2p
    kSlotRecvPrev,    // overlapped p2p: activations arrived
    kSlotRecvNext,    // overlapped p2p: gradients arrived
    kSlotReduce,      // gradient reduction of the data-parallel (or shard) group
    kSlotReplicate,   // all-reduce of a gradient shard over its replicas
    kSlotParameters,  // parameter gathers of ZeRO-1/2
    kSlotRoot,        // FSDP: root unit gathered
    kSlotUnit,        // FSDP: unit i gathered is kSlotUnit + i mod (prefetch + 1)
};

}  // namespace memwall
