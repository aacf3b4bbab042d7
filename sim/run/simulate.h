#pragma once
// From a plan to the facts of its run: fabric, workload trace, programs, bind, fold, engine, memory (design.md section 3).
// The pieces can be called apart: bind.h, fold.h, engine.h, memory_curve.h.
#include <cstdint>
#include <vector>

#include "sim/model/trace.h"
#include "sim/network/fabric.h"
#include "sim/parallel/program.h"
#include "sim/run/result.h"
#include "sim/spec/plan.h"

namespace memwall {

struct SimulateOptions {
    // Ranks whose ops go into RunResult::timeline (measured step); empty = none. Folded runs record the class of the rank.
    std::vector<std::uint32_t> timeline_ranks;
    // Traces that were read from a file, by job; nullptr or absent = built from the job's model.
    std::vector<const WorkloadTrace*> traces;
    // Programs that were read from a file (executed traces), by job; nullptr or absent = lowered from the trace.
    std::vector<const ProgramSet*> programs;
};

// What the run was made of, for reports: labels and tensors of the timeline and the peaks, flops of the kernels.
struct SimulationParts {
    std::vector<WorkloadTrace> traces;  // per job; empty trace where the programs were given
    std::vector<ProgramSet> programs;   // per job
};

// Always returns: programs that cannot finish give RunResult::deadlock. The plan must come from resolve().
// parts: filled when not null.
[[nodiscard]] RunResult simulate(const Plan& plan,
                                 const SimulateOptions& options = {},
                                 SimulationParts* parts = nullptr);

}  // namespace memwall
