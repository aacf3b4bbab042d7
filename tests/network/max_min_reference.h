#pragma once
// Max-min fairness from its definition, for tests: dense, slow, in long double, no integers, no increments.
//
// Rates rise together, rate_f = weight_f x t. A flow stops rising when its cap is reached or when a link it uses has no
// capacity left; the others go on (Bertsekas & Gallager, "Data Networks", 6.5.2). Each round finds by bisection-free
// arithmetic the next t at which something stops.
#include <cstddef>
#include <limits>
#include <vector>

namespace memwall::testing {

struct ReferenceFlow {
    std::vector<long double> coefficient;  // by link
    long double cap = 0;                   // 0 = none
    long double weight = 1;
};

inline std::vector<long double> max_min_reference(const std::vector<long double>& capacity,
                                                  const std::vector<ReferenceFlow>& flows) {
    constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
    std::vector<long double> rate(flows.size(), 0);
    std::vector<bool> rising(flows.size(), true);
    while (true) {
        // How far can t rise from here? Rates of rising flows are weight x t for the same t.
        long double step = kInfinity;
        bool any = false;
        for (std::size_t f = 0; f < flows.size(); ++f) {
            if (rising[f]) {
                any = true;
                if (flows[f].cap > 0) {
                    step = std::min(step, (flows[f].cap - rate[f]) / flows[f].weight);
                }
            }
        }
        std::vector<long double> slack(capacity.size(), kInfinity);
        for (std::size_t l = 0; l < capacity.size(); ++l) {
            long double used = 0;
            long double slope = 0;
            for (std::size_t f = 0; f < flows.size(); ++f) {
                used += flows[f].coefficient[l] * rate[f];
                slope += rising[f] ? flows[f].coefficient[l] * flows[f].weight : 0;
            }
            if (capacity[l] > 0 && slope > 0) {
                slack[l] = (capacity[l] - used) / slope;
                step = std::min(step, slack[l]);
            }
        }
        if (!any) {
            return rate;
        }
        for (std::size_t f = 0; f < flows.size(); ++f) {
            if (!rising[f]) {
                continue;
            }
            rate[f] += flows[f].weight * step;
            bool stop =
                step == kInfinity || (flows[f].cap > 0 && rate[f] >= flows[f].cap * (1 - 1e-15L));
            for (std::size_t l = 0; l < capacity.size(); ++l) {
                stop = stop ||
                       (flows[f].coefficient[l] > 0 && slack[l] <= step * (1 + 1e-15L) + 1e-12L);
            }
            rising[f] = !stop;
        }
    }
}

}  // namespace memwall::testing
