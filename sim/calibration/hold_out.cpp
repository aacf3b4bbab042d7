#include "sim/calibration/hold_out.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/hash.h"
#include "sim/core/rng.h"

namespace memwall {

std::vector<std::size_t> draw_held_out(const std::vector<std::size_t>& rows,
                                       const std::vector<Measurement>& measured,
                                       double share,
                                       std::uint64_t seed) {
    std::vector<std::pair<std::uint64_t, std::size_t>> draws;
    for (const std::size_t row : rows) {
        const std::uint64_t subject =
            Hasher().add("hold-out").add(std::uint64_t{measured[row].table}).value();
        draws.emplace_back(draw({seed, subject, measured[row].row}), row);
    }
    std::sort(draws.begin(), draws.end());
    draws.resize(static_cast<std::size_t>(std::llround(share * static_cast<double>(draws.size()))));
    std::vector<std::size_t> out;
    for (const auto& [number, row] : draws) {
        out.push_back(row);
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace memwall
