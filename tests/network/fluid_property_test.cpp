// Properties of max-min sharing on random networks, each over fixed seeds.
#include <bit>
#include <map>

#include <doctest/doctest.h>

#include "sim/network/fluid.h"
#include "tests/network/max_min_reference.h"
#include "tests/network/random_network.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

constexpr double kPerUnit = 1.0 / (1 << 20);

struct Running {
    FluidNetwork net;
    std::vector<FlowId> flows;  // by shape
};

Running start_all(const RandomNetwork& r, const std::vector<std::uint32_t>& order) {
    Running running{FluidNetwork(r.capacities, r.usages), std::vector<FlowId>(r.shapes.size())};
    for (const std::uint32_t f : order) {
        running.flows[f] = running.net.start(r.shapes[f], r.messages[f], Time{});
    }
    running.net.settle(Time{});
    return running;
}

std::vector<std::uint32_t> upto(std::size_t n) {
    std::vector<std::uint32_t> order(n);
    for (std::size_t i = 0; i < n; ++i) {
        order[i] = static_cast<std::uint32_t>(i);
    }
    return order;
}

std::uint64_t bits(double x) {
    return std::bit_cast<std::uint64_t>(x);
}

bool close(double a, long double b, double relative) {
    return std::abs(static_cast<long double>(a) - b) <=
           static_cast<long double>(relative) * std::abs(b);
}

}  // namespace

TEST_CASE("rates are those of the definition of max-min fairness") {
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        const RandomNetwork r = random_network(seed, 1 + seed % 9, 1 + seed % 23);
        const Running running = start_all(r, upto(r.shapes.size()));
        std::vector<ReferenceFlow> flows;
        for (const FlowShape& s : r.shapes) {
            ReferenceFlow f{std::vector<long double>(r.capacities.size(), 0),
                            s.cap,
                            static_cast<long double>(s.weight)};
            for (std::uint32_t u = s.usage_begin; u < s.usage_end; ++u) {
                f.coefficient[r.usages[u].link] =
                    static_cast<long double>(r.usages[u].coefficient) * kPerUnit;
            }
            flows.push_back(f);
        }
        const auto expected = max_min_reference(
            std::vector<long double>(r.capacities.begin(), r.capacities.end()), flows);
        for (std::size_t f = 0; f < flows.size(); ++f) {
            // Each round may round a link's rest once: some 1e-15 per round, 30 rounds at most.
            const double rate = running.net.rate(running.flows[f]);
            CHECK(
                (static_cast<long double>(rate) == expected[f] || close(rate, expected[f], 1e-12)));
        }
    }
}

// The certificate of max-min fairness (Bertsekas & Gallager 6.5.2): every flow is at its cap or has a full link on which
// no other flow has a higher level.
TEST_CASE(
    "no link is above its capacity, and each flow is at its cap or has a full link where its level "
    "is the highest") {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        const RandomNetwork r = random_network(seed * 7919, 2 + seed % 40, 1 + seed % 150);
        const Running running = start_all(r, upto(r.shapes.size()));
        std::vector<double> used(r.capacities.size(), 0);
        std::vector<double> highest(r.capacities.size(), 0);
        const auto level = [&](std::size_t f) {
            return running.net.rate(running.flows[f]) / static_cast<double>(r.shapes[f].weight);
        };
        for (std::size_t f = 0; f < r.shapes.size(); ++f) {
            for (std::uint32_t u = r.shapes[f].usage_begin; u < r.shapes[f].usage_end; ++u) {
                const Usage& usage = r.usages[u];
                used[usage.link] += running.net.rate(running.flows[f]) *
                                    static_cast<double>(usage.coefficient) * kPerUnit;
                highest[usage.link] = std::max(highest[usage.link], level(f));
            }
        }
        for (std::size_t l = 0; l < used.size(); ++l) {
            CHECK((r.capacities[l] <= 0 || used[l] <= r.capacities[l] * (1 + 1e-12)));
        }
        for (std::size_t f = 0; f < r.shapes.size(); ++f) {
            bool limited = running.net.rate(running.flows[f]) == r.shapes[f].cap;
            bool can_be = r.shapes[f].cap > 0;
            for (std::uint32_t u = r.shapes[f].usage_begin; u < r.shapes[f].usage_end; ++u) {
                const std::uint32_t l = r.usages[u].link;
                can_be = can_be || r.capacities[l] > 0;
                limited =
                    limited || (r.capacities[l] > 0 && used[l] >= r.capacities[l] * (1 - 1e-12) &&
                                level(f) >= highest[l] * (1 - 1e-12));
            }
            CHECK(limited == can_be);
        }
    }
}

