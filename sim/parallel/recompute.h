#pragma once
// Activation recomputation: which forward ops a layer replays in its backward pass, and when its tensors live.
// A dropped tensor is freed after its last use in forward and made again by the replay, as class Recompute.
#include <cstdint>
#include <vector>

#include "sim/parallel/shard.h"
#include "sim/spec/strategy.h"

namespace memwall {

struct RecomputePolicy {
    RecomputeKind kind = RecomputeKind::None;
    std::vector<RecomputeModule> modules = {};  // of Selective
};

// One op of a pass: an index into RankLayer::forward (also when it is replayed) or RankLayer::backward.
struct PassOp {
    std::uint32_t op = 0;
    bool forward_list = true;
    bool replay = false;
};

struct TensorEvent {
    TensorClass memory = TensorClass::Activations;
    std::int64_t bytes = 0;       // > 0 allocates, < 0 frees
    std::uint32_t tensor = 0;     // index into RankLayer::tensors
    std::uint32_t before_op = 0;  // as MemoryEvent::before_op, within the pass
};

struct LayerPass {
    std::vector<PassOp> ops;
    std::vector<TensorEvent> memory;
};

struct LayerPasses {
    LayerPass forward;
    LayerPass backward;
};

[[nodiscard]] LayerPasses layer_passes(const RankLayer& layer, const RecomputePolicy& policy);

}  // namespace memwall
