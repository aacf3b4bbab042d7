#pragma once
// The reduction of a bucket of gradients: all-reduce, or reduce-scatter into shards (and all-reduce of the shard over its
// replicas). Volume per rank over n ranks, S bytes: all-reduce 2 (n-1)/n S, reduce-scatter (n-1)/n S.
#include <cstdint>
#include <span>

#include "sim/parallel/chunk.h"

namespace memwall {

struct Bucket {
    std::int64_t parameters = 0;
    const char* label = "reduce gradients";
    bool of_pass = true;
    Category category = Category::DpComm;
};

// memory: moves at the issue of the (first) collective. With nothing to communicate the memory still moves.
void append_reduction(Lowering& lowering,
                      const Bucket& bucket,
                      std::span<const MemoryEvent> memory,
                      Items& items);

// What an op waits for that must not start before all sharded gradients so far are reduced.
[[nodiscard]] std::uint16_t reduction_slot(const Lowering& lowering);

// Parameters per bucket; 0 = everything in one.
[[nodiscard]] std::int64_t bucket_parameters(const Lowering& lowering);

}  // namespace memwall
