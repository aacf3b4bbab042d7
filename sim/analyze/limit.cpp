#include "sim/analyze/limit.h"

#include <algorithm>

#include <fmt/format.h>

namespace memwall {
namespace {

// What the step is lost to: all exposed communication together, then the other labels.
struct Loss {
    std::string text;
    double share = 0;
};

const BreakdownLine* largest_exposed(const Metrics& metrics) {
    const BreakdownLine* most = nullptr;
    for (const BreakdownLine& line : metrics.breakdown) {
        if (line.label.starts_with("exposed ") && (most == nullptr || line.mean > most->mean)) {
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

Loss communication(const Metrics& metrics) {
    double share = 0;
    for (const BreakdownLine& line : metrics.breakdown) {
        share += line.label.starts_with("exposed ") ? line.share : 0;
    }
    const BreakdownLine* most = largest_exposed(metrics);
    const std::string of_it =
        most == nullptr || most->share == share
            ? ""
            : fmt::format(
                  ", most of it {} with {:.1f} %", most->label.substr(8), 100 * most->share);
    return {fmt::format("exposed communication ({:.1f} %{})", 100 * share, of_it), share};
}

Loss largest_loss(const RunFacts& facts, const Metrics& metrics) {
    Loss most = communication(metrics);
    for (const std::string_view label : {"bubble", "imbalance", "host", "idle"}) {
        const double share = share_of(metrics, label);
        if (share > most.share) {
            most = {fmt::format("{} ({:.1f} %)", label, 100 * share), share};
        }
    }
    if (most.text.starts_with("bubble")) {
        const Job& job = facts.plan.jobs.front();
        most.text += fmt::format(" of pp {}, vpp {}, {} micro-batches",
                                 job.degrees.pp,
                                 job.degrees.vpp,
                                 job.micro_batches);
    }
    return most;
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
    const Loss loss = largest_loss(facts, metrics);
    if (loss.share > kernels) {
        return fmt::format(
            "limited by {}; kernels run {:.1f} % of the step", loss.text, 100 * kernels);
    }
    const double recompute = share_of(metrics, "recompute");
    const std::string replay =
        recompute > 0 ? fmt::format(" ({:.1f} % recomputation)", 100 * recompute) : "";
    const std::string rest =
        loss.share > 0 ? "the largest loss is " + loss.text : "nothing else takes time";
    return fmt::format("limited by compute on {}: kernels run {:.1f} % of the step{}; {}",
                       facts.plan.machine.cluster.node.gpu.name,
                       100 * kernels,
                       replay,
                       rest);
}

}  // namespace memwall
