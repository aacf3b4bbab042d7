#pragma once
// The split of the step: every instant of every rank under one label, summing to the step in integer picoseconds.
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/run/result.h"

namespace memwall {

struct BreakdownLine {
    std::string label;   // "compute", "exposed tp", "bubble", ...
    Duration mean{};     // over ranks, weighted by multiplicity; the lines sum to the step exactly
    Duration busiest{};  // of the rank class with the most compute
    double share = 0;    // mean / step
};

// All labels in glossary order, zero ones included. The mean is rounded down and the remaining picoseconds go to the
// labels with the largest remainders, so that the column sums to the step.
[[nodiscard]] std::vector<BreakdownLine> breakdown_lines(const std::vector<RankClass>& classes,
                                                         Duration step);

// Index of the class with the most compute, recompute and optimizer time together.
[[nodiscard]] std::size_t busiest_class(const std::vector<RankClass>& classes);

// The mean of one figure over ranks, rounded down.
[[nodiscard]] Duration mean_over_ranks(const std::vector<RankClass>& classes,
                                       Duration (*figure)(const RankClass&));

// "tp", "pp", "dp", ..., "fsdp gather", "fsdp reduce", "offload copy".
[[nodiscard]] std::string_view communication_name(Category category);

}  // namespace memwall
