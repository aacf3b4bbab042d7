#pragma once
// Random links and flows for the property tests of fluid sharing. One seed, one network, on every machine: only the raw
// output of std::mt19937 is used, whose sequence the standard fixes.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/network/fluid.h"

namespace memwall::testing {

class Draw {
  public:
    explicit Draw(std::uint32_t seed) : engine_(seed) {}
    // Uniform enough for tests: [0, n).
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_()) % n; }
    template <class T>
    void shuffle(std::vector<T>& items) {
        for (std::size_t i = items.size(); i > 1; --i) {
            std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
        }
    }

  private:
    std::mt19937 engine_;
};

struct RandomNetwork {
    std::vector<double> capacities;
    std::vector<Usage> usages;
    std::vector<FlowShape> shapes;
    std::vector<Bytes> messages;
};

// Capacities from few values, so that ties happen; some links never bind; some flows have caps.
inline RandomNetwork random_network(std::uint32_t seed, std::uint32_t links, std::uint32_t flows) {
    Draw draw(seed);
    RandomNetwork net;
    for (std::uint32_t l = 0; l < links; ++l) {
        net.capacities.push_back(draw.below(8) == 0 ? 0.0 : 1e9 * (1 + draw.below(5)));
    }
    for (std::uint32_t f = 0; f < flows; ++f) {
        FlowShape shape;
        shape.usage_begin = static_cast<std::uint32_t>(net.usages.size());
        std::vector<std::uint32_t> on(links);
        for (std::uint32_t l = 0; l < links; ++l) {
            on[l] = l;
        }
        draw.shuffle(on);
        on.resize(1 + draw.below(std::min(links, 4U)));
        std::sort(on.begin(), on.end());
        for (const std::uint32_t l : on) {
            net.usages.push_back(
                {l, static_cast<std::int64_t>(1 + draw.below(3)) << (18 + draw.below(4))});
        }
        shape.usage_end = static_cast<std::uint32_t>(net.usages.size());
        shape.cap = draw.below(3) == 0 ? 1e8 * (1 + draw.below(10)) : 0;
        shape.weight = 1 + draw.below(3);
        net.shapes.push_back(shape);
        net.messages.push_back(Bytes{1 + static_cast<std::int64_t>(draw.below(1U << 24U))});
    }
    return net;
}

}  // namespace memwall::testing
