#include "sim/network/link_events.h"

#include <set>

#include <doctest/doctest.h>

#include "sim/network/fabric.h"
#include "tests/network/machines.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

Diagnostics check(const Machine& machine, bool sound) {
    Diagnostics diagnostics;
    CHECK(check_link_events(machine, DocNode{}, diagnostics) == sound);
    return diagnostics;
}

Diagnostic first_error(Machine machine, const std::vector<LinkEvent>& events) {
    machine.link_events = events;
    return check(machine, false).sorted().front();
}

}  // namespace

TEST_CASE("every link is found by its name, and by no other") {
    Machine pods = switched(8, FabricKind::FatTree3, 2);
    pods.cluster.fabric.pod_leaves = 2;
    Machine lanes = pods;
    lanes.routing = Routing::Ecmp;
    for (const Machine& machine : {switched(2, FabricKind::RailOptimised, 1),
                                   pcie_box(2, FabricKind::SingleSwitch),
                                   cube_mesh(),
                                   pods,
                                   lanes}) {
        const Fabric fabric(machine);
        std::set<std::string> names;
        for (std::size_t l = 0; l < fabric.links().size(); ++l) {
            const std::string name = fabric.link_name(LinkId{l});
            CAPTURE(name);
            CHECK(names.insert(name).second);
            REQUIRE(fabric.find_link(name));
            CHECK(fabric.find_link(name)->index == l);
            CHECK_FALSE(fabric.find_link(name + "!"));
        }
    }
    const Fabric fabric(pods);
    for (const char* name : {"",
                             "/",
                             "foo/bar",
                             "node0",
                             "node0/",
                             "node/gpu0->nvswitch",
                             "node8/gpu0->nvswitch",
                             "node00/gpu0->nvswitch",
                             "node-1/gpu0->nvswitch",
                             "node0x/gpu0->nvswitch",
                             "edge0/gpu0->nvswitch",
                             "gpu0->nvswitch",
                             "leaf4->spine",
                             "leaf0->spine0"}) {
        CAPTURE(name);
        CHECK_FALSE(fabric.find_link(name));
    }
}

TEST_CASE("an event leaves one link a share of its capacity and makes it binding") {
    Machine machine = switched(4, FabricKind::FatTree2, 2);
    const Fabric healthy(machine);
    machine.link_events = {{"leaf0->spine", 0.25}};
    const Fabric degraded(machine);
    for (std::size_t l = 0; l < healthy.links().size(); ++l) {
        const Link& link = degraded.links()[l];
        const bool hit = degraded.link_name(LinkId{l}) == "leaf0->spine";
        CHECK(link.capacity == healthy.links()[l].capacity);
        CHECK(link.available() == healthy.links()[l].capacity * (hit ? 0.25 : 1));
        CHECK(link.binding == (hit || healthy.links()[l].binding));
    }
    CHECK_FALSE(healthy.links()[healthy.find_link("leaf0->spine")->index].binding);
}

TEST_CASE("events on links that are there pass") {
    Machine machine = switched(4, FabricKind::FatTree2, 2);
    machine.link_events = {{"node3/nic7->network", 0.5}, {"spine->leaf1", 1}};
    CHECK(check(machine, true).sorted().empty());
}

TEST_CASE("an event on a link that is not there names the nearest one") {
    const Machine machine = switched(4, FabricKind::FatTree2, 2);
    const Diagnostic nic = first_error(machine, {{"node3/nic7-network", 0.5}});
    CHECK(nic.code == std::string_view("E0405"));
    CHECK(nic.text == "link 'node3/nic7-network' is not in this machine");
    CHECK(nic.hint.starts_with("did you mean 'node3/nic7->network'?"));
    CHECK(first_error(machine, {{"leaf0->spines", 0.5}})
              .hint.starts_with("did you mean 'leaf0->spine'?"));
    CHECK(first_error(machine, {{"foo/bar", 0.5}}).hint.find("topo SCENARIO --links") !=
          std::string::npos);
}

TEST_CASE("an event on one link twice, or on a link without a stated rate, is an error") {
    const LinkEvent once{"node0/nic0->network", 0.5};
    CHECK(first_error(switched(4, FabricKind::FatTree2, 2), {once, once}).text ==
          "link 'node0/nic0->network' is given twice");
    Machine unlimited = pcie_box(1, FabricKind::None);
    unlimited.cluster.node.socket_link = Bandwidth{0};
    CHECK(first_error(unlimited, {{"node0/socket0->socket1", 0.5}})
              .text.ends_with("no stated rate to take a share of"));
}

TEST_CASE("an event on a link is warned of where the fidelity has no links") {
    Machine machine = switched(4, FabricKind::FatTree2, 2);
    machine.link_events = {{"node0/nic0->network", 0.5}};
    for (const Fidelity fidelity : {Fidelity::Ideal, Fidelity::AlphaBeta}) {
        machine.fidelity = fidelity;
        const Diagnostics diagnostics = check(machine, true);
        REQUIRE(diagnostics.sorted().size() == 1);
        CHECK(diagnostics.sorted().front().code == std::string_view("W0405"));
    }
    machine.fidelity = Fidelity::Stepwise;
    CHECK(check(machine, true).sorted().empty());
}
