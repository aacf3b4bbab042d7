#include "sim/network/topo.h"

#include <algorithm>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <doctest/doctest.h>

#include "sim/network/graph.h"
#include "tests/network/machines.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

const TopoTier* tier(const TopoReport& report, LinkTier wanted) {
    const auto it = std::find_if(report.tiers.begin(), report.tiers.end(), [&](const TopoTier& t) {
        return t.tier == wanted;
    });
    return it == report.tiers.end() ? nullptr : &*it;
}

// Boost's push-relabel between the two halves of the GPUs, in kB/s so that capacities are integers. NVLink switches that
// join both halves stay in the graph.
double max_flow(const Machine& m, std::size_t half) {
    using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
    using Graph = boost::adjacency_list<
        boost::vecS,
        boost::vecS,
        boost::directedS,
        boost::no_property,
        boost::property<
            boost::edge_capacity_t,
            std::int64_t,
            boost::property<boost::edge_residual_capacity_t,
                            std::int64_t,
                            boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
    const Fabric fabric(m);
    const FabricGraph parts = build_graph(fabric, m.nodes);
    constexpr std::int64_t kMany = std::int64_t{1} << 50;
    Graph graph(parts.vertices.size() + 2);
    const std::size_t source = parts.vertices.size();
    const std::size_t sink = source + 1;
    const auto add = [&](std::size_t a, std::size_t b, std::int64_t capacity) {
        const auto forward = boost::add_edge(a, b, graph).first;
        const auto back = boost::add_edge(b, a, graph).first;
        boost::put(boost::edge_capacity, graph, forward, capacity);
        boost::put(boost::edge_capacity, graph, back, 0);
        boost::put(boost::edge_reverse, graph, forward, back);
        boost::put(boost::edge_reverse, graph, back, forward);
    };
    for (const GraphEdge& e : parts.edges) {
        std::int64_t capacity = kMany;
        for (const LinkId link : {e.link, m.nodes == 1 ? e.peer_link : LinkId{}}) {
            if (link.valid() && fabric.links()[link.index].capacity.value > 0) {
                capacity = std::min(
                    capacity,
                    static_cast<std::int64_t>(fabric.links()[link.index].capacity.value / 1000));
            }
        }
        add(static_cast<std::size_t>(e.from), static_cast<std::size_t>(e.to), capacity);
    }
    for (std::size_t d = 0; d < fabric.devices(); ++d) {
        const auto vertex = static_cast<std::size_t>(parts.gpus[d]);
        d < half ? add(source, vertex, kMany) : add(vertex, sink, kMany);
    }
    return static_cast<double>(boost::push_relabel_max_flow(graph, source, sink)) * 1000;
}

void check_bisection(const Machine& m) {
    const Fabric fabric(m);
    const TopoReport report = describe(fabric);
    const int per_domain = fabric.gpus_per_domain();
    const int half =
        report.domains > 1 ? report.domains / 2 * per_domain : static_cast<int>(report.gpus) / 2;
    // Capacities are cut to whole kB/s in the flow: a few parts in 10^7 on the smallest links here.
    CHECK(report.bisection.value ==
          doctest::Approx(max_flow(m, static_cast<std::size_t>(half))).epsilon(1e-6));
}

}  // namespace

TEST_CASE("the bisection bandwidth is the maximum flow between the halves") {
    check_bisection(switched(1, FabricKind::None));
    check_bisection(switched(4, FabricKind::SingleSwitch));
    for (const double oversubscription : {1.0, 2.0, 3.5}) {
        for (const int nodes : {2, 4, 5, 7, 8, 12}) {
            CAPTURE(oversubscription);
            CAPTURE(nodes);
            check_bisection(switched(nodes, FabricKind::FatTree2, 2, oversubscription));
            check_bisection(switched(nodes, FabricKind::FatTree2, 3, oversubscription));
            check_bisection(switched(nodes, FabricKind::RailOptimised, 3, oversubscription));
            Machine pods = switched(nodes, FabricKind::FatTree3, 1, oversubscription);
            pods.cluster.fabric.pod_leaves = 3;
            pods.cluster.fabric.pod_oversubscription = 2;
            check_bisection(pods);
            Machine rails = switched(nodes, FabricKind::RailOptimised, 2, oversubscription);
            rails.cluster.fabric.pod_leaves = 16;
            rails.cluster.fabric.pod_oversubscription = 3;
            check_bisection(rails);
        }
    }
    Machine domains = switched(9, FabricKind::RailOptimised, 4, 2);
    domains.cluster.node.nodes_per_nvlink_domain = 3;
    check_bisection(domains);
    check_bisection(pcie_box(4, FabricKind::SingleSwitch));
    Machine hashed = switched(8, FabricKind::FatTree2, 2, 2);
    hashed.routing = Routing::Ecmp;
    check_bisection(hashed);
}

TEST_CASE("inside a PCIe box the bisection is the maximum flow over host bridges and sockets") {
    Machine m = pcie_box(1, FabricKind::None);
    check_bisection(m);
    CHECK(describe(Fabric(m)).bisection_limit ==
          "host bridges");  // 2 x 20 of 40 GB/s: both are full
    m.cluster.node.socket_link = Bandwidth{15e9};
    check_bisection(m);
    CHECK(describe(Fabric(m)).bisection == Bandwidth{15e9});
    CHECK(describe(Fabric(m)).bisection_limit == "socket to socket");
    m.cluster.node.sockets = 1;
    check_bisection(m);
}

