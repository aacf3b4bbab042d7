#pragma once
// One layer of the workload trace as one rank of a tensor-parallel group runs it: kernels with their divided dimensions,
// boundaries turned into the collectives that the strategy needs there. No streams, no host times, no memory policy yet.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/trace.h"
#include "sim/spec/collective.h"

namespace memwall {

struct TensorParallel {
    int tp = 1;
    bool sequence_parallel = false;
};

struct RankTensor {
    std::string name;
    std::int64_t bytes = 0;
    TensorClass memory = TensorClass::Activations;
    bool saved = false;  // lives from forward to backward with the kernels of this rank
    bool input = false;
    bool persistent = false;
    TraceModule module = TraceModule::Other;
    // Forward op (of RankLayer) that uses it last; -1 = not stated: the last of the layer.
    std::int32_t last_forward_op = -1;
};

// A kernel, or a collective of the tensor-parallel or context-parallel group.
struct RankOp {
    std::string name;
    Kernel kernel;
    std::optional<CollectiveCall> collective;
    BoundaryKind boundary = BoundaryKind::ColumnInput;  // of a collective
    Pass pass = Pass::Forward;
    TraceModule module = TraceModule::Other;
    int launches = 1;
    // Context parallelism: two events take turns, so that an exchange can run ahead of the kernels that wait for the one
    // before it. -1 = none.
    int context_event = -1;     // of an exchange: the event of its end
    int context_wait = -1;      // of a kernel: waits for the latest exchange of that event
    bool after_kernels = true;  // of an exchange: waits for the kernels before it
    std::vector<std::uint16_t> allocates;  // before its issue
    std::vector<std::uint16_t> frees;      // after its issue
};

struct RankLayer {
    std::string kind;
    std::vector<RankTensor> tensors;
    std::vector<RankOp> forward;
    std::vector<RankOp> backward;
};

[[nodiscard]] RankLayer shard_layer(const LayerTrace& layer, const TensorParallel& parallel);

// The kernel of one rank. A dimension that does not divide evenly is rounded up: the fullest rank decides.
[[nodiscard]] Kernel shard_kernel(const Kernel& kernel,
                                  const KernelSplit& split,
                                  const TensorParallel& parallel);

// The collective that a boundary needs, if any.
[[nodiscard]] std::optional<CollectiveKind> boundary_collective(BoundaryKind kind,
                                                                Pass pass,
                                                                const TensorParallel& parallel);

}  // namespace memwall
