#pragma once
// Bytes of the model states on one rank: weights, gradients, master copy, moments; which of them a strategy shards.
//   per parameter, d ranks (bf16 2+2+4+8): none 16, ZeRO-1 4 + 12/d, ZeRO-2 2 + 14/d, ZeRO-3 and FSDP 16/d
// A shard is padded to equal size on every rank: ceil(P/d). ZeRO-1/2 shard all parameters of the rank as one flat buffer,
// ZeRO-3 and FSDP shard each unit by itself, so that their padding counts once per unit.
// Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC20.
#include <cstdint>
#include <span>

#include "sim/model/trace.h"
#include "sim/spec/strategy.h"

namespace memwall {

// Parameters of one layer on one rank of a tensor-parallel group.
struct RankParameters {
    std::int64_t trained = 0;  // with gradient and optimizer state
    std::int64_t frozen = 0;
    std::int64_t tied = 0;        // of `trained`: the output matrix that is the embedding table
    std::int64_t replicated = 0;  // of `trained`: whole on every tensor-parallel rank
    [[nodiscard]] std::int64_t all() const { return trained + frozen; }
};

[[nodiscard]] RankParameters rank_parameters(const LayerTrace& layer, int tp);

struct StateBytes {
    std::int64_t parameters = 0;
    std::int64_t gradients = 0;
    std::int64_t master = 0;
    std::int64_t optimizer = 0;
    [[nodiscard]] std::int64_t sum() const { return parameters + gradients + master + optimizer; }
};

// units: parameters of each sharding unit on the rank, not sharded. shard: ranks that hold one copy of sharded states.
[[nodiscard]] StateBytes model_states(std::span<const RankParameters> units,
                                      const Precision& precision,
                                      ShardingKind kind,
                                      int shard);

// ceil(parameters / shard)
[[nodiscard]] constexpr std::int64_t shard_of(std::int64_t parameters, int shard) {
    return (parameters + shard - 1) / shard;
}
// Parameters as gathered or reduced: the shards with their padding.
[[nodiscard]] constexpr std::int64_t padded(std::int64_t parameters, int shard) {
    return shard_of(parameters, shard) * shard;
}

[[nodiscard]] constexpr bool shards_parameters(ShardingKind kind) {
    return kind == ShardingKind::Zero3 || kind == ShardingKind::Fsdp || kind == ShardingKind::Hsdp;
}
[[nodiscard]] constexpr bool shards_gradients(ShardingKind kind) {
    return kind == ShardingKind::Zero2 || shards_parameters(kind);
}
[[nodiscard]] constexpr bool shards_optimizer(ShardingKind kind) {
    return kind != ShardingKind::None;
}

// Bytes of one parameter in a matrix product, and thus in a gather: weights kept in fp32 are gathered in 16 bits.
[[nodiscard]] double gathered_bytes_per_parameter(const Precision& precision);

}  // namespace memwall
