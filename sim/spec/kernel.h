#pragma once
// What a GPU is asked to do, without a duration: the vocabulary that both trunks share. The machine turns a Kernel into
// time (sim/hardware), the work produces Kernels (sim/model, sim/parallel).
#include <compare>
#include <cstdint>
#include <variant>

#include "sim/core/units.h"
#include "sim/spec/dtype.h"

namespace memwall {

// Which of the three products of a linear layer: decides the memory layout (TN, NN, NT) the library sees.
enum class GemmRole : std::uint8_t { Forward, InputGradient, WeightGradient };

// batch x ([m,k] * [k,n]); m counts tokens in forward and input gradient, k counts tokens in the weight gradient.
struct Gemm {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batch = 1;  // batched or grouped: products of equal size
    Dtype dtype = Dtype::Bf16;
    GemmRole role = GemmRole::Forward;
    double output_bytes =
        2;  // per element: 2 = bf16; 4 = fp32 or bf16 accumulated; 8 = fp32 accumulated in place
    auto operator<=>(const Gemm&) const = default;
};

enum class AttentionKind : std::uint8_t { Flash2, Flash3, Cudnn, TrtLlm };

// A fused attention kernel. Unfused attention is a list of Gemm and MemoryBound kernels instead.
struct Attention {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t queries = 0;  // query length
    std::int64_t keys = 0;     // key length
    std::int64_t head_dim_qk = 0;
    std::int64_t head_dim_v = 0;
    std::int64_t window = 0;  // 0 = none
    bool causal = true;
    bool backward = false;
    AttentionKind kind = AttentionKind::Flash2;
    Dtype dtype = Dtype::Bf16;
    auto operator<=>(const Attention&) const = default;
};

// Decides which share of the HBM bandwidth such a kernel reaches and its fixed part.
enum class MemoryKind : std::uint8_t {
    Elementwise,   // activation, residual, dropout, rotary, add, scale, permute
    Norm,          // LayerNorm, RMSNorm forward
    NormBackward,  // with its weight-gradient reduction
    Softmax,       // unfused attention softmax and its backward
    Reduction,     // bias gradient sums, gradient norm
    Embedding,     // gather, scatter-add
    CrossEntropy,
    Optimizer,
    Cast,
};

// Every tensor read and written once: `bytes` counts both directions.
struct MemoryBound {
    MemoryKind kind = MemoryKind::Elementwise;
    Bytes bytes;
    auto operator<=>(const MemoryBound&) const = default;
};

// Host <-> device copy over PCIe or C2C.
struct Copy {
    Bytes bytes;
    bool to_device = true;
    auto operator<=>(const Copy&) const = default;
};

// A duration from a trace, used as it is (or already rescaled to the GPU at hand).
struct Measured {
    Duration duration{};
    Flops flops;
    auto operator<=>(const Measured&) const = default;
};

using Kernel = std::variant<Gemm, Attention, MemoryBound, Copy, Measured>;

// What is executed, multiply-adds counted as two operations; 0 for memory-bound kernels. Fused attention skips what its
// mask and window hide.
[[nodiscard]] Flops flops_of(const Kernel& kernel);
// HBM traffic when every operand is read and written once.
[[nodiscard]] Bytes hbm_bytes_of(const Kernel& kernel);

}  // namespace memwall
