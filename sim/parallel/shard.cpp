// Tensor parallelism after Shoeybi et al. (arXiv:1909.08053), sequence parallelism after Korthikanti et al.
// (arXiv:2205.05198): an all-reduce becomes reduce-scatter + all-gather around the regions that sequence parallelism divides.
#include "sim/parallel/shard.h"

#include <algorithm>
#include <cmath>

#include "sim/core/check.h"

namespace memwall {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

bool divides(Split split, const TensorParallel& parallel) {
    switch (split) {
    case Split::None:
    case Split::Ep:
        return false;
    case Split::Tp:
        return true;
    case Split::Sequence:
        return parallel.sequence_parallel;
    }
    return false;
}

std::int64_t share(std::int64_t whole, Split split, const TensorParallel& parallel) {
    return divides(split, parallel) ? (whole + parallel.tp - 1) / parallel.tp : whole;
}

Kernel measured_kernel(const TraceOp& op, Duration measured, const TensorParallel& parallel) {
    // A measured op scales with its work: every divided dimension of the kernel counts.
    int parts = 1;
    for (const Split split : {op.split.m, op.split.n, op.split.k, op.split.batch, op.split.bytes}) {
        parts *= divides(split, parallel) ? parallel.tp : 1;
    }
    const Kernel rank = shard_kernel(op.kernel, op.split, parallel);
    return Measured{.duration = Duration((measured.count() + parts - 1) / parts),
                    .flops = flops_of(rank)};
}

Duration on_this_gpu(const TraceOp& op) {
    return op.measured_scale == 1
               ? *op.measured
               : Duration(
                     std::llround(static_cast<double>(op.measured->count()) * op.measured_scale));
}

RankOp rank_op(const TraceOp& op, const TensorParallel& parallel) {
    RankOp result;
    result.name = op.name;
    result.kernel = op.measured ? measured_kernel(op, on_this_gpu(op), parallel)
                                : shard_kernel(op.kernel, op.split, parallel);
    result.pass = op.pass;
    result.module = op.module;
    result.launches = op.launches;
    return result;
}

const char* boundary_name(BoundaryKind kind, CollectiveKind collective) {
    switch (kind) {
    case BoundaryKind::Loss:
        return "loss all-reduce";
    case BoundaryKind::ColumnInput:
    case BoundaryKind::RowOutput:
    case BoundaryKind::GatherAgain:
    case BoundaryKind::Vocabulary:
    case BoundaryKind::ExpertDispatch:
    case BoundaryKind::ExpertCombine:
        break;
    }
    switch (collective) {
    case CollectiveKind::AllReduce:
        return "tp all-reduce";
    case CollectiveKind::AllGather:
        return "tp all-gather";
    case CollectiveKind::ReduceScatter:
        return "tp reduce-scatter";
    case CollectiveKind::Broadcast:
    case CollectiveKind::AllToAll:
    case CollectiveKind::Barrier:
    case CollectiveKind::Shift:
        break;
    }
    bug(__FILE__, __LINE__, "a boundary makes no such collective");
}

class LayerSharder {
  public:
    LayerSharder(const LayerTrace& layer, const TensorParallel& parallel)
        : layer_(layer), parallel_(parallel) {}

    RankLayer run() {
        RankLayer result;
        result.kind = layer_.kind;
        for (const TraceTensor& tensor : layer_.tensors) {
            exists_.push_back(!tensor.only_sequence_parallel ||
                              (parallel_.sequence_parallel && parallel_.tp > 1));
            result.tensors.push_back({.name = tensor.name,
                                      .bytes = share(tensor.bytes.value, tensor.split, parallel_),
                                      .memory = tensor.memory,
                                      .saved = tensor.saved,
                                      .input = tensor.input,
                                      .persistent = tensor.persistent,
                                      .module = tensor.module});
        }
        std::vector<std::int32_t> last_op_of_item;
        result.forward = items(layer_.forward, &last_op_of_item);
        result.backward = items(layer_.backward, nullptr);
        // The trace calls saved what backward needs with some of the conditional kernels, not with all of them.
        for (const RankOp& op : result.forward) {
            for (const std::uint16_t tensor : op.frees) {
                result.tensors[tensor].saved = false;
            }
        }
        for (std::size_t i = 0; i < layer_.tensors.size(); ++i) {
            const std::int32_t item = layer_.tensors[i].last_forward_item;
            if (item >= 0) {
                MW_CHECK(static_cast<std::size_t>(item) < last_op_of_item.size(),
                         "last_forward_item outside the layer: " + layer_.tensors[i].name);
                result.tensors[i].last_forward_op =
                    std::max(0, last_op_of_item[static_cast<std::size_t>(item)]);
            }
        }
        return result;
    }

