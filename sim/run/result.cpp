#include "sim/run/result.h"

#include <numeric>

namespace memwall {

Duration Breakdown::sum() const {
    return std::accumulate(exposed.begin(),
                           exposed.end(),
                           compute + recompute + optimizer + bubble + imbalance + host + idle);
}

}  // namespace memwall
