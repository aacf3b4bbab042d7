#pragma once
// The parallel strategy, batch and training policy of one job.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/spec/dtype.h"

namespace memwall {

enum class Schedule : std::uint8_t { GPipe, OneForwardOneBackward, Interleaved };
enum class ShardingKind : std::uint8_t { None, Zero1, Zero2, Zero3, Fsdp, Hsdp };
enum class StageLayoutKind : std::uint8_t { Even, EmbeddingAndHeadAsLayers, Explicit };
enum class RecomputeKind : std::uint8_t {
    None,
    Selective,  // named modules
    Operators,  // all but fused attention and every other matrix product, counted from the first
    Full,
};
enum class RecomputeModule : std::uint8_t { AttentionCore, Mlp, Norm };
// How context-parallel ranks exchange keys and values.
enum class ContextKind : std::uint8_t {
    Ring,       // blocks of keys and values go around while attention works on the block before
    AllToAll,   // heads are exchanged for tokens (DeepSpeed-Ulysses)
    AllGather,  // all keys and values are gathered before attention
};
// Arithmetic of the linear layers of the blocks, below the precision of everything else: attention, norms, embedding, head
// and router stay in the policy's own.
enum class Recipe : std::uint8_t {
    None,
    Fp8Delayed,     // one scale per tensor, from the largest values of steps before
    Fp8Tensorwise,  // one scale per tensor, from its own largest value
    MxFp8,          // a scale for every 32 elements
    NvFp4,          // a scale for every 16 elements, and one per tensor
};
enum class OptimizerKind : std::uint8_t { Adam, AdamW, AdamWFused, Sgd };

struct StageLayout {
    StageLayoutKind kind = StageLayoutKind::Even;
    std::vector<std::vector<int>> layers;  // Explicit: layers of chunk 0 .. vpp-1, per stage
};

struct Sharding {
    ShardingKind kind = ShardingKind::None;
    std::optional<int> shard;      // ranks that hold one copy of the states; default: dp (x cp)
    std::optional<int> replicate;  // shard x replicate = dp
    std::string unit = "block";
    int prefetch = 1;  // units gathered ahead
    bool reshard_after_forward = true;
    bool sync_every_micro_batch = true;
};

struct Gradients {
    Bytes bucket;  // 0 = one bucket after the last backward
    Dtype reduce_dtype = Dtype::Fp32;
};

struct Parallel {
    // nullopt = `auto`: derived from the others.
    std::optional<int> tp = 1, pp = 1, cp = 1, dp;
    int vpp = 1;
    int ep = 1;
    int etp = 1;  // tensor parallelism inside experts
    ContextKind cp_kind = ContextKind::Ring;
    bool sequence_parallel = false;
    Schedule schedule = Schedule::OneForwardOneBackward;
    StageLayout stage_layout;
    Sharding sharding;
    Gradients gradients;
};

struct Batch {
    std::int64_t global = 0;  // sequences per step
    std::int64_t micro = 1;   // sequences per micro-batch and data-parallel rank
};

// Bytes per parameter by policy (glossary: model states).
struct Precision {
    std::string name = "bf16_mixed";
    Dtype compute = Dtype::Bf16;
    double weight_bytes = 2;
    double gradient_bytes = 2;
    double master_bytes = 4;  // 0 = the weights are the master copy
    double moment_bytes = 8;  // all moments together
};

struct Training {
    Precision precision;
    Recipe recipe = Recipe::None;
    int recipe_skips_first = 0;  // layers of the model that stay in the policy's precision
    int recipe_skips_last = 0;
    OptimizerKind optimizer = OptimizerKind::AdamW;
    RecomputeKind recompute = RecomputeKind::None;
    std::vector<RecomputeModule> recompute_modules;
    std::optional<int> recompute_layers;  // per chunk; nullopt = all
};

}  // namespace memwall
