#pragma once
// The timeline that a run writes beside its report: asked for by --trace-out, or by `run.trace` of the scenario.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/commands/prediction.h"

namespace memwall::cli {

struct TimelineRequest {
    std::string file;  // empty: none is wanted
    std::vector<std::uint32_t> ranks;
};

// nullopt after a complaint. --trace-out and --trace-ranks go before what the scenario says.
[[nodiscard]] std::optional<TimelineRequest> timeline_request(Session& session,
                                                              const Loaded& loaded);

// False after a complaint.
[[nodiscard]] bool write_timeline(Session& session,
                                  const TimelineRequest& request,
                                  const Prediction& prediction);

}  // namespace memwall::cli
