#include "sim/calibration/parts.h"

#include <algorithm>
#include <numeric>

#include "sim/analyze/parallel_for.h"

namespace memwall {
namespace {

// Rows x constants: 1 where the row feels the constant.
std::vector<char> felt_by(Experiment& experiment, const Reach& reach, unsigned threads) {
    const std::size_t n = reach.start.size();
    std::vector<char> felt(experiment.rows.size() * n, experiment.costly ? 1 : 0);
    if (experiment.costly) {
        return felt;
    }
    parallel_for(experiment.rows.size(), threads, [&](std::size_t i, unsigned worker) {
        std::vector<double> values = reach.start;
        const double before = experiment.seconds(i, values, worker);
        for (std::size_t c = 0; c < n; ++c) {
            for (const double end : {reach.least[c], reach.most[c]}) {
                values[c] = end;
                if (experiment.seconds(i, values, worker) != before) {
                    felt[i * n + c] = 1;
                }
            }
            values[c] = reach.start[c];
        }
    });
    return felt;
}

}  // namespace

std::vector<Part> parts_of(Experiment& experiment, const Reach& reach, unsigned threads) {
    const std::size_t n = reach.start.size();
    const std::vector<char> felt = felt_by(experiment, reach, threads);
    // Constants that share a row get the lower of their two groups.
    std::vector<std::size_t> group(n);
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (std::size_t i = 0; i < experiment.rows.size(); ++i) {
        std::size_t first = n;
        for (std::size_t c = 0; c < n; ++c) {
            if (felt[i * n + c] == 0) {
                continue;
            }
            first = std::min(first, c);
            const auto [low, high] = std::minmax({group[first], group[c]});
            std::replace(group.begin(), group.end(), high, low);
        }
    }
    std::vector<Part> parts(n);
    for (std::size_t c = 0; c < n; ++c) {
        parts[group[c]].constants.push_back(c);
    }
    for (std::size_t i = 0; i < experiment.rows.size(); ++i) {
        const auto begin = felt.begin() + static_cast<std::ptrdiff_t>(i * n);
        const auto first = std::find(begin, begin + static_cast<std::ptrdiff_t>(n), 1);
        if (const auto c = static_cast<std::size_t>(first - begin); c < n) {
            parts[group[c]].rows.push_back(i);
        }
    }
    std::erase_if(parts, [](const Part& part) { return part.rows.empty(); });
    return parts;
}

}  // namespace memwall
