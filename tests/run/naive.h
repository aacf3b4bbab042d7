#pragma once
// A second engine, written from the definition in program.h alone: every op of every rank with its list of predecessors,
// instants visited one by one, nothing compiled ahead. It shares with the engine under test only the network.
#include <vector>

#include "tests/run/synthetic.h"

namespace memwall::testing {

struct NaiveResult {
    std::vector<Ps> step_ends;
    std::vector<Ps>
        compute;  // by rank: kernels on the compute stream in the second step, counted from the end of the first
    std::vector<Ps> finished;  // by rank: its last op
    bool deadlock = false;
};

// bound: not folded; read for groups, transfers and peers, not for its code.
[[nodiscard]] NaiveResult play_naively(const SyntheticCase& c, Bound& bound);

}  // namespace memwall::testing
