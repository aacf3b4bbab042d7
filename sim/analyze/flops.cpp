#include "sim/analyze/flops.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/hardware/rates.h"

namespace memwall {
namespace {

// A causal or windowed attention kernel executes a part of the square that the `full` convention counts.
double counted(const Kernel& kernel, AttentionFlops convention) {
    if (const auto* attention = std::get_if<Attention>(&kernel);
        attention != nullptr && convention == AttentionFlops::Full) {
        Attention square = *attention;
        square.causal = false;
        square.window = 0;
        return flops_of(square).value;
    }
    return flops_of(kernel).value;
}

// Sum over the kernels that one rank of each stage runs in a step.
template <class F>
std::vector<double> sum_per_stage(const ProgramSet& programs, F of_kernel) {
    const auto of_op = [&](const Op& op) {
        return op.kind == OpKind::Compute ? of_kernel(op, programs.kernels[op.work]) : 0.0;
    };
    std::vector<double> segments;
    segments.reserve(programs.segments.size());
    for (const Segment& segment : programs.segments) {
        double sum = 0;
        for (const Op& op : segment.ops) {
            sum += of_op(op);
        }
        segments.push_back(sum);
    }
    std::vector<double> sums;
    for (const Program& program : programs.programs) {
        double sum = 0;
        for (const Item& item : program.items) {
            sum += item.kind == Item::Kind::Segment ? segments[item.index]
                                                    : of_op(programs.ops[item.index]);
        }
        sums.push_back(sum);
    }
    return sums;
}

Flops over_all_ranks(const Job& job, const std::vector<double>& per_stage) {
    const double ranks_per_stage = static_cast<double>(job.degrees.world()) / job.degrees.pp;
    return Flops(std::accumulate(per_stage.begin(), per_stage.end(), 0.0) * ranks_per_stage);
}

double at_fastest(const Gpu& gpu, Dtype dtype, Flops flops) {
    const FlopRate rate = fastest_rate(gpu, dtype);
    return rate.value > 0 ? flops.value / rate.value : 0;
}

}  // namespace

double counted_attention(AttentionFlops convention, const WorkloadTrace& trace) {
    switch (convention) {
    case AttentionFlops::Full:
        return 1;
    case AttentionFlops::Causal:
        break;
    }
    if (trace.window <= 0 || trace.window >= trace.sequence) {
        return 0.5;
    }
    const double share = static_cast<double>(trace.window) / static_cast<double>(trace.sequence);
    return share * (1 - share / 2);
}

Flops model_flops(const Job& job, const WorkloadTrace& trace) {
    const double a = counted_attention(job.attention_flops, trace);
    const auto s = static_cast<double>(trace.sequence);
    const double tokens = static_cast<double>(job.batch.global) * s;
    return Flops(tokens * (6 * static_cast<double>(trace.matmul_parameters) +
                           12 * static_cast<double>(trace.attention_flops_factor) * s * a));
}

Flops recomputed_flops(const Job& job, const ProgramSet& programs) {
    return over_all_ranks(
        job, sum_per_stage(programs, [&](const Op& op, const Kernel& kernel) {
            return op.category == Category::Recompute ? counted(kernel, job.attention_flops) : 0.0;
        }));
}

Flops executed_flops(const Job& job, const ProgramSet& programs) {
    return over_all_ranks(job, sum_per_stage(programs, [](const Op&, const Kernel& kernel) {
                              return flops_of(kernel).value;
                          }));
}

FlopRate fastest_rate(const Gpu& gpu, Dtype dtype) {
    const auto peak = gpu.peak.find(dtype);
    if (peak == gpu.peak.end()) {
        return FlopRate(0);
    }
    double rate = peak->second.value;
    if (const auto gemm = gemm_rates(gpu, dtype)) {
        const GemmRoleFactors& roles = gpu.gemm_roles;
        rate = std::max(rate,
                        gemm->rates.burst.value /
                            std::min({roles.forward, roles.input_gradient, roles.weight_gradient}));
    }
    for (const auto* table : {&gpu.attention_forward,
                              &gpu.attention_backward,
                              &gpu.flash2_forward,
                              &gpu.flash2_backward}) {
        for (const auto& [format, rates] : *table) {
            rate = std::max(rate, rates.matrix.value);
        }
    }
    return FlopRate(rate);
}

double seconds_at_fastest_rate(const Gpu& gpu, const ProgramSet& programs) {
    const std::vector<double> seconds =
        sum_per_stage(programs, [&](const Op&, const Kernel& kernel) {
            if (const auto* gemm = std::get_if<Gemm>(&kernel)) {
                return at_fastest(gpu, gemm->dtype, flops_of(kernel));
            }
            const auto* attention = std::get_if<Attention>(&kernel);
            return attention == nullptr ? 0.0 : at_fastest(gpu, attention->dtype, flops_of(kernel));
        });
    return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace memwall