  private:
    std::vector<RankOp> items(const std::vector<TraceItem>& list,
                              std::vector<std::int32_t>* last_op_of_item) const {
        std::vector<RankOp> ops;
        for (const TraceItem& item : list) {
            if (item.op && op_applies(*item.op, parallel_.tp)) {
                RankOp op = rank_op(*item.op, parallel_);
                op.allocates = existing(item.op->allocates);
                op.frees = existing(item.op->frees);
                ops.push_back(std::move(op));
            } else if (item.boundary) {
                append_boundary(*item.boundary, ops);
            }
            if (last_op_of_item != nullptr) {
                last_op_of_item->push_back(static_cast<std::int32_t>(ops.size()) - 1);
            }
        }
        return ops;
    }

    void append_boundary(const TraceBoundary& boundary, std::vector<RankOp>& ops) const {
        const auto kind = boundary_collective(boundary.kind, boundary.pass, parallel_);
        if (!kind) {
            return;
        }
        for (int call = 0; call < boundary.calls; ++call) {
            RankOp op;
            op.name = boundary_name(boundary.kind, *kind);
            op.collective =
                CollectiveCall{.kind = *kind, .role = GroupRole::Tp, .bytes = boundary.bytes};
            op.boundary = boundary.kind;
            op.pass = boundary.pass;
            op.module = boundary.module;
            ops.push_back(std::move(op));
        }
    }

    std::vector<std::uint16_t> existing(const std::vector<std::uint16_t>& tensors) const {
        std::vector<std::uint16_t> result;
        for (const std::uint16_t tensor : tensors) {
            MW_CHECK(tensor < exists_.size(),
                     "an op names a tensor outside its layer: " + layer_.kind);
            if (exists_[tensor]) {
                result.push_back(tensor);
            }
        }
        return result;
    }

    const LayerTrace& layer_;
    TensorParallel parallel_;
    std::vector<bool> exists_;
};

}  // namespace

std::optional<CollectiveKind> boundary_collective(BoundaryKind kind,
                                                  Pass pass,
                                                  const TensorParallel& parallel) {
    if (parallel.tp == 1) {
        return std::nullopt;
    }
    const bool forward = pass == Pass::Forward;
    const bool sequence = parallel.sequence_parallel;
    switch (kind) {
    case BoundaryKind::ColumnInput:
        if (sequence) {
            return forward ? CollectiveKind::AllGather : CollectiveKind::ReduceScatter;
        }
        return forward ? std::nullopt : std::optional(CollectiveKind::AllReduce);
    case BoundaryKind::RowOutput:
    case BoundaryKind::Vocabulary:
        if (sequence) {
            return forward ? CollectiveKind::ReduceScatter : CollectiveKind::AllGather;
        }
        return forward ? std::optional(CollectiveKind::AllReduce) : std::nullopt;
    case BoundaryKind::GatherAgain:
        return sequence ? std::optional(CollectiveKind::AllGather) : std::nullopt;
    case BoundaryKind::Loss:
        return CollectiveKind::AllReduce;
    case BoundaryKind::ExpertDispatch:
    case BoundaryKind::ExpertCombine:
        return std::nullopt;  // ep = 1: every expert is local
    }
    return std::nullopt;
}

Kernel shard_kernel(const Kernel& kernel,
                    const KernelSplit& split,
                    const TensorParallel& parallel) {
    return std::visit(
        Overloaded{
            [&](Gemm gemm) -> Kernel {
                gemm.m = share(gemm.m, split.m, parallel);
                gemm.n = share(gemm.n, split.n, parallel);
                gemm.k = share(gemm.k, split.k, parallel);
                gemm.batch = share(gemm.batch, split.batch, parallel);
                return gemm;
            },
            [&](Attention attention) -> Kernel {
                // Fewer key-value heads than ranks: each rank keeps a copy of one.
                attention.heads = share(attention.heads, split.batch, parallel);
                attention.kv_heads = share(attention.kv_heads, split.batch, parallel);
                return attention;
            },
            [&](MemoryBound memory) -> Kernel {
                memory.bytes = Bytes(share(memory.bytes.value, split.bytes, parallel));
                return memory;
            },
            [&](Copy copy) -> Kernel {
                copy.bytes = Bytes(share(copy.bytes.value, split.bytes, parallel));
                return copy;
            },
            [&](Measured measured) -> Kernel {
                if (divides(split.bytes, parallel)) {
                    measured.duration =
                        Duration((measured.duration.count() + parallel.tp - 1) / parallel.tp);
                    measured.flops = Flops(measured.flops.value / parallel.tp);
                }
                return measured;
            },
        },
        kernel);
}

RankLayer shard_layer(const LayerTrace& layer, const TensorParallel& parallel) {
    MW_CHECK(parallel.tp >= 1, "tp must be at least 1");
    return LayerSharder(layer, parallel).run();
}

}  // namespace memwall