TEST_CASE("full bisection is half of all NICs, an oversubscribed spine its part of it") {
    // 4 nodes x 8 NICs x 10 GB/s leave each half.
    const Machine full = switched(8, FabricKind::RailOptimised, 4);
    const TopoReport f = describe(Fabric(full));
    CHECK(f.bisection.value == doctest::Approx(320e9));
    CHECK(f.bisection_per_gpu.value == doctest::Approx(10e9));
    CHECK(f.bisection_limit == "NICs");
    const Machine half = switched(8, FabricKind::RailOptimised, 4, 2);
    const TopoReport h = describe(Fabric(half));
    CHECK(h.bisection.value == doctest::Approx(160e9));
    CHECK(h.bisection_limit == "leaves to spine");
}

TEST_CASE("tiers are counted per direction with their totals") {
    const Machine m = switched(8, FabricKind::RailOptimised, 4, 2);
    const TopoReport r = describe(Fabric(m));
    CHECK(r.gpus == 64);
    CHECK(r.leaves == 16);
    REQUIRE(tier(r, LinkTier::NvLink) != nullptr);
    CHECK(tier(r, LinkTier::NvLink)->links == 64);
    CHECK(tier(r, LinkTier::NvLink)->total == Bandwidth{6400e9});
    CHECK(tier(r, LinkTier::Nic)->links == 64);
    CHECK(tier(r, LinkTier::LeafUp)->links == 16);
    CHECK(tier(r, LinkTier::LeafUp)->each == Bandwidth{20e9});
    CHECK(tier(r, LinkTier::LeafUp)->oversubscription == 2);
    CHECK(tier(r, LinkTier::LeafUp)->binding);
    CHECK(tier(r, LinkTier::SpineUp) == nullptr);
    CHECK(tier(r, LinkTier::Pcie) == nullptr);
}

TEST_CASE("a mesh with links of two widths is shown as two tiers") {
    const Machine m = cube_mesh();
    const TopoReport r = describe(Fabric(m));
    std::vector<std::int64_t> counts;
    std::vector<double> rates;
    for (const TopoTier& t : r.tiers) {
        if (t.tier == LinkTier::NvLink) {
            counts.push_back(t.links);
            rates.push_back(t.each.value);
        }
    }
    CHECK(counts == std::vector<std::int64_t>{8, 8});
    CHECK(rates == std::vector<double>{25e9, 50e9});
    // Between the two quads: 0-4, 1-5 with two links, 2-6, 3-7 with one.
    CHECK(r.bisection == Bandwidth{150e9});
    CHECK(r.bisection_limit == "NVLink mesh");
}

TEST_CASE("PCIe switches with two GPUs on one up-link are two to one oversubscribed") {
    const Machine m = pcie_box(2, FabricKind::SingleSwitch);
    const TopoReport r = describe(Fabric(m));
    const auto up = std::find_if(r.tiers.begin(), r.tiers.end(), [](const TopoTier& t) {
        return t.name == "PCIe switch to root port";
    });
    REQUIRE(up != r.tiers.end());
    CHECK(up->links == 8);
    CHECK(up->oversubscription == 2);
    CHECK(up->binding);
}

TEST_CASE("a machine of one GPU has no bisection") {
    Machine m = switched(1, FabricKind::None);
    m.cluster.node.gpus = 1;
    const TopoReport r = describe(Fabric(m));
    CHECK(r.bisection == Bandwidth{0});
    CHECK(r.gpus == 1);
}

TEST_CASE("a route is told link by link, with what limits it") {
    const Machine m = switched(8, FabricKind::RailOptimised, 4, 32);
    const TopoRoute r = describe_route(Fabric(m), DeviceId{3}, DeviceId{8 * 7 + 2});
    CHECK(r.from == "node0/gpu3");
    CHECK(r.to == "node7/gpu2");
    REQUIRE(r.hops.size() == 4);
    CHECK(r.hops[1].link.name == "leaf3->spine");
    CHECK(r.hops[1].link.tier == LinkTier::LeafUp);
    // 4 nodes x 10 GB/s / 32
    CHECK(r.limit.value == doctest::Approx(1.25e9));
    CHECK(r.crosses_nodes);
}

TEST_CASE("a split route is limited by the fuller of its parts") {
    const Machine m = cube_mesh();
    const TopoRoute r = describe_route(Fabric(m), DeviceId{0}, DeviceId{7});
    // 25 and 50 GB/s paths in proportion: 75 together.
    CHECK(r.limit.value == doctest::Approx(75e9).epsilon(1e-5));
}

TEST_CASE("the drawing shows the first nodes, names every vertex and draws each connection once") {
    const Machine m = switched(8, FabricKind::RailOptimised, 4);
    const Fabric f(m);
    const std::string dot = to_dot(f, 2);
    const auto count = [&](const std::string& what) {
        std::size_t n = 0;
        for (std::size_t at = dot.find(what); at != std::string::npos;
             at = dot.find(what, at + 1)) {
            ++n;
        }
        return n;
    };
    CHECK(dot.starts_with("graph memwall {"));
    CHECK(count("label=\"node1/gpu7\"") == 1);
    CHECK(count("label=\"node2/gpu0\"") == 0);
    CHECK(count("2 of 8 nodes") == 1);
    // Per node 8 GPU-NVSwitch, 8 GPU-NIC, 8 NIC-leaf; 8 leaves to the spine.
    CHECK(count("--") == 2 * 24 + 8);
    CHECK(count("\"10GB/s\"") == 16);
    // More than there are is all there are.
    CHECK(to_dot(f, 100) == to_dot(f, 8));
}
