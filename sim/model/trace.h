#pragma once
// The workload trace: what one micro-batch does to each layer, before any sharding. Strategies transform it and never
// know where it came from (a model description, a config.json, a trace file).
//
// A layer is a list of items in execution order. An op says which of its dimensions a tensor-parallel group divides; a
// boundary marks the place where a strategy inserts communication. Tensors have a life: allocated by one op, freed by another.
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

// What divides a dimension: nothing, tp, or tp only when sequence parallelism is on.
enum class Split : std::uint8_t { None, Tp, Sequence };

struct KernelSplit {
    Split m = Split::None;      // Gemm
    Split n = Split::None;
    Split k = Split::None;
    Split batch = Split::None;  // Gemm batch, attention heads and kv heads
    Split bytes = Split::None;  // MemoryBound, Copy, Measured (duration)
};

// What selective recomputation names; Other is replayed only by full recomputation.
enum class TraceModule : std::uint8_t { Other, AttentionCore, Mlp, Norm, Loss };

struct TraceTensor {
    std::string name;
    Bytes bytes;               // one micro-batch, not sharded
    Split split = Split::None;
    TensorClass memory = TensorClass::Activations;
    bool saved = false;        // lives from forward to backward (dropped and remade when its module is recomputed)
    TraceModule module = TraceModule::Other;
};

struct TraceOp {
    std::string name;
    Pass pass = Pass::Forward;
    Kernel kernel;                      // not sharded
    KernelSplit split;
    TraceModule module = TraceModule::Other;
    int launches = 1;                   // kernels behind this op: host time counts each
    std::vector<std::uint16_t> allocates;  // indices into LayerTrace::tensors, at issue
    std::vector<std::uint16_t> frees;      // at issue of the last use
    std::optional<Duration> measured;   // on measured_gpu, for the unsharded kernel
    std::string measured_gpu;
};

enum class BoundaryKind : std::uint8_t {
    ColumnInput,   // input of column-parallel weights: forward gather (sp), backward reduce
    RowOutput,     // output of row-parallel weights: forward reduce, backward gather (sp)
    GatherAgain,   // sp: the sharded input is gathered once more for the weight gradient
    Vocabulary,    // vocabulary-parallel embedding output
    Loss,          // reductions of the vocabulary-parallel loss
};

struct TraceBoundary {
    BoundaryKind kind = BoundaryKind::ColumnInput;
    Pass pass = Pass::Forward;
    Bytes bytes;     // whole tensor
    int calls = 1;   // collectives of this size
};

// One of the two is set.
struct TraceItem {
    std::optional<TraceOp> op;
    std::optional<TraceBoundary> boundary;
};

struct ParameterTensor {
    std::string name;
    std::int64_t rows = 0;     // outputs; 1-d tensors: rows x 1
    std::int64_t columns = 1;
    Split split = Split::None; // None = replicated over tp
    bool expert = false;
    bool matmul = false;       // takes part in a matrix product (P_matmul of the glossary)
    [[nodiscard]] std::int64_t count() const { return rows * columns; }
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
    std::string source;               // "model gpt3-175b", or the file it was read from
    std::int64_t tokens = 0;          // of one micro-batch on one data-parallel rank, all context-parallel ranks together
    std::int64_t sequence = 0;
    std::vector<LayerTrace> kinds;
    std::uint32_t embedding = 0;      // index into kinds
    std::uint32_t head = 0;
    std::vector<std::uint32_t> layers;  // kind of each transformer layer, in order
    Bytes boundary_bytes;             // activation handed from stage to stage, whole tensor
    std::int64_t parameters = 0;      // of the model, tied ones once
    std::int64_t matmul_parameters = 0;  // head included, embedding lookup excluded, active experts only
    std::int64_t attention_flops_factor = 0;  // sum over layers of heads x head_dim (the h of 12 L h s a, summed)
    bool tied_embeddings = false;
};

}  // namespace memwall
