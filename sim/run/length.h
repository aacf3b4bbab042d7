#pragma once
// How long a run is before it is played, to the order of magnitude: the ops of a stage one after the other, without
// contention, times the steps. Enough to refuse what the clock cannot count (64 bits of picoseconds, 106 days).
#include <vector>

#include "sim/network/fabric.h"
#include "sim/parallel/program.h"
#include "sim/spec/plan.h"

namespace memwall {

// Seconds of one step of the slowest stage, by what takes them.
struct RoughLength {
    double kernels = 0;
    double collectives = 0;
    double messages = 0;
    double host = 0;
    [[nodiscard]] double sum() const { return kernels + collectives + messages + host; }
};

// call_seconds[stage][collective]: of one call, where it is made.
[[nodiscard]] RoughLength rough_length(const Fabric& fabric,
                                       const Plan& plan,
                                       const Job& job,
                                       const ProgramSet& programs,
                                       const std::vector<std::vector<double>>& call_seconds);

}  // namespace memwall