TEST_CASE("the order of starts does not change a bit of any rate") {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        const RandomNetwork r = random_network(seed * 31, 2 + seed % 20, 2 + seed % 80);
        const Running first = start_all(r, upto(r.shapes.size()));
        Draw draw(seed);
        std::vector<std::uint32_t> order = upto(r.shapes.size());
        for (int again = 0; again < 4; ++again) {
            draw.shuffle(order);
            const Running other = start_all(r, order);
            for (std::size_t f = 0; f < r.shapes.size(); ++f) {
                CHECK(bits(first.net.rate(first.flows[f])) == bits(other.net.rate(other.flows[f])));
                CHECK(first.net.completion(first.flows[f]) == other.net.completion(other.flows[f]));
            }
        }
    }
}

TEST_CASE(
    "after any starts and stops the rates have the bits of a network built from what is left") {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        const RandomNetwork r = random_network(seed * 97, 2 + seed % 12, 40);
        Draw draw(seed);
        FluidNetwork net(r.capacities, r.usages);
        std::map<std::uint32_t, FlowId> running;
        for (int step = 1; step <= 120; ++step) {
            const Time now{Duration{step * 1'000'000}};
            for (std::uint32_t k = 0; k <= draw.below(3); ++k) {
                const std::uint32_t f = draw.below(40);
                const auto it = running.find(f);
                if (it == running.end()) {
                    running[f] = net.start(r.shapes[f], Bytes{std::int64_t{1} << 40}, now);
                } else {
                    net.stop(it->second, now);
                    running.erase(it);
                }
            }
            net.settle(now);
            FluidNetwork fresh(r.capacities, r.usages);
            std::map<std::uint32_t, FlowId> again;
            for (const auto& [f, id] : running) {
                again[f] = fresh.start(r.shapes[f], Bytes{1}, now);
            }
            fresh.settle(now);
            bool same = net.active() == running.size();
            for (const auto& [f, id] : running) {
                same = same && bits(net.rate(id)) == bits(fresh.rate(again[f]));
            }
            CHECK(same);
        }
    }
}

TEST_CASE("k identical flows have the bits of one whose coefficients are k times as large") {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        CAPTURE(seed);
        const std::uint32_t k = 2 + seed % 6;
        const RandomNetwork r = random_network(seed * 13, 2 + seed % 9, 1 + seed % 20);
        // Unfolded: each flow k times. Folded: once, with the sum of the coefficients.
        FluidNetwork unfolded(r.capacities, r.usages);
        std::vector<Usage> sums = r.usages;
        for (Usage& u : sums) {
            u.coefficient *= k;
        }
        FluidNetwork folded(r.capacities, sums);
        std::vector<FlowId> many;
        std::vector<FlowId> one;
        for (std::size_t f = 0; f < r.shapes.size(); ++f) {
            for (std::uint32_t i = 0; i < k; ++i) {
                many.push_back(unfolded.start(r.shapes[f], r.messages[f], Time{}));
            }
            one.push_back(folded.start(r.shapes[f], r.messages[f], Time{}));
        }
        unfolded.settle(Time{});
        folded.settle(Time{});
        for (std::size_t f = 0; f < one.size(); ++f) {
            for (std::uint32_t i = 0; i < k; ++i) {
                CHECK(bits(unfolded.rate(many[f * k + i])) == bits(folded.rate(one[f])));
                CHECK(unfolded.completion(many[f * k + i]) == folded.completion(one[f]));
            }
        }
    }
}

