#include "sim/analyze/limit.h"

#include <algorithm>

#include <fmt/format.h>

namespace memwall {
namespace {

const BreakdownLine* largest_loss(const Metrics& metrics) {
    const BreakdownLine* most = nullptr;
    for (const BreakdownLine& line : metrics.breakdown) {
        const bool useful =
            line.label == "compute" || line.label == "recompute" || line.label == "optimizer";
        if (!useful && line.mean.count() > 0 && (most == nullptr || line.mean > most->mean)) {
            most = &line;
        }
    }
    return most;
}

double share_of(const Metrics& metrics, std::string_view label) {
    const auto line = std::find_if(metrics.breakdown.begin(),
                                   metrics.breakdown.end(),
                                   [&](const BreakdownLine& l) { return l.label == label; });
    return line == metrics.breakdown.end() ? 0 : line->share;
}

std::string loss_text(const RunFacts& facts, const Metrics& metrics) {
    const BreakdownLine* loss = largest_loss(metrics);
    if (loss == nullptr) {
        return "nothing else takes time";
    }
    std::string text =
        fmt::format("the largest loss is {} with {:.1f} %", loss->label, 100 * loss->share);
    if (loss->label == "bubble") {
        const Job& job = facts.plan.jobs.front();
        text += fmt::format(" (pp {}, vpp {}, {} micro-batches)",
                            job.degrees.pp,
                            job.degrees.vpp,
                            job.micro_batches);
    }
    return text;
}

}  // namespace

std::string limit_sentence(const RunFacts& facts, const Metrics& metrics) {
    if (!metrics.fit.fits) {
        return fmt::format("limited by memory capacity: {} tips stage {}",
                           metrics.fit.tensor_class,
                           metrics.fit.stage);
    }
    const double kernels = share_of(metrics, "compute") + share_of(metrics, "recompute") +
                           share_of(metrics, "optimizer");
    const BreakdownLine* loss = largest_loss(metrics);
    if (loss == nullptr || kernels >= loss->share) {
        const double recompute = share_of(metrics, "recompute");
        const std::string replay =
            recompute > 0 ? fmt::format(" ({:.1f} % recomputation)", 100 * recompute) : "";
        return fmt::format("limited by compute on {}: kernels run {:.1f} % of the step{}; {}",
                           facts.plan.machine.cluster.node.gpu.name,
                           100 * kernels,
                           replay,
                           loss_text(facts, metrics));
    }
    return fmt::format("limited by {}: {:.1f} % of the step, kernels run {:.1f} %",
                       loss->label,
                       100 * loss->share,
                       100 * kernels);
}

}  // namespace memwall
