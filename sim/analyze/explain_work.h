#pragma once
// Which kernels and which collectives a rank spends its time in, for `memwall explain`.
#include <vector>

#include "sim/analyze/explanation.h"
#include "sim/analyze/metrics.h"

namespace memwall {

// Of the rank with the most compute, those that take longest in all; the time is that of one alone on the machine, times
// how often it runs in a step.
[[nodiscard]] std::vector<ExplainedInput> costly_kernels(const RunFacts& facts);
[[nodiscard]] std::vector<ExplainedInput> costly_collectives(const RunFacts& facts);

}  // namespace memwall
