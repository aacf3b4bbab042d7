#include "sim/analyze/explain_work.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "sim/analyze/breakdown.h"
#include "sim/collectives/transfer.h"
#include "sim/core/quantity.h"
#include "sim/hardware/kernel_time.h"
#include "sim/hardware/stack_rates.h"
#include "sim/parallel/describe.h"
#include "sim/run/bind.h"
#include "sim/run/skew.h"

namespace memwall {
namespace {

constexpr std::size_t kShown = 10;

// How often each kernel or collective runs in a step of one program, and an op that runs it.
struct Uses {
    std::vector<std::int64_t> count;
    std::vector<std::uint32_t> label;
};

Uses uses_of(const ProgramSet& set, const Program& program, OpKind kind, std::size_t works) {
    Uses uses;
    uses.count.resize(works);
    uses.label.resize(works);
    const auto add = [&](const Op& op) {
        if (op.kind == kind) {
            uses.label[op.work] = uses.count[op.work] == 0 ? op.label : uses.label[op.work];
            ++uses.count[op.work];
        }
    };
    for (const Item& item : program.items) {
        if (item.kind == Item::Kind::Op) {
            add(set.ops[item.index]);
        } else {
            const std::vector<Op>& ops = set.segments[item.index].ops;
            std::for_each(ops.begin(), ops.end(), add);
        }
    }
    return uses;
}

struct Cost {
    Duration all{};
    ExplainedInput line;
};

std::vector<ExplainedInput> largest(std::vector<Cost> costs) {
    std::stable_sort(
        costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.all > b.all; });
    std::vector<ExplainedInput> lines;
    for (std::size_t i = 0; i < std::min(kShown, costs.size()); ++i) {
        lines.push_back(std::move(costs[i].line));
    }
    if (costs.size() > kShown) {
        Duration rest{};
        for (std::size_t i = kShown; i < costs.size(); ++i) {
            rest += costs[i].all;
        }
        lines.push_back({fmt::format("{} more", costs.size() - kShown), "", human(rest)});
    }
    return lines;
}

std::string times(Duration one, std::int64_t count) {
    return fmt::format("{} x {}", human_count(count), human(one));
}

// The group of a role that a rank of this stage is in; ranks in order. Rank order: tp, cp, dp, pp, innermost first.
std::vector<std::uint32_t> group_of(const Job& job, GroupRole role, std::uint32_t rank) {
    const Degrees& d = job.degrees;
    const int data = d.dp * d.cp;
    const int per_stage = d.tp * data;
    const int world = per_stage * d.pp;
    const auto every = [&](int from, int n, int step) {
        std::vector<std::uint32_t> ranks;
        for (int i = 0; i < n; ++i) {
            ranks.push_back(static_cast<std::uint32_t>(from + i * step));
        }
        return ranks;
    };
    const auto r = static_cast<int>(rank);
    const int stage_begin = r / per_stage * per_stage;
    const int t = (r - stage_begin) % d.tp;
    const int at = (r - stage_begin) / d.tp;  // along dp x cp
    // The run of n along dp x cp that the rank is in.
    const auto run = [&](int n) { return every(stage_begin + t + at / n * n * d.tp, n, d.tp); };
    switch (role) {
    case GroupRole::Tp:
        return every(r - t, d.tp, 1);
    case GroupRole::Cp:
        return run(d.cp);
    case GroupRole::Dp:
        return run(data);
    case GroupRole::Shard:
        return run(std::max(1, d.shard));
    case GroupRole::Replicate:
        return every(stage_begin + t + at % std::max(1, d.shard) * d.tp,
                     data / std::max(1, d.shard),
                     d.tp * std::max(1, d.shard));
    case GroupRole::Ep:
        return run(std::max(1, d.ep));
    case GroupRole::Pp:
        return every(r % per_stage, d.pp, per_stage);
    case GroupRole::Embedding:
        return every(r % per_stage, d.pp > 1 ? 2 : 1, per_stage * (d.pp - 1));
    case GroupRole::World:
        return every(0, world, 1);
    }
    return {};
}

const RankClass& busiest(const RunFacts& facts) {
    return facts.result.classes.at(busiest_class(facts.result.classes));
}

// "all-reduce tp 48 MiB" of that group: which algorithm, how fast.
Cost collective_cost(const RunFacts& facts,
                     const CollectiveCall& call,
                     std::int64_t count,
                     std::uint32_t rank) {
    const Job& job = facts.plan.jobs.front();
    std::vector<DeviceId> devices;
    for (const std::uint32_t member : group_of(job, call.role, rank)) {
        devices.push_back(device_of(facts.plan, job, member));
    }
    const auto known = collective_time(facts.plan.machine, shape_of(facts.fabric, devices), call);
    Cost cost;
    if (!known || known->variant.algorithm == Algorithm::None) {
        return cost;  // a group of one
    }
    const CollectiveTime time =
        in_step(*known, facts.plan.machine, job.stack, static_cast<int>(devices.size()));
    Duration alone = time.alone;
    const std::vector<Usage> usage = usage_of(facts.fabric, devices, call.kind, time.variant);
    const double limit = link_limit(link_capacities(facts.fabric), usage);
    const bool links_limit = time.cap > 0 && limit < time.cap;
    if (links_limit) {
        alone = time.delay + duration_from_seconds(static_cast<double>(call.bytes.value) / limit);
    }
    cost.all = alone * count;
    cost.line.symbol = describe_collective(call);
    cost.line.value = times(alone, count);
    cost.line.meaning =
        fmt::format("{}{}{} over {} ranks, algbw {}",
                    name_of(time.variant.algorithm),
                    time.variant.protocol == Protocol::None ? "" : " ",
                    name_of(time.variant.protocol),
                    devices.size(),
                    human(Bandwidth(static_cast<double>(call.bytes.value) / to_seconds(alone))));
    cost.line.meaning += links_limit ? ", held down by a link" : "";
    return cost;
}

}  // namespace

