#include "sim/analyze/flops.h"

#include <vector>

namespace memwall {
namespace {

// An attention kernel with a causal mask executes half of the square that the `full` convention counts.
double counted(const Kernel& kernel, AttentionFlops convention) {
    const double executed = flops_of(kernel).value;
    const auto* attention = std::get_if<Attention>(&kernel);
    const bool half =
        attention != nullptr && attention->causal && convention == AttentionFlops::Full;
    return half ? 2 * executed : executed;
}

double replayed(const Op& op, const ProgramSet& programs, AttentionFlops convention) {
    const bool counts = op.kind == OpKind::Compute && op.category == Category::Recompute;
    return counts ? counted(programs.kernels[op.work], convention) : 0;
}

}  // namespace

Flops model_flops(const Job& job, const WorkloadTrace& trace) {
    const double a = job.attention_flops == AttentionFlops::Full ? 1.0 : 0.5;
    const auto s = static_cast<double>(trace.sequence);
    const double tokens = static_cast<double>(job.batch.global) * s;
    return Flops(tokens * (6 * static_cast<double>(trace.matmul_parameters) +
                           12 * static_cast<double>(trace.attention_flops_factor) * s * a));
}

Flops recomputed_flops(const Job& job, const ProgramSet& programs) {
    std::vector<double> segments;
    segments.reserve(programs.segments.size());
    for (const Segment& segment : programs.segments) {
        double sum = 0;
        for (const Op& op : segment.ops) {
            sum += replayed(op, programs, job.attention_flops);
        }
        segments.push_back(sum);
    }
    double total = 0;
    for (const Program& program : programs.programs) {
        for (const Item& item : program.items) {
            total += item.kind == Item::Kind::Segment
                         ? segments[item.index]
                         : replayed(programs.ops[item.index], programs, job.attention_flops);
        }
    }
    const double ranks_per_program = static_cast<double>(job.degrees.world()) / job.degrees.pp;
    return Flops(total * ranks_per_program);
}

}  // namespace memwall
