#pragma once
// Memory of a rank over a step. Allocated bytes move in issue order of the host, as in PyTorch's allocator, so the peak is a
// function of the program alone (design.md section 9). The second, steady step is reported: buffers that a step leaves behind
// are live in it.
#include <span>
#include <vector>

#include "sim/run/engine.h"
#include "sim/run/result.h"
#include "sim/spec/plan.h"

namespace memwall {

// By program of the set.
[[nodiscard]] std::vector<MemoryPeak> memory_peaks(const ProgramSet& set,
                                                   const Job& job,
                                                   std::int64_t capacity);

// Live bytes at the start of each op of the timeline that moves memory, for one rank. ops: of that rank, any order; a node is
// a place in `code`.
[[nodiscard]] std::vector<MemorySample> memory_samples(const Code& code,
                                                       std::uint32_t program,
                                                       std::span<const PlayedOp> ops);

}  // namespace memwall