TEST_CASE("a network of k equal copies has the bits of one copy") {
    // Members of a class on links of their own: folding keeps one representative link of each orbit.
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        const RandomNetwork r = random_network(seed * 101, 2 + seed % 9, 1 + seed % 20);
        const auto links = static_cast<std::uint32_t>(r.capacities.size());
        const auto usages = static_cast<std::uint32_t>(r.usages.size());
        // Copy 2 has its own links but for link 0, which both share: its coefficients add up there.
        std::vector<double> capacities = r.capacities;
        capacities.insert(capacities.end(), r.capacities.begin() + 1, r.capacities.end());
        std::vector<Usage> both = r.usages;
        std::vector<Usage> folded_usages = r.usages;
        for (std::uint32_t u = 0; u < usages; ++u) {
            both.push_back({r.usages[u].link == 0 ? 0 : r.usages[u].link + links - 1,
                            r.usages[u].coefficient});
            folded_usages[u].coefficient *= r.usages[u].link == 0 ? 2 : 1;
        }
        FluidNetwork unfolded(capacities, both);
        FluidNetwork folded(r.capacities, folded_usages);
        std::vector<FlowId> first;
        std::vector<FlowId> second;
        std::vector<FlowId> one;
        for (std::size_t f = 0; f < r.shapes.size(); ++f) {
            FlowShape copy = r.shapes[f];
            first.push_back(unfolded.start(copy, r.messages[f], Time{}));
            one.push_back(folded.start(copy, r.messages[f], Time{}));
            copy.usage_begin += usages;
            copy.usage_end += usages;
            second.push_back(unfolded.start(copy, r.messages[f], Time{}));
        }
        unfolded.settle(Time{});
        folded.settle(Time{});
        for (std::size_t f = 0; f < one.size(); ++f) {
            CHECK(bits(unfolded.rate(first[f])) == bits(folded.rate(one[f])));
            CHECK(bits(unfolded.rate(second[f])) == bits(folded.rate(one[f])));
        }
    }
}

TEST_CASE("alone() is exactly what starting, settling and completing a single flow gives") {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        const RandomNetwork r = random_network(seed * 17, 1 + seed % 9, 20);
        FluidNetwork net(r.capacities, r.usages);
        Time now{};
        for (std::size_t f = 0; f < r.shapes.size(); ++f) {
            CAPTURE(seed);
            CAPTURE(f);
            const FlowId id = net.start(r.shapes[f], r.messages[f], now);
            net.settle(now);
            const Time end = net.completion(id);
            CHECK(end - now == net.alone(r.shapes[f], r.messages[f]));
            net.stop(id, end);
            net.settle(end);
            now = end;
        }
    }
}

TEST_CASE("every byte that is sent is counted on every link it crosses") {
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        RandomNetwork r = random_network(seed * 53, 2 + seed % 9, 30);
        for (FlowShape& s : r.shapes) {
            s.cap = s.cap > 0 ? s.cap : 5e9;  // all finite
        }
        Running running = start_all(r, upto(r.shapes.size()));
        std::vector<double> expected(r.capacities.size(), 0);
        for (std::size_t f = 0; f < r.shapes.size(); ++f) {
            for (std::uint32_t u = r.shapes[f].usage_begin; u < r.shapes[f].usage_end; ++u) {
                expected[r.usages[u].link] += static_cast<double>(r.usages[u].coefficient) *
                                              kPerUnit * static_cast<double>(r.messages[f].value);
            }
        }
        // Play to the end: stop whatever completes next.
        std::vector<FlowId> left = running.flows;
        Time now{};
        double before = 0;
        while (!left.empty()) {
            const auto next = std::min_element(left.begin(), left.end(), [&](FlowId a, FlowId b) {
                return running.net.completion(a) < running.net.completion(b);
            });
            now = running.net.completion(*next);
            running.net.stop(*next, now);
            left.erase(next);
            running.net.settle(now);
            const double sofar = running.net.carried(now)[0];
            CHECK(sofar >= before - 30);  // whole bytes per flow under way
            before = sofar;
        }
        // Sums of integers times 2^-20 below 2^53: exact.
        CHECK(running.net.carried(now) == expected);
    }
}
