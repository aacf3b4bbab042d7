#include "tools/commands/prediction.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "sim/run/feasible.h"
#include "sim/spec/supported.h"

namespace memwall::cli {

WorkloadTrace trace_of(const Loaded& loaded, std::size_t job) {
    if (job < loaded.traces.size() && loaded.traces[job].has_value()) {
        return *loaded.traces[job];
    }
    const Job& of = loaded.plan.jobs.at(job);
    return build_trace(of.model, of.stack, trace_shape(of));
}

ProgramSet programs_of(const Loaded& loaded, std::size_t job) {
    if (job < loaded.executed.size() && loaded.executed[job].has_value()) {
        return loaded.executed[job]->programs;
    }
    return lower(loaded.plan.jobs.at(job), trace_of(loaded, job));
}

void check_runnable(const Loaded& loaded, Diagnostics& diagnostics) {
    if (!check_supported(loaded.plan, loaded.composed, diagnostics)) {
        return;
    }
    std::vector<ProgramSet> sets;
    for (std::size_t job = 0; job < loaded.plan.jobs.size(); ++job) {
        sets.push_back(programs_of(loaded, job));
    }
    std::vector<const ProgramSet*> programs;
    for (const ProgramSet& set : sets) {
        programs.push_back(&set);
    }
    check_feasible(loaded.plan, loaded.composed, programs, diagnostics);
}

std::unique_ptr<Prediction> predict(Session& session, Loaded loaded, SimulateOptions options) {
    auto prediction = std::make_unique<Prediction>(std::move(loaded));
    Prediction& p = *prediction;
    const Plan& plan = p.loaded.plan;
    Diagnostics diagnostics;
    check_runnable(p.loaded, diagnostics);
    session.complain(diagnostics);
    if (diagnostics.has_errors()) {
        return nullptr;
    }
    for (const auto& trace : p.loaded.traces) {
        options.traces.push_back(trace.has_value() ? &*trace : nullptr);
    }
    for (const auto& executed : p.loaded.executed) {
        options.programs.push_back(executed.has_value() ? &executed->programs : nullptr);
    }
    p.fabric = std::make_unique<Fabric>(plan.machine);
    p.result = simulate(plan, options, &p.parts);
    if (!p.result.refused.empty()) {
        session.refuse(p.result.refused);
        return nullptr;
    }
    return prediction;
}

std::string deadlock_text(const RunResult& result) {
    constexpr std::size_t kShown = 20;
    std::string text = fmt::format("deadlock: {} ranks cannot go on\n", result.deadlock.size());
    for (std::size_t i = 0; i < std::min(kShown, result.deadlock.size()); ++i) {
        const BlockedRank& blocked = result.deadlock[i];
        text += fmt::format(
            "  rank {} at {}: waits for {}\n", blocked.rank, blocked.op, blocked.waits_for);
    }
    return text;
}

}  // namespace memwall::cli
