#pragma once
// On which streams a collective is called, as far as that decides what can overlap: a group has one transfer at a time on
// each stream. A call of the tp group on another stream counts as one of the tp stream when the programs keep it apart from
// all calls there: it waits for the last compute op before it, no tp op is open then, and a compute op waits for it before
// the next tp op is issued. Gradient reductions of sequence parallelism at the end of a step are such calls.
#include <cstdint>
#include <vector>

#include "sim/parallel/program.h"

namespace memwall {

// Bits by stream, for each of ProgramSet::collectives.
[[nodiscard]] std::vector<std::uint16_t> call_streams(const ProgramSet& set);

// By collective of the set: whether the program calls it.
[[nodiscard]] std::vector<bool> calls_made(const ProgramSet& set, const Program& program);

}  // namespace memwall
