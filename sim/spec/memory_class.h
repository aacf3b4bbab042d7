#pragma once
// Tensor classes of the memory report (design.md section 9).
#include <array>
#include <cstdint>
#include <string_view>

namespace memwall {

enum class TensorClass : std::uint8_t {
    Parameters,
    MasterWeights,
    Gradients,
    OptimizerStates,
    Activations,
    Recompute,  // activations of the layer that is being replayed for backward
    LogitsLoss,
    GatheredShards,
    GradientBuckets,
    CommunicationBuffers,
    Workspaces,  // cuBLAS and library workspaces inside the allocator, dummy weight gradients
    Context,     // outside the allocator: CUDA context, NCCL, driver
};
inline constexpr int kTensorClasses = 12;
// The classes inside the allocator sum to the allocated bytes; device = reserved + context.
[[nodiscard]] constexpr bool is_allocated(TensorClass c) {
    return c != TensorClass::Context;
}
inline constexpr std::array<std::string_view, kTensorClasses> kTensorClassNames = {
    "parameters",
    "master_weights",
    "gradients",
    "optimizer_states",
    "activations",
    "recompute",
    "logits_loss",
    "gathered_shards",
    "gradient_buckets",
    "communication_buffers",
    "workspaces",
    "context"};

}  // namespace memwall
