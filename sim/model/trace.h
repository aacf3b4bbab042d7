#pragma once
// The workload trace: what one micro-batch does to each layer, before any sharding. Strategies transform it and never
// know where it came from (a model description, a config.json, a trace file).
//
// A layer is a list of items in execution order. An op says which of its dimensions a tensor-parallel group divides; a
// boundary marks the place where a strategy inserts communication. Tensors have a life: allocated by one op, freed by another.
//
// How to read it:
//  - Skip every op that does not apply at the tp at hand (`op_applies`), with its allocations and frees. A tensor that
//    only skipped ops allocate does not exist: sum over allocations, not over `tensors`.
//  - An op first allocates, then frees: its inputs are alive beside its outputs.
//  - Every tensor that is allocated is freed exactly once over forward then backward, except persistent ones.
//  - A layer accounts for its own input (tensor with `input`) from its first forward op on, and for the gradient of its
//    own output (tensor "output_gradient") from its first backward op on. Its output is the next layer's input.
//  - A dimension or size with `per_token` shrinks with context parallelism; others (weights) do not.
//  - Backward, column-parallel: input-gradient product, ColumnInput boundary, weight-gradient product. A stack that overlaps
//    them lets the first op after the weight gradients wait for the boundary.
//  - A boundary of more than one call means that many collectives of `bytes` each.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/kernel.h"
#include "sim/spec/memory_class.h"
#include "sim/spec/strategy.h"

