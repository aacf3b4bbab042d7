#pragma once
// Model and hardware FLOPs of one step (glossary.md): what MFU and HFU divide.
#include "sim/core/units.h"
#include "sim/model/trace.h"
#include "sim/parallel/program.h"
#include "sim/spec/plan.h"

namespace memwall {

// F_model = B s (6 P_matmul + 12 A s a), A: sum over layers of heads x head_dim, a = 1 or 1/2.
[[nodiscard]] Flops model_flops(const Job& job, const WorkloadTrace& trace);

// Forward products that all ranks together execute again for backward, attention counted with the same a.
[[nodiscard]] Flops recomputed_flops(const Job& job, const ProgramSet& programs);

}  // namespace memwall
