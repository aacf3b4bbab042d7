#include "sim/model/summary.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/model/names.h"

namespace memwall {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

std::string gemm_shape(const Gemm& g) {
    const std::string shape = fmt::format("[{}, {}, {}]", g.m, g.n, g.k);
    return g.batch > 1 ? fmt::format("{} x {}", g.batch, shape) : shape;
}

std::string attention_shape(const Attention& a) {
    const std::string heads = a.heads == a.kv_heads ? fmt::format("{}", a.heads)
                                                    : fmt::format("{}/{}", a.heads, a.kv_heads);
    const std::string dims = a.head_dim_qk == a.head_dim_v
                                 ? fmt::format("{}", a.head_dim_qk)
                                 : fmt::format("{}/{}", a.head_dim_qk, a.head_dim_v);
    return fmt::format("b {} h {} s {} d {}", a.batch, heads, a.queries, dims);
}

void describe_kernel(const Kernel& kernel, SummaryRow& row) {
    std::visit(Overloaded{
                   [&](const Gemm& g) {
                       row.kernel = "gemm";
                       row.shape = gemm_shape(g);
                   },
                   [&](const Attention& a) {
                       row.kernel = word(kAttentionKindNames, a.kind);
                       row.shape = attention_shape(a);
                   },
                   [&](const MemoryBound& m) { row.kernel = word(kMemoryKindNames, m.kind); },
                   [&](const Copy&) { row.kernel = "copy"; },
                   [&](const Measured&) { row.kernel = "measured"; },
               },
               kernel);
}

std::string split_text(const KernelSplit& s) {
    std::string text;
    const auto add = [&](const char* name, Split split) {
        if (split != Split::None) {
            text +=
                fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, word(kSplitNames, split));
        }
    };
    add("m", s.m);
    add("n", s.n);
    add("k", s.k);
    add("batch", s.batch);
    add("bytes", s.bytes);
    return text;
}

std::string condition_text(const ShardCondition& c) {
    return fmt::format(
        "if {} / tp is {}a multiple of {}", c.whole, c.holds ? "" : "not ", c.multiple);
}

// Whether a tensor that forward op `maker` allocates is left for backward, where `maker` runs (at tp 1 if it runs anyway).
bool left_for_backward(const LayerTrace& layer, const TraceOp& maker, std::uint16_t tensor) {
    const auto runs = [&](const TraceOp& op) {
        return maker.condition && op.condition ? op.condition->holds == maker.condition->holds
                                               : op_applies(op, 1);
    };
    return layer.tensors[tensor].saved &&
           std::none_of(layer.forward.begin(), layer.forward.end(), [&](const TraceItem& item) {
               return item.op && runs(*item.op) &&
                      std::find(item.op->frees.begin(), item.op->frees.end(), tensor) !=
                          item.op->frees.end();
           });
}

SummaryRow op_row(const LayerTrace& layer, const TraceOp& op) {
    SummaryRow row;
    row.op = op.name;
    row.pass = op.pass;
    describe_kernel(op.kernel, row);
    row.split = split_text(op.split);
    row.condition = op.condition ? condition_text(*op.condition) : "";
    row.flops = flops_of(op.kernel);
    row.bytes = hbm_bytes_of(op.kernel);
    for (const std::uint16_t t : op.allocates) {
        if (op.pass == Pass::Forward && left_for_backward(layer, op, t)) {
            row.saved += layer.tensors[t].bytes;
        }
    }
    return row;
}

SummaryRow boundary_row(const TraceBoundary& b) {
    SummaryRow row;
    row.op = word(kBoundaryKindNames, b.kind);
    std::replace(row.op.begin(), row.op.end(), '_', ' ');
    row.pass = b.pass;
    row.boundary = true;
    row.kernel = "boundary";
    row.shape = b.calls > 1 ? fmt::format("{} calls", b.calls) : "";
    row.bytes = b.bytes * std::int64_t{b.calls};
    return row;
}

void add_totals(SummaryKind& kind, const TraceOp& op, const SummaryRow& row) {
    if (!op_applies(op, 1)) {
        return;
    }
    switch (op.pass) {
    case Pass::Forward:
        kind.forward += row.flops;
        break;
    case Pass::InputGradient:
        kind.input_gradient += row.flops;
        break;
    case Pass::WeightGradient:
        kind.weight_gradient += row.flops;
        break;
    }
    kind.saved += row.saved;
}

SummaryKind summarise_kind(const LayerTrace& layer) {
    SummaryKind kind;
    kind.kind = layer.kind;
    for (const ParameterTensor& p : layer.parameters) {
        kind.parameters += p.count();
    }
    for (const auto* items : {&layer.forward, &layer.backward}) {
        for (const TraceItem& item : *items) {
            if (item.boundary) {
                kind.rows.push_back(boundary_row(*item.boundary));
            } else if (item.op) {
                kind.rows.push_back(op_row(layer, *item.op));
                add_totals(kind, *item.op, kind.rows.back());
            }
        }
    }
    return kind;
}

}  // namespace

std::vector<SummaryKind> summarise(const WorkloadTrace& trace) {
    std::vector<std::uint32_t> order = {trace.embedding};
    for (const std::uint32_t kind : trace.layers) {
        if (std::find(order.begin(), order.end(), kind) == order.end()) {
            order.push_back(kind);
        }
    }
    order.push_back(trace.head);
    std::vector<SummaryKind> kinds;
    for (const std::uint32_t i : order) {
        kinds.push_back(summarise_kind(trace.kinds[i]));
        const bool end = i == trace.embedding || i == trace.head;
        kinds.back().layers = end ? 1 : std::count(trace.layers.begin(), trace.layers.end(), i);
    }
    return kinds;
}

}  // namespace memwall
