#include "sim/analyze/beyond_peak.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/spec/legality.h"
#include "sim/spec/names.h"

namespace memwall {

void warn_beyond_peak(const Plan& plan,
                      const Metrics& metrics,
                      const DocNode& composed,
                      Diagnostics& diagnostics) {
    if (metrics.executed || std::max({metrics.mfu, metrics.hfu, metrics.hfu_executed}) <= 1) {
        return;
    }
    const Job& job = plan.jobs.front();
    const std::string peak =
        fmt::format("machine.cluster.node.gpu.peak.{}", name_of(job.training.precision.compute));
    if (metrics.hfu_executed > 1) {
        diagnostics
            .warning("W0408",
                     place_at(composed, peak),
                     fmt::format("kernels execute {:.0f} % of the peak of {}",
                                 100 * metrics.hfu_executed,
                                 human(metrics.peak)))
            .hint =
            "look at gemm.*.burst and gemm_roles of the gpu, rates of the stack, or durations "
            "of the trace";
        return;
    }
    const bool full = job.attention_flops == AttentionFlops::Full;
    diagnostics
        .warning(
            "W0408",
            place_at(composed, peak),
            fmt::format("MFU {:.0f} %, HFU {:.0f} %, while kernels execute {:.0f} % of the peak",
                        100 * metrics.mfu,
                        100 * metrics.hfu,
                        100 * metrics.hfu_executed))
        .hint =
        full ? "`attention_flops: causal` counts the scores that a mask leaves"
             : "a trace that states more than its kernels execute: look at matmul_parameters "
               "and attention_flops_factor";
}

}  // namespace memwall
