#include "sim/run/result.h"

#include <numeric>

namespace memwall {

Duration Breakdown::sum() const {
    return std::accumulate(exposed.begin(),
                           exposed.end(),
                           compute + recompute + optimizer + bubble + imbalance + host + idle);
}

Breakdown& Breakdown::operator+=(const Breakdown& other) {
    compute += other.compute;
    recompute += other.recompute;
    optimizer += other.optimizer;
    for (std::size_t c = 0; c < exposed.size(); ++c) {
        exposed[c] += other.exposed[c];
    }
    bubble += other.bubble;
    imbalance += other.imbalance;
    host += other.host;
    idle += other.idle;
    interference += other.interference;
    return *this;
}

std::int64_t context_bytes(const MemoryPeak& peak) {
    return peak.composition.at(static_cast<std::size_t>(TensorClass::Context));
}

}  // namespace memwall
