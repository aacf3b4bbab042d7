#include "sim/analyze/self_checks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/analyze/flops.h"
#include "sim/core/quantity.h"

namespace memwall {
namespace {

SelfCheck split_sums_to_step(const RunFacts& facts, const Metrics& metrics) {
    for (const RankClass& c : facts.result.classes) {
        if (c.breakdown.sum() != metrics.step_time) {
            return {"the split of the step sums to the step",
                    false,
                    fmt::format("rank {}: {} ps of {} ps",
                                c.representative,
                                c.breakdown.sum().count(),
                                metrics.step_time.count())};
        }
    }
    return {
        "the split of the step sums to the step",
        true,
        fmt::format("{} ps on each of {} ranks", metrics.step_time.count(), facts.result.ranks)};
}

SelfCheck no_link_above_capacity(const RunFacts& facts) {
    double most = 0;
    std::uint32_t link = 0;
    for (const LinkLoad& load : facts.result.links) {
        if (load.utilisation > most) {
            most = load.utilisation;
            link = load.link;
        }
    }
    // Bytes are sums of rate x time in doubles: one part in 10^9 is rounding.
    const std::string detail =
        most == 0 ? std::string("no link carried anything")
                  : fmt::format(
                        "fullest {} at {:.1f} %", facts.fabric.link_name(LinkId(link)), 100 * most);
    return {"no link above 100 %", most <= 1 + 1e-9, detail};
}

// What leaves through network cards enters through network cards.
SelfCheck bytes_conserved(const RunFacts& facts) {
    double out = 0;
    double in = 0;
    for (const LinkLoad& load : facts.result.links) {
        const Link& link = facts.fabric.links()[load.link];
        const double bytes = load.bytes * static_cast<double>(load.multiplicity);
        if (link.tier == LinkTier::Nic) {
            (facts.fabric.leaves_node(LinkId(load.link)) ? out : in) += bytes;
        }
    }
    const double scale = std::max({out, in, 1.0});
    return {"bytes out of the nodes = bytes into the nodes",
            std::fabs(out - in) <= 1e-6 * scale,
            fmt::format("{:.6g} GB out, {:.6g} GB in", out / 1e9, in / 1e9)};
}

SelfCheck memory_back_to_base(const RunFacts& facts) {
    for (std::size_t stage = 0; stage < facts.result.memory.size(); ++stage) {
        const MemoryPeak& peak = facts.result.memory[stage];
        if (peak.left_over != 0) {
            return {"memory is back to its base after the step",
                    false,
                    fmt::format("stage {} keeps {} B", stage, peak.left_over)};
        }
    }
    return {"memory is back to its base after the step",
            true,
            fmt::format("on all {} stages", facts.result.memory.size())};
}

SelfCheck not_below_lower_bounds(const RunFacts& facts, const Metrics& metrics) {
    const Gpu& gpu = facts.plan.machine.cluster.node.gpu;
    const FlopRate fastest = fastest_rate(gpu, facts.plan.jobs.front().training.precision.compute);
    // An executed workload has no FLOPs.
    const double compute_bound =
        metrics.executed ? 0 : seconds_at_fastest_rate(gpu, facts.programs);
    Duration kernels{};
    for (const RankClass& c : facts.result.classes) {
        kernels =
            std::max(kernels, c.breakdown.compute + c.breakdown.recompute + c.breakdown.optimizer);
    }
    const double bound = std::max(compute_bound, to_seconds(kernels));
    return {"the step is not below its lower bounds",
            to_seconds(metrics.step_time) >= bound,
            (metrics.executed
                 ? ""
                 : fmt::format(
                       "{:.4g} s of executed FLOPs at the most that a kernel of {} reaches ({}), ",
                       compute_bound,
                       gpu.name,
                       human(fastest))) +
                fmt::format("{:.4g} s of kernels on the busiest rank", to_seconds(kernels))};
}

}  // namespace

std::vector<SelfCheck> self_checks(const RunFacts& facts, const Metrics& metrics) {
    std::vector<SelfCheck> checks = {
        split_sums_to_step(facts, metrics), no_link_above_capacity(facts), bytes_conserved(facts)};
    if (!metrics.executed) {
        checks.push_back(memory_back_to_base(facts));
    }
    checks.push_back(not_below_lower_bounds(facts, metrics));
    return checks;
}

}  // namespace memwall
