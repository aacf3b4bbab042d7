// Speed of building a large fabric and of asking it for routes.
#include <benchmark/benchmark.h>

#include "sim/network/fabric.h"

namespace memwall {
namespace {

Machine large(int nodes) {
    Machine m;
    m.nodes = nodes;
    Node& node = m.cluster.node;
    node.gpu.links = 18;
    node.gpu.link_rate = Bandwidth{25e9};
    node.gpu.pcie = Bandwidth{63e9};
    node.nic_rate = Bandwidth{50e9};
    FabricSpec& f = m.cluster.fabric;
    f.kind = FabricKind::RailOptimised;
    f.leaf_nodes = 32;
    f.pod_leaves = 64;
    f.pod_oversubscription = 2;
    return m;
}

void build_fabric(benchmark::State& state) {
    const Machine m = large(static_cast<int>(state.range(0)));
    for (auto _ : state) {
        const Fabric fabric(m);
        benchmark::DoNotOptimize(fabric.links().data());
    }
}
BENCHMARK(build_fabric)->Arg(128)->Arg(2048)->Arg(16384)->Unit(benchmark::kMicrosecond);

void nic_paths(benchmark::State& state) {
    const Machine m = large(2048);
    const Fabric fabric(m);
    int node = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(fabric.nic_path(0, 3, node, 5));
        node = (node + 37) % 2048;
    }
}
BENCHMARK(nic_paths);

void routes(benchmark::State& state) {
    const Machine m = large(2048);
    const Fabric fabric(m);
    std::size_t to = 1;
    for (auto _ : state) {
        benchmark::DoNotOptimize(fabric.route(DeviceId{0}, DeviceId{to}));
        to = (to + 37) % fabric.devices();
    }
}
BENCHMARK(routes);

}  // namespace
}  // namespace memwall
