#pragma once
// Constants and rows that hang together: fitted together, apart from all others.
#include <cstddef>
#include <vector>

#include "sim/calibration/experiment.h"

namespace memwall {

// Where the constants chosen start and how far they may go.
struct Reach {
    std::vector<double> start;
    std::vector<double> least;
    std::vector<double> most;
};

struct Part {
    std::vector<std::size_t> constants;  // positions in Experiment::chosen
    std::vector<std::size_t> rows;       // that feel any of them
};

// A row feels a constant when its time changes at either end of the reach: limits that do not bind at the start do bind
// there. Costly rows are taken to feel all. Parts go by their first constant; what no row feels is in none.
[[nodiscard]] std::vector<Part> parts_of(Experiment& experiment,
                                         const Reach& reach,
                                         unsigned threads);

}  // namespace memwall
