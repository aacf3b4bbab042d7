#pragma once
// Event slots of a rank: one per stream that others wait for. A wait means "the latest recorded op of that stream".
#include <cstdint>

namespace memwall {

inline constexpr std::uint16_t kSlotCompute =
    0;  // last kernel before a collective, an exchange or the end of a segment
inline constexpr std::uint16_t kSlotTp = 1;  // tensor-parallel collective
inline constexpr std::uint16_t kSlotTpGather =
    2;  // sp: the input gathered again behind the input-gradient product
inline constexpr std::uint16_t kSlotExchange = 3;  // batched p2p
inline constexpr std::uint16_t kSlotRecvPrev = 4;  // overlapped p2p: activations arrived
inline constexpr std::uint16_t kSlotRecvNext = 5;  // overlapped p2p: gradients arrived
inline constexpr std::uint16_t kSlotReduce =
    6;  // gradient reduction of the data-parallel (or shard) group
inline constexpr std::uint16_t kSlotReplicate =
    7;  // all-reduce of a gradient shard over its replicas
inline constexpr std::uint16_t kSlotParameters = 8;  // parameter gathers of ZeRO-1/2
inline constexpr std::uint16_t kSlotRoot = 9;        // FSDP: root unit gathered
inline constexpr std::uint16_t kSlotContext =
    10;  // exchanges of context parallelism: 10 and 11 in turn
inline constexpr std::uint16_t kSlotUnit =
    12;  // FSDP: unit i gathered is kSlotUnit + i mod (prefetch + 1)

}  // namespace memwall
