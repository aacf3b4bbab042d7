#pragma once
// The optimizer step of one stage: tied-embedding gradients, gradient norm, update of the local shard, clearing of whole
// gradient buffers. All after the last gradient is reduced.
#include "sim/parallel/chunk.h"

namespace memwall {

[[nodiscard]] Items optimizer_items(Lowering& lowering, const Stage& stage);

// Parameters that this rank updates.
[[nodiscard]] std::int64_t updated_parameters(const Lowering& lowering, const Stage& stage);

}  // namespace memwall
