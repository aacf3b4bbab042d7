// Speed of max-min sharing: an isolated activity, a component, all pairs of 256 hosts.
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/network/fluid.h"

namespace memwall {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << 20;

// A tensor-parallel ring in one node: 8 ports out, 8 in, nobody else there. Start, settle, read the end, stop.
void isolated_activity(benchmark::State& state) {
    const auto links = static_cast<std::uint32_t>(state.range(0));
    std::vector<Usage> usages;
    for (std::uint32_t l = 0; l < links; ++l) {
        usages.push_back({l, 2 * kOne});
    }
    FluidNetwork net(std::vector<double>(links, 300e9), usages);
    const FlowShape shape{0, links, 222e9, 1};
    Time now{};
    for (auto _ : state) {
        const FlowId f = net.start(shape, Bytes{1 << 20}, now);
        net.settle(now);
        now = net.completion(f);
        net.stop(f, now);
        net.settle(now);
    }
}
BENCHMARK(isolated_activity)->Arg(2)->Arg(4)->Arg(16)->Arg(64);

// Two rings over the same 16 ports: each start and stop re-solves both.
void two_sharing(benchmark::State& state) {
    std::vector<Usage> usages;
    for (std::uint32_t l = 0; l < 16; ++l) {
        usages.push_back({l, 2 * kOne});
    }
    FluidNetwork net(std::vector<double>(16, 300e9), usages);
    const FlowShape shape{0, 16, 222e9, 1};
    Time now{};
    net.start(shape, Bytes{std::int64_t{1} << 50}, now);
    for (auto _ : state) {
        const FlowId f = net.start(shape, Bytes{1 << 20}, now);
        net.settle(now);
        now = net.completion(f);
        net.stop(f, now);
        net.settle(now);
    }
}
BENCHMARK(two_sharing);

// 65,280 flows between 256 hosts: all start, one settle, all end.
void all_to_all_256(benchmark::State& state) {
    constexpr std::uint32_t kHosts = 256;
    std::vector<Usage> usages;
    std::vector<FlowShape> shapes;
    for (std::uint32_t a = 0; a < kHosts; ++a) {
        for (std::uint32_t b = 0; b < kHosts; ++b) {
            if (a != b) {
                const auto at = static_cast<std::uint32_t>(usages.size());
                const std::uint32_t out = 2 * a;
                const std::uint32_t in = 2 * b + 1;
                usages.push_back({std::min(out, in), kOne});
                usages.push_back({std::max(out, in), kOne});
                shapes.push_back({at, at + 2, 0, 1});
            }
        }
    }
    std::vector<FlowId> flows(shapes.size());
    for (auto _ : state) {
        FluidNetwork net(std::vector<double>(2 * std::size_t{kHosts}, 50e9), usages);
        for (std::size_t f = 0; f < shapes.size(); ++f) {
            flows[f] = net.start(shapes[f], Bytes{1 << 20}, Time{});
        }
        net.settle(Time{});
        const Time end = net.completion(flows[0]);
        for (const FlowId f : flows) {
            net.stop(f, end);
        }
        benchmark::DoNotOptimize(net.settle(end));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows.size()));
}
BENCHMARK(all_to_all_256)->Unit(benchmark::kMillisecond);

// The worst case of filling: every link has another capacity, so every round fills one link only.
void all_different(benchmark::State& state) {
    const auto links = static_cast<std::uint32_t>(state.range(0));
    std::vector<double> capacities;
    std::vector<Usage> usages;
    std::vector<FlowShape> shapes;
    for (std::uint32_t l = 0; l < links; ++l) {
        capacities.push_back(1e9 * (1 + (l * 7919U) % links));
        const auto at = static_cast<std::uint32_t>(usages.size());
        const std::uint32_t other = (l + 1) % links;
        usages.push_back({std::min(l, other), kOne});
        usages.push_back({std::max(l, other), kOne});
        shapes.push_back({at, at + 2, 0, 1});
    }
    FluidNetwork net(capacities, usages);
    for (const FlowShape& s : shapes) {
        net.start(s, Bytes{std::int64_t{1} << 50}, Time{});
    }
    net.settle(Time{});
    for (auto _ : state) {
        net.set_capacity(0, capacities[0], Time{});
        benchmark::DoNotOptimize(net.settle(Time{}));
    }
}
BENCHMARK(all_different)->Arg(256)->Arg(4096)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memwall
