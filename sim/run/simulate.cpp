#include "sim/run/simulate.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "sim/core/check.h"
#include "sim/core/hash.h"
#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "sim/run/bind.h"
#include "sim/run/engine.h"
#include "sim/run/fold.h"
#include "sim/run/memory_curve.h"

namespace memwall {
namespace {

template <class T>
const T* given(const std::vector<const T*>& all, std::size_t j) {
    return j < all.size() ? all[j] : nullptr;
}

void add_timeline(RunResult& result,
                  const Bound& bound,
                  const Played& played,
                  std::uint32_t rank,
                  std::uint32_t of) {
    const BoundRank& bound_rank = bound.ranks[of];
    const CodeProgram& program = bound.code.programs[bound_rank.program];
    const ProgramSet& set = *bound.code.jobs[program.job];
    std::vector<PlayedOp> ops;
    std::copy_if(played.timeline.begin(),
                 played.timeline.end(),
                 std::back_inserter(ops),
                 [&](const PlayedOp& op) { return op.rank == of; });
    std::sort(ops.begin(), ops.end(), [](const PlayedOp& a, const PlayedOp& b) {
        return std::tie(a.start, a.node, a.op) < std::tie(b.start, b.node, b.op);
    });
    for (const PlayedOp& op : ops) {
        const CodeNode& node = program.nodes[op.node];
        const CodeOp& code_op = bound.code.ops[bound.code.pieces[node.piece].ops_begin + op.op];
        const Item& item = set.programs[program.program].items[node.item];
        const Op& of_set = item.kind == Item::Kind::Segment
                               ? set.segments[item.index].ops[code_op.source]
                               : set.ops[item.index];
        result.timeline.push_back({.rank = rank,
                                   .kind = of_set.kind,
                                   .stream = of_set.stream,
                                   .category = of_set.category,
                                   .work = of_set.work,
                                   .label = of_set.label,
                                   .micro_batch = item.micro_batch,
                                   .chunk = item.chunk,
                                   .backward = item.backward,
                                   .host = of_set.host,
                                   .issued = Time(Duration(op.issued)),
                                   .start = Time(Duration(op.start)),
                                   .end = Time(Duration(op.end))});
    }
    result.timeline_ranks.push_back({rank, of});
    for (MemorySample sample : memory_samples(bound.code, bound_rank.program, ops)) {
        sample.rank = rank;
        result.memory_timeline.push_back(sample);
    }
}

std::uint64_t signature_of(const RunResult& result, const std::vector<std::uint32_t>& classes) {
    Hasher h;
    for (const Time end : result.step_ends) {
        h.add(end);
    }
    const auto add_rank = [&](const RankClass& c) {
        const Breakdown& b = c.breakdown;
        h.add(c.program)
            .add(b.compute)
            .add(b.recompute)
            .add(b.optimizer)
            .add(b.bubble)
            .add(b.imbalance)
            .add(b.host);
        for (const Duration d : b.exposed) {
            h.add(d);
        }
        h.add(b.idle).add(b.interference).add(c.communication).add(c.finished);
    };
    for (const std::uint32_t c : classes) {
        add_rank(result.classes[c]);
    }
    for (const MemoryPeak& peak : result.memory) {
        h.add(peak.allocated).add(peak.reserved).add(peak.device).add(peak.item);
    }
    return h.value();
}

}  // namespace

RunResult simulate(const Plan& plan, const SimulateOptions& options, SimulationParts* parts) {
    MW_CHECK(!plan.jobs.empty(), "a plan has at least one job");
    SimulationParts own;
    SimulationParts& all = parts != nullptr ? *parts : own;
    std::vector<const ProgramSet*> programs;
    all.traces.resize(plan.jobs.size());
    all.programs.resize(plan.jobs.size());
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
        const Job& job = plan.jobs[j];
        if (const ProgramSet* set = given(options.programs, j)) {
            all.programs[j] = *set;
            programs.push_back(&all.programs[j]);
            continue;
        }
        const WorkloadTrace* trace = given(options.traces, j);
        all.traces[j] =
            trace != nullptr ? *trace : build_trace(job.model, job.stack, trace_shape(job));
        all.programs[j] = lower(job, all.traces[j]);
        programs.push_back(&all.programs[j]);
    }

    RunResult result;
    const Fabric fabric(plan.machine);
    auto bound = bind_plan(plan, fabric, programs, plan.run.coalesce);
    if (!bound) {
        result.refused = bound.error();
        return result;
    }
    const Job& job = plan.jobs.front();
    const auto world = static_cast<std::uint32_t>(job.degrees.world());
    Folded folded = plan.run.fold ? fold(std::move(*bound)) : unfolded(std::move(*bound));
    Bound& run = folded.bound;
    folded.class_of.resize(world);  // of the first job

    EngineOptions engine;
    for (const std::uint32_t rank : options.timeline_ranks) {
        if (rank < world) {
            engine.timeline.push_back(folded.class_of[rank]);
        }
    }
    Played played = play(run, engine);
    result.step_ends = std::move(played.step_ends);
    result.classes = std::move(played.ranks);
    result.deadlock = std::move(played.deadlock);
    result.ranks = world;
    result.events = played.events;
    result.ops = played.ops;
    for (const std::uint32_t rank : options.timeline_ranks) {
        if (rank < world) {
            add_timeline(result, run, played, rank, folded.class_of[rank]);
        }
    }
    result.memory =
        memory_peaks(*programs.front(), job, plan.machine.cluster.node.gpu.usable.value);
    if (!result.deadlock.empty()) {
        return result;
    }
    const std::size_t steps = result.step_ends.size();
    const Duration step =
        result.step_ends.back() - (steps > 1 ? result.step_ends[steps - 2] : Time{});
    for (std::uint32_t l = 0; l < run.links.size(); ++l) {
        if (played.link_bytes[l] > 0) {
            const double rate = run.links[l].capacity * to_seconds(step);
            result.links.push_back({run.links[l].representative,
                                    run.links[l].multiplicity,
                                    played.link_bytes[l],
                                    rate > 0 ? played.link_bytes[l] / rate : 0});
        }
    }
    result.signature = signature_of(result, folded.class_of);
    return result;
}

}  // namespace memwall
