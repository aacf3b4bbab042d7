#pragma once
// Finds the rounds of programs. What the engine does with them is in engine_rounds.cpp.
#include <vector>

#include "sim/run/code.h"

namespace memwall {

// By program of a code with one job. A round has the same micro-batches in all programs. Empty when some program has none,
// or when there are several jobs.
[[nodiscard]] std::vector<Rounds> find_rounds(const Code& code);

}  // namespace memwall
