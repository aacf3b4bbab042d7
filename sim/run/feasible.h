#pragma once
// What the machine cannot do of what the programs ask, all of it and each at its place: kernels that the card has no law
// for, algorithms and fidelities that cannot serve a group, steps longer than the clock counts. spec::check_supported ran before; after this a run refuses nothing.
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/parallel/program.h"
#include "sim/spec/document.h"
#include "sim/spec/plan.h"

namespace memwall {

// `programs`: of each job. False after an error (E0336, E0401, E0407).
bool check_feasible(const Plan& plan,
                    const DocNode& composed,
                    const std::vector<const ProgramSet*>& programs,
                    Diagnostics& diagnostics);

}  // namespace memwall
