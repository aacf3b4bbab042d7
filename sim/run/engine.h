#pragma once
// The discrete-event engine. See engine.cpp for the loop.
#include <vector>

#include "sim/run/bound.h"
#include "sim/run/result.h"

namespace memwall {

struct EngineOptions {
    std::vector<std::uint32_t> timeline;  // of Bound::ranks
};

// An op of the timeline with its place in the program, before it gets its label.
struct PlayedOp {
    std::uint32_t rank = 0;  // of Bound::ranks
    std::uint32_t node = 0;  // of its program
    std::uint16_t op = 0;    // of the node's piece
    Ps issued = 0;           // by the host
    Ps start = 0;
    Ps end = 0;
};

struct Played {
    std::vector<Time> step_ends;     // of the first job
    std::vector<RankClass> ranks;    // of the first job, one for each of Bound::ranks
    std::vector<double> link_bytes;  // by link of Bound, in the measured step, all jobs
    std::vector<PlayedOp> timeline;
    std::vector<BlockedRank> deadlock;
    std::uint64_t events = 0;
    std::uint64_t ops = 0;
};

// The first job is measured in its last step; other jobs repeat their step until it has ended.
[[nodiscard]] Played play(Bound& bound, const EngineOptions& options = {});

}  // namespace memwall
