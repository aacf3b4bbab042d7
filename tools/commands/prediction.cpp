#include "tools/commands/prediction.h"

#include <algorithm>

#include <fmt/format.h>

namespace memwall::cli {

Prediction predict(Loaded loaded, const SimulateOptions& options) {
    Prediction p;
    p.loaded = std::move(loaded);
    p.fabric = std::make_unique<Fabric>(p.loaded.plan.machine);
    p.result = simulate(p.loaded.plan, options, &p.parts);
    return p;
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