namespace memwall {

// Weight and input gradients are apart: zero-bubble schedules need it.
enum class Pass : std::uint8_t { Forward, InputGradient, WeightGradient };

// What divides a dimension: nothing, tp, tp only when sequence parallelism is on, or ep. Ep divides the number of local
// experts (Gemm batch, expert weights), while each local expert gets ep times the rows: a rank's expert work, traffic and
// activations do not change with ep.
enum class Split : std::uint8_t { None, Tp, Sequence, Ep };

struct KernelSplit {
    Split m = Split::None;  // Gemm
    Split n = Split::None;
    Split k = Split::None;
    Split batch = Split::None;  // Gemm batch, attention heads and kv heads
    Split bytes = Split::None;  // MemoryBound, Copy, Measured (duration)
    auto operator<=>(const KernelSplit&) const = default;
};

// What selective recomputation names; Other is replayed only by full recomputation.
enum class TraceModule : std::uint8_t { Other, AttentionCore, Mlp, Norm, Loss };

struct TraceTensor {
    std::string name;
    Bytes bytes;  // one micro-batch, not sharded
    Split split = Split::None;
    TensorClass memory = TensorClass::Activations;
    bool saved =
        false;  // lives from forward to backward (dropped and remade when its module is recomputed), with
                // conditional kernels in one of the cases at least
    TraceModule module = TraceModule::Other;
    bool input = false;  // the layer's input: what full recomputation keeps
    bool only_sequence_parallel =
        false;  // full-width copy that exists only with sequence parallelism and tp > 1
    bool persistent = false;  // a library's buffer: allocated on first use, never freed
    bool per_token = true;
    // Item of `forward` that uses it last there (saved tensors: from then on a recomputing strategy may drop it).
    std::int32_t last_forward_item = -1;
};

// Some kernels are chosen by the shape that a rank sees. The op applies if ((whole / tp) mod multiple == 0) == holds.
// Megatron's fused softmax: whole = micro-batch x heads, multiple = 4; the fallback kernels carry holds = false.
struct ShardCondition {
    std::int64_t whole = 0;
    std::int64_t multiple = 1;
    bool holds = true;
    auto operator<=>(const ShardCondition&) const = default;
};

struct TraceOp {
    std::string name;
    Pass pass = Pass::Forward;
    Kernel kernel;  // not sharded
    KernelSplit split;
    TraceModule module = TraceModule::Other;
    int launches = 1;       // kernels behind this op: host time counts each
    bool per_token = true;  // false: the work is on weights
    std::optional<ShardCondition> condition;
    std::vector<std::uint16_t> allocates;  // indices into LayerTrace::tensors, at issue
    std::vector<std::uint16_t> frees;      // at issue of the last use, after its own allocations
    std::optional<Duration> measured;      // on measured_gpu, for the unsharded kernel
    std::string measured_gpu;
    double measured_scale = 1;  // to the GPU at hand; not in files (io/trace_rescale.h)
};

[[nodiscard]] bool op_applies(const TraceOp& op, std::int64_t tp);

enum class BoundaryKind : std::uint8_t {
    ColumnInput,  // input of column-parallel weights: forward gather (sp), backward reduce (all-reduce, sp: scatter)
    RowOutput,       // output of row-parallel weights: forward reduce, backward gather (sp)
    GatherAgain,     // sp: the sharded input is gathered once more for the weight gradient
    Vocabulary,      // vocabulary-parallel embedding output: as RowOutput
    Loss,            // reductions of the vocabulary-parallel loss over tp
    ExpertDispatch,  // tokens to their experts: all-to-all over ep (forward and, reversed, backward)
    ExpertCombine,   // and back
};

struct TraceBoundary {
    BoundaryKind kind = BoundaryKind::ColumnInput;
    Pass pass = Pass::Forward;
    Bytes bytes;    // whole tensor
    int calls = 1;  // collectives of this size
    TraceModule module = TraceModule::Other;
    auto operator<=>(const TraceBoundary&) const = default;
};

// One of the two is set.
struct TraceItem {
    std::optional<TraceOp> op;
    std::optional<TraceBoundary> boundary;
};

struct ParameterTensor {
    std::string name;
    std::int64_t rows = 0;  // outputs; 1-d tensors: rows x 1
    std::int64_t columns = 1;
    std::int64_t copies = 1;    // experts: tensors of this shape
    Split split = Split::None;  // None = replicated over tp
    bool expert = false;        // copies are divided by ep
    bool matmul = false;        // takes part in a matrix product (P_matmul of the glossary)
    bool tied =
        false;  // output matrix that is the embedding table: one tensor when both are on one stage
    bool trained = true;  // false: no gradient, no optimizer state
    [[nodiscard]] std::int64_t count() const { return rows * columns * copies; }
    auto operator<=>(const ParameterTensor&) const = default;
};

struct LayerTrace {
    std::string kind;  // "embedding", "transformer", "moe_transformer", "head", ...
    std::vector<TraceTensor> tensors;
    std::vector<ParameterTensor> parameters;
    std::vector<TraceItem> forward;
    std::vector<TraceItem> backward;  // input and weight gradients in execution order
    double active_expert_share = 1;   // of expert parameters per token: top_k / experts
};

struct WorkloadTrace {
    std::string name;
    std::string source;  // "model gpt3-175b", or the file it was read from
    std::int64_t tokens =
        0;  // of one micro-batch on one data-parallel rank, all context-parallel ranks together
    std::int64_t sequence = 0;
    std::vector<LayerTrace> kinds;
    std::uint32_t embedding = 0;  // index into kinds
    std::uint32_t head = 0;
    std::vector<std::uint32_t> layers;  // kind of each transformer layer, in order
    Bytes boundary_bytes;               // activation handed from stage to stage, whole tensor
    std::int64_t parameters = 0;        // of the model, tied ones once, vocabulary not padded
    std::int64_t active_parameters = 0;
    std::int64_t matmul_parameters =
        0;  // head included, embedding lookup excluded, active experts only, not padded
    std::int64_t attention_flops_factor =
        0;                    // sum over layers of heads x head_dim (the h of 12 L h s a, summed)
    std::int64_t window = 0;  // keys that a query sees at most, itself included; 0 = all before it
    bool tied_embeddings = false;
};

}  // namespace memwall
