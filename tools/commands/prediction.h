#pragma once
// A scenario simulated and measured: what run and explain share.
#include <memory>

#include "sim/analyze/metrics.h"
#include "sim/run/simulate.h"
#include "tools/cli/session.h"

namespace memwall::cli {

// Stays where it is made: the fabric refers to the machine.
struct Prediction {
    explicit Prediction(Loaded of) : loaded(std::move(of)) {}
    Prediction(const Prediction&) = delete;
    Prediction& operator=(const Prediction&) = delete;
    Prediction(Prediction&&) = delete;
    Prediction& operator=(Prediction&&) = delete;
    ~Prediction() = default;

    Loaded loaded;
    std::unique_ptr<Fabric> fabric;
    SimulationParts parts;
    RunResult result;

    [[nodiscard]] RunFacts facts() const {
        return {loaded.plan, parts.traces.front(), parts.programs.front(), *fabric, result};
    }
};

// The trace that stands in the scenario in place of a model, or the one that the model and the stack give.
[[nodiscard]] WorkloadTrace trace_of(const Loaded& loaded, std::size_t job = 0);

// What the ranks of a job run: read from the scenario's executed workload, or lowered from its trace.
[[nodiscard]] ProgramSet programs_of(const Loaded& loaded, std::size_t job = 0);

// All that a run of the scenario would refuse, at its place.
void check_runnable(const Loaded& loaded, Diagnostics& diagnostics);

// nullptr after a complaint: the GPU lacks what the work needs (a number format, an attention kernel), or a named algorithm
// cannot run.
[[nodiscard]] std::unique_ptr<Prediction> predict(Session& session,
                                                  Loaded loaded,
                                                  SimulateOptions options = {});

// Why programs cannot finish, one line for each blocked rank (the first 20).
[[nodiscard]] std::string deadlock_text(const RunResult& result);

}  // namespace memwall::cli