std::vector<ExplainedInput> costly_kernels(const RunFacts& facts) {
    const ProgramSet& set = facts.programs;
    const Gpu gpu = as_used_by(facts.plan.machine.cluster.node.gpu, facts.plan.jobs.front().stack);
    const Uses uses =
        uses_of(set, set.programs.at(busiest(facts).program), OpKind::Compute, set.kernels.size());
    std::vector<Cost> costs;
    for (std::size_t k = 0; k < set.kernels.size(); ++k) {
        if (uses.count[k] == 0) {
            continue;
        }
        const KernelBreakdown time = kernel_time_explained(gpu, set.kernels[k]);
        const std::string reached =
            time.efficiency > 0
                ? fmt::format(", {} of the datasheet rate", human_percent(time.efficiency))
                : "";
        costs.push_back(
            {time.duration * uses.count[k],
             {set.labels.at(uses.label[k]),
              fmt::format("{}; limit {}{}", describe_kernel(set.kernels[k]), time.limit, reached),
              times(time.duration, uses.count[k])}});
    }
    return largest(std::move(costs));
}

std::vector<ExplainedInput> costly_collectives(const RunFacts& facts) {
    const ProgramSet& set = facts.programs;
    const RankClass& rank = busiest(facts);
    const Uses uses =
        uses_of(set, set.programs.at(rank.program), OpKind::Collective, set.collectives.size());
    std::vector<Cost> costs;
    for (std::size_t c = 0; c < set.collectives.size(); ++c) {
        if (uses.count[c] > 0) {
            Cost cost =
                collective_cost(facts, set.collectives[c], uses.count[c], rank.representative);
            if (cost.all.count() > 0) {
                costs.push_back(std::move(cost));
            }
        }
    }
    return largest(std::move(costs));
}

}  // namespace memwall
