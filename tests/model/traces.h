#pragma once
// Stacks of the tests and plain readings of a trace: sums, lists, a replay of its tensors.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/model/build.h"
#include "tests/model/models.h"

namespace memwall::testing {

// Megatron-LM 2021: unfused attention, fused softmax and JIT fusions, separate gradient accumulation.
inline Stack megatron_2021() {
    Stack s;
    s.kernels.attention = AttentionImplementation::Unfused;
    s.kernels.loss = LossImplementation::Unfused;
    s.kernels.fused_gradient_accumulation = false;
    return s;
}

// Megatron-LM with Transformer Engine: fused attention, norms, rotary, SwiGLU, loss; dummy weight gradients.
inline Stack transformer_engine() {
    Stack s;
    s.kernels.attention = AttentionImplementation::Cudnn;
    s.kernels.loss = LossImplementation::Fused;
    s.memory.dummy_weight_gradients = true;
    s.memory.fp32_gradients = true;
    return s;
}

// PyTorch FSDP, eager blocks.
inline Stack fsdp_eager() {
    Stack s;
    s.kernels.attention = AttentionImplementation::Flash2;
    s.kernels.loss = LossImplementation::Unfused;
    s.kernels.loss_in_place = false;
    s.kernels.fused_projections = false;
    s.kernels.fused_bias_activation = false;
    s.kernels.fused_bias_dropout_add = false;
    s.kernels.fused_norm = false;
    s.kernels.fused_rotary = false;
    s.kernels.fused_gradient_accumulation = false;
    return s;
}

inline const LayerTrace& first_layer(const WorkloadTrace& t) {
    return t.kinds[t.layers[0]];
}

inline std::vector<const TraceOp*> ops_of(const std::vector<TraceItem>& items,
                                          std::int64_t tp = 1) {
    std::vector<const TraceOp*> ops;
    for (const TraceItem& i : items) {
        if (i.op && op_applies(*i.op, tp)) {
            ops.push_back(&*i.op);
        }
    }
    return ops;
}

inline std::vector<TraceBoundary> boundaries_of(const std::vector<TraceItem>& items) {
    std::vector<TraceBoundary> list;
    for (const TraceItem& i : items) {
        if (i.boundary) {
            list.push_back(*i.boundary);
        }
    }
    return list;
}

inline bool has_op(const std::vector<TraceItem>& items, const std::string& name) {
    const auto ops = ops_of(items);
    return std::any_of(ops.begin(), ops.end(), [&](const TraceOp* op) { return op->name == name; });
}

inline const TraceOp& find_op(const std::vector<TraceItem>& items, const std::string& name) {
    for (const TraceOp* op : ops_of(items)) {
        if (op->name == name) {
            return *op;
        }
    }
    throw std::out_of_range("no op " + name);
}

inline std::int64_t bytes_of(const std::vector<TraceItem>& items, const std::string& name) {
    return hbm_bytes_of(find_op(items, name).kernel).value;
}

inline double flops_of_items(const std::vector<TraceItem>& items) {
    double sum = 0;
    for (const TraceOp* op : ops_of(items)) {
        sum += flops_of(op->kernel).value;
    }
    return sum;
}

struct Shards {
    std::int64_t tp = 1;
    bool sequence_parallel = false;
};

inline std::int64_t shard_bytes(const TraceTensor& t, const Shards& s) {
    const bool sp = s.sequence_parallel && s.tp > 1;
    if (t.only_sequence_parallel && !sp) {
        return 0;
    }
    const bool divided = t.split == Split::Tp || (t.split == Split::Sequence && sp);
    return divided ? t.bytes.value / s.tp : t.bytes.value;
}

// Of the tensors that the kernels of this shard allocate.
inline std::int64_t saved_bytes(const LayerTrace& layer,
                                const Shards& s = {},
                                std::optional<TraceModule> module = {}) {
    std::int64_t sum = 0;
    for (const TraceOp* op : ops_of(layer.forward, s.tp)) {
        for (const std::uint16_t i : op->allocates) {
            const TraceTensor& t = layer.tensors[i];
            sum += t.saved && module.value_or(t.module) == t.module ? shard_bytes(t, s) : 0;
        }
    }
    return sum;
}

// Live bytes after the allocations of each op, starting from `base`; persistent tensors left out.
struct Replay {
    std::int64_t live = 0;
    std::int64_t peak = 0;
    std::string at;
};
inline void replay(Replay& r,
                   const LayerTrace& l,
                   const std::vector<TraceItem>& items,
                   const Shards& s) {
    for (const TraceOp* op : ops_of(items, s.tp)) {
        for (const std::uint16_t t : op->allocates) {
            r.live += l.tensors[t].persistent ? 0 : shard_bytes(l.tensors[t], s);
        }
        if (r.live > r.peak) {
            r.peak = r.live;
            r.at = l.kind + ": " + op->name;
        }
        for (const std::uint16_t t : op->frees) {
            r.live -= shard_bytes(l.tensors[t], s);
        }
    }
}

}  // namespace memwall::testing
