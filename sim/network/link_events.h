#pragma once
// Links that carry less than they should: the events of a machine against the links that it has.
#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"
#include "sim/spec/plan.h"

namespace memwall {

// E0405 for an event on a link that is not there or has no known rate, or on one link twice; W0405 where the fidelity has
// no links. True when there is no error. The machine must be sound otherwise (resolve()). `composed`: the scenario.
bool check_link_events(const Machine& machine, const DocNode& composed, Diagnostics& diagnostics);

}  // namespace memwall
