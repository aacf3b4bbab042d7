#pragma once
// Which constants a result rests on, with where each comes from.
#include <vector>

#include "sim/io/report.h"
#include "sim/spec/compose.h"
#include "sim/spec/plan.h"

namespace memwall {

// The citations of the machine, the model and the stack of the first job, as the data files state them.
[[nodiscard]] std::vector<Assumption> assumptions(const Plan& plan, const Provenance& provenance);

}  // namespace memwall
