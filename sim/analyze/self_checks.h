#pragma once
// Checks that every run makes on itself: a result that breaks one is a bug of ours, and the report says so.
#include <vector>

#include "sim/analyze/metrics.h"

namespace memwall {

[[nodiscard]] std::vector<SelfCheck> self_checks(const RunFacts& facts, const Metrics& metrics);

}  // namespace memwall
