#pragma once
// What a legal plan may ask for that this release does not simulate. The one place to look for such limits.
#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"
#include "sim/spec/plan.h"

namespace memwall {

// Adds E0390 for each feature that is not simulated, E0401 for constants that the GPU file lacks. True when there is none.
bool check_supported(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics);

}  // namespace memwall
