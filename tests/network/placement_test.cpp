#include "sim/network/placement.h"

#include <array>
#include <map>

#include <doctest/doctest.h>

#include "tests/network/machines.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

std::vector<LinkShare> shifted(const Placements& placements,
                               std::vector<LinkShare> links,
                               const LinkShift& by) {
    for (LinkShare& s : links) {
        s.link = LinkId{std::size_t{placements.shifted(s.link.index, by)}};
    }
    return links;
}

// Every pair of GPUs against the first pair that sits alike. Returns in how many ways pairs sit.
std::size_t check_routes(const Machine& m) {
    const Fabric f(m);
    const Placements placements(f);
    std::map<std::array<Place, 2>, std::array<DeviceId, 2>> seen;
    std::array<Place, 2> places;
    for (std::size_t a = 0; a < f.devices(); ++a) {
        for (std::size_t b = 0; b < f.devices(); ++b) {
            CAPTURE(a);
            CAPTURE(b);
            const std::array pair{DeviceId{a}, DeviceId{b}};
            REQUIRE(placements.relative(pair, places));
            const auto& [first, second] = seen.try_emplace(places, pair).first->second;
            const LinkShift shift = placements.shift(first, pair[0]);
            const Route known = f.route(first, second);
            const Route route = f.route(pair[0], pair[1]);
            REQUIRE(shifted(placements, known.links, shift) == route.links);
            REQUIRE(known.latency == route.latency);
            REQUIRE(known.crosses_nodes == route.crosses_nodes);
            const Route relayed = f.rail_route(pair[0], pair[1]);
            REQUIRE(shifted(placements, f.rail_route(first, second).links, shift) == relayed.links);
        }
    }
    return seen.size();
}

}  // namespace

TEST_CASE("pairs that sit alike have the same routes, a fixed distance further on") {
    check_routes(switched(6, FabricKind::SingleSwitch));
    check_routes(switched(7, FabricKind::FatTree2, 2, 2));
    check_routes(switched(7, FabricKind::RailOptimised, 2, 2));
    check_routes(pcie_box(5, FabricKind::SingleSwitch));
    check_routes(cube_mesh());
    Machine pods = switched(9, FabricKind::FatTree3, 2, 2);
    pods.cluster.fabric.pod_leaves = 2;
    pods.cluster.fabric.pod_oversubscription = 2;
    check_routes(pods);
    pods.cluster.fabric.kind = FabricKind::RailOptimised;
    pods.cluster.fabric.pod_leaves = 16;
    check_routes(pods);
    Machine domains = switched(8, FabricKind::FatTree2, 4, 2);
    domains.cluster.node.nodes_per_nvlink_domain = 2;
    check_routes(domains);
    Machine few_nics = switched(4, FabricKind::FatTree2, 2, 2);
    few_nics.cluster.node.nics = 4;
    check_routes(few_nics);
}

// Of two nodes on one switch: to each of 2 x 8 - 1 other rail distances in the node (-7 .. 7), and as many in the next node
// and in the node before.
TEST_CASE("behind NVLink switches only distances count") {
    CHECK(check_routes(switched(2, FabricKind::SingleSwitch)) == 3 * 15);
}

TEST_CASE("routes that a hash of the ports spreads are not alike across leaves") {
    Machine m = switched(4, FabricKind::FatTree2, 2, 2);
    m.routing = Routing::Ecmp;
    const Fabric f(m);
    const Placements placements(f);
    std::array<Place, 2> places;
    CHECK(placements.relative(std::array{DeviceId{0}, DeviceId{8}}, places));
    CHECK_FALSE(placements.relative(std::array{DeviceId{0}, DeviceId{16}}, places));
}
