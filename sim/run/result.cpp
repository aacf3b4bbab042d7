#include "sim/run/result.h"

#include <numeric>

namespace memwall {

Duration Breakdown::sum() const {
    return std::accumulate(exposed.begin(),
                           exposed.end(),
                           compute + recompute + optimizer + bubble + imbalance + host + idle);
}

void Breakdown::add(const Breakdown& other, std::int64_t times) {
    compute += times * other.compute;
    recompute += times * other.recompute;
    optimizer += times * other.optimizer;
    for (std::size_t c = 0; c < exposed.size(); ++c) {
        exposed[c] += times * other.exposed[c];
    }
    bubble += times * other.bubble;
    imbalance += times * other.imbalance;
    host += times * other.host;
    idle += times * other.idle;
    interference += times * other.interference;
}

std::int64_t context_bytes(const MemoryPeak& peak) {
    return peak.composition.at(static_cast<std::size_t>(TensorClass::Context));
}

}  // namespace memwall
