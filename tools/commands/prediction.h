#pragma once
// A scenario simulated and measured: what run and explain share.
#include <memory>

#include "sim/analyze/metrics.h"
#include "sim/run/simulate.h"
#include "tools/cli/session.h"

namespace memwall::cli {

struct Prediction {
    Loaded loaded;
    std::unique_ptr<Fabric> fabric;
    SimulationParts parts;
    RunResult result;

    [[nodiscard]] RunFacts facts() const {
        return {loaded.plan, parts.traces.front(), parts.programs.front(), *fabric, result};
    }
};

[[nodiscard]] Prediction predict(Loaded loaded, const SimulateOptions& options = {});

// Why programs cannot finish, one line for each blocked rank (the first 20).
[[nodiscard]] std::string deadlock_text(const RunResult& result);

}  // namespace memwall::cli
