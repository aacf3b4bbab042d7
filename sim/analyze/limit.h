#pragma once
// What limits the step, in one sentence.
#include <string>

#include "sim/analyze/metrics.h"

namespace memwall {

[[nodiscard]] std::string limit_sentence(const RunFacts& facts, const Metrics& metrics);

}  // namespace memwall
