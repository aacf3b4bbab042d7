#pragma once
// Which rows are kept aside.
#include <cstdint>
#include <vector>

#include "sim/calibration/experiment.h"

namespace memwall {

// Of `rows`, indices into `measured`, those with the smallest draws, as many as `share` of them to the nearest. A row's draw
// depends on the seed, its table's number and its own, so that it is the same whatever else is fitted. In order.
[[nodiscard]] std::vector<std::size_t> draw_held_out(const std::vector<std::size_t>& rows,
                                                     const std::vector<Measurement>& measured,
                                                     double share,
                                                     std::uint64_t seed);

}  // namespace memwall
