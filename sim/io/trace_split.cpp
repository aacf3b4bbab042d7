#include "sim/io/trace_split.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memwall {
namespace {

struct Dimension {
    const char* name;
    std::int64_t size;
    Split split;
};

// The dimensions that a group may divide; bytes and durations divide as they are.
std::array<Dimension, 4> dimensions_of(const TraceOp& op) {
    if (const auto* gemm = std::get_if<Gemm>(&op.kernel)) {
        return {Dimension{"m", gemm->m, op.split.m},
                Dimension{"n", gemm->n, op.split.n},
                Dimension{"k", gemm->k, op.split.k},
                Dimension{"batch", gemm->batch, op.split.batch}};
    }
    if (const auto* attention = std::get_if<Attention>(&op.kernel)) {
        return {Dimension{"heads", attention->heads, op.split.batch}, {}, {}, {}};
    }
    return {};
}

// The first dimension of these items that is not divisible; true after an error.
bool refuse(const std::vector<TraceItem>& items,
            const WorkloadTrace& trace,
            const JobCheck& check) {
    const std::int64_t tp = check.job.degrees.tp;
    for (const TraceItem& item : items) {
        if (!item.op) {
            continue;
        }
        for (const Dimension& dimension : dimensions_of(*item.op)) {
            if (dimension.split != Split::Tp || dimension.size % tp == 0) {
                continue;
            }
            check
                .error("E0337",
                       "parallel.tp",
                       fmt::format("tp {} does not divide {} {} of op '{}' in trace '{}'",
                                   tp,
                                   dimension.name,
                                   dimension.size,
                                   item.op->name,
                                   trace.name))
                .hint = fmt::format(
                "divisors of {}: {}", dimension.size, divisors_of(dimension.size, dimension.size));
            return true;
        }
    }
    return false;
}

double trained_parameters(const LayerTrace& kind, int tp) {
    double sum = 0;
    for (const ParameterTensor& tensor : kind.parameters) {
        const double count = tensor.trained ? static_cast<double>(tensor.count()) : 0;
        sum += tensor.split == Split::None ? count : count / tp;
    }
    return sum;
}

// Of the fullest stage, on one rank.
double stage_gradients(const WorkloadTrace& trace, const Job& job) {
    double most = 0;
    for (const std::vector<ChunkLayout>& stage : job.stages) {
        double sum = 0;
        for (const ChunkLayout& chunk : stage) {
            for (int i = 0; i < chunk.layers; ++i) {
                const std::size_t layer =
                    static_cast<std::size_t>(chunk.first_layer) + static_cast<std::size_t>(i);
                sum += trained_parameters(trace.kinds[trace.layers[layer]], job.degrees.tp);
            }
            sum += chunk.embedding
                       ? trained_parameters(trace.kinds[trace.embedding], job.degrees.tp)
                       : 0;
            sum += chunk.head ? trained_parameters(trace.kinds[trace.head], job.degrees.tp) : 0;
        }
        most = std::max(most, sum);
    }
    return most;
}

}  // namespace

void check_trace_split(const WorkloadTrace& trace, const JobCheck& check) {
    check_buckets(check, stage_gradients(trace, check.job));
    for (const LayerTrace& kind : trace.kinds) {
        if (refuse(kind.forward, trace, check) || refuse(kind.backward, trace, check)) {
            return;
        }
    }
}

}  // namespace memwall
