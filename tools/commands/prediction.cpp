#include "tools/commands/prediction.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/hardware/kernel_time.h"
#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "sim/spec/supported.h"

namespace memwall::cli {
namespace {

// What the card cannot do, each once, in order of first use.
std::vector<std::string> missing_on_gpu(const Gpu& gpu, const ProgramSet& programs) {
    std::vector<std::string> missing;
    for (const Kernel& kernel : programs.kernels) {
        const std::string what = unsupported(gpu, kernel);
        if (!what.empty() && std::find(missing.begin(), missing.end(), what) == missing.end()) {
            missing.push_back(what);
        }
    }
    return missing;
}

}  // namespace

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

std::unique_ptr<Prediction> predict(Session& session, Loaded loaded, SimulateOptions options) {
    auto prediction = std::make_unique<Prediction>(std::move(loaded));
    Prediction& p = *prediction;
    const Plan& plan = p.loaded.plan;
    Diagnostics diagnostics;
    check_supported(plan, p.loaded.composed, diagnostics);
    session.complain(diagnostics);
    if (diagnostics.has_errors()) {
        return nullptr;
    }
    for (std::size_t job = 0; job < plan.jobs.size(); ++job) {
        const auto missing =
            missing_on_gpu(plan.machine.cluster.node.gpu, programs_of(p.loaded, job));
        if (!missing.empty()) {
            session.refuse(fmt::format("{}", fmt::join(missing, "; ")),
                           "another card, training.precision, or "
                           "workload.with: attention: unfused; an attention law can be added to "
                           "the card's file in topologies/gpus");
            return nullptr;
        }
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
