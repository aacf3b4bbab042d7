#include "sim/network/fabric.h"

#include <doctest/doctest.h>

#include "tests/network/machines.h"

using namespace memwall;
using namespace memwall::testing;

namespace {
std::vector<std::string> names(const Fabric& fabric, const Route& route) {
    std::vector<std::string> result;
    for (const LinkShare& s : route.links) {
        result.push_back(fabric.link_name(s.link));
    }
    return result;
}
using Names = std::vector<std::string>;
}  // namespace

TEST_CASE("two GPUs of an NVSwitch node use one port each") {
    const Machine m = switched(1, FabricKind::None);
    const Fabric f(m);
    const Route r = f.route(DeviceId{1}, DeviceId{6});
    CHECK(names(f, r) == Names{"node0/gpu1->nvswitch", "node0/nvswitch->gpu6"});
    CHECK(r.latency == Duration{500'000});
    CHECK_FALSE(r.crosses_nodes);
}

TEST_CASE(
    "on a rail-optimised fabric one rail of a group stays on its leaf, another rail goes over the "
    "spine") {
    const Machine m = switched(8, FabricKind::RailOptimised, 4);
    const Fabric f(m);
    CHECK(names(f, f.route(DeviceId{3}, DeviceId{8 + 3})) ==
          Names{"node0/nic3->network", "node1/network->nic3"});
    CHECK(names(f, f.route(DeviceId{3}, DeviceId{8 + 4})) ==
          Names{"node0/nic3->network", "leaf3->spine", "spine->leaf4", "node1/network->nic4"});
    CHECK(names(f, f.route(DeviceId{3}, DeviceId{7 * 8 + 3})) ==
          Names{"node0/nic3->network", "leaf3->spine", "spine->leaf11", "node7/network->nic3"});
    CHECK(names(f, f.rail_route(DeviceId{3}, DeviceId{8 + 4})) == Names{"node0/gpu3->nvswitch",
                                                                        "node0/nvswitch->gpu4",
                                                                        "node0/nic4->network",
                                                                        "node1/network->nic4"});
}
