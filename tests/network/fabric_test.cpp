#include "sim/network/fabric.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/network/graph.h"
#include "tests/network/machines.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

using Names = std::vector<std::string>;

Names names(const Fabric& fabric, const std::vector<LinkShare>& links) {
    Names result;
    for (const LinkShare& s : links) {
        result.push_back(fabric.link_name(s.link));
    }
    return result;
}

DeviceId gpu(int node, int local) {
    return DeviceId{static_cast<std::size_t>(8 * node + local)};
}

double share(const LinkShare& s) {
    return static_cast<double>(s.share) / static_cast<double>(kUnit);
}

// Each route of the machine against a search over its explicit graph.
void check_against_search(const Machine& m) {
    const Fabric f(m);
    const FabricGraph graph = build_graph(f, m.nodes);
    for (std::size_t a = 0; a < f.devices(); ++a) {
        for (std::size_t b = 0; b < f.devices(); ++b) {
            if (a == b) {
                continue;
            }
            CAPTURE(a);
            CAPTURE(b);
            std::vector<LinkId> route;
            for (const LinkShare& s : f.route(DeviceId{a}, DeviceId{b}).links) {
                REQUIRE(s.share == kUnit);
                route.push_back(s.link);
            }
            std::sort(route.begin(), route.end());
            // Several are equally short only where NICs of two rails hang on one PCIe switch.
            auto found = search_routes(graph, DeviceId{a}, DeviceId{b});
            const bool known =
                std::any_of(found.begin(), found.end(), [&](std::vector<LinkId>& links) {
                    std::sort(links.begin(), links.end());
                    return links == route;
                });
            REQUIRE(known);
            REQUIRE((found.size() == 1 || m.cluster.node.intra == IntraNode::PcieTree));
        }
    }
}

}  // namespace

TEST_CASE("two GPUs of an NVSwitch node use one port each") {
    const Machine m = switched(1, FabricKind::None);
    const Fabric f(m);
    const Route r = f.route(DeviceId{1}, DeviceId{6});
    CHECK(names(f, r.links) == Names{"node0/gpu1->nvswitch", "node0/nvswitch->gpu6"});
    CHECK(r.latency == Duration{500'000});
    CHECK(r.hops == 1);
    CHECK_FALSE(r.crosses_nodes);
    CHECK(f.links()[f.gpu_out(DeviceId{1}).index].capacity == Bandwidth{100e9});
}

TEST_CASE("a GPU reaches itself over no link in no time") {
    const Machine m = switched(2, FabricKind::SingleSwitch);
    const Fabric f(m);
    CHECK(f.route(gpu(1, 3), gpu(1, 3)).links.empty());
    CHECK(f.route(gpu(1, 3), gpu(1, 3)).latency == Duration{});
    CHECK(f.nic_path(1, 3, 1, 3).hops == 0);
}

TEST_CASE("on one switch a message leaves by its GPU's NIC and enters by the peer's") {
    const Machine m = switched(3, FabricKind::SingleSwitch);
    const Fabric f(m);
    const Route r = f.route(gpu(0, 2), gpu(2, 5));
    CHECK(names(f, r.links) == Names{"node0/nic2->network", "node2/network->nic5"});
    CHECK(r.crosses_nodes);
    // PCIe on both sides (0.3 us each) and one switch (1 us).
    CHECK(r.latency == Duration{1'600'000});
}

TEST_CASE(
    "on a rail-optimised fabric one rail of a group stays on its leaf, another rail goes over the "
    "spine") {
    const Machine m = switched(8, FabricKind::RailOptimised, 4);
    const Fabric f(m);
    CHECK(names(f, f.route(gpu(0, 3), gpu(1, 3)).links) ==
          Names{"node0/nic3->network", "node1/network->nic3"});
    CHECK(names(f, f.route(gpu(0, 3), gpu(1, 4)).links) ==
          Names{"node0/nic3->network", "leaf3->spine", "spine->leaf4", "node1/network->nic4"});
    CHECK(names(f, f.route(gpu(0, 3), gpu(7, 3)).links) ==
          Names{"node0/nic3->network", "leaf3->spine", "spine->leaf11", "node7/network->nic3"});
}

TEST_CASE("a relay on the receiver's rail keeps a message between rails off the spine") {
    const Machine m = switched(8, FabricKind::RailOptimised, 4);
    const Fabric f(m);
    const Route r = f.rail_route(gpu(0, 3), gpu(1, 4));
    CHECK(names(f, r.links) == Names{"node0/gpu3->nvswitch",
                                     "node0/nvswitch->gpu4",
                                     "node0/nic4->network",
                                     "node1/network->nic4"});
    CHECK(r.crosses_nodes);
    CHECK(r.latency == f.route(gpu(0, 4), gpu(1, 4)).latency + Duration{500'000});
    // Nothing to gain on the same rail, in the node, or on a fabric without rails.
    CHECK(f.rail_route(gpu(0, 3), gpu(1, 3)).links == f.route(gpu(0, 3), gpu(1, 3)).links);
    CHECK(f.rail_route(gpu(0, 3), gpu(0, 4)).links == f.route(gpu(0, 3), gpu(0, 4)).links);
    const Machine flat = switched(8, FabricKind::FatTree2, 4);
    const Fabric g(flat);
    CHECK(g.rail_route(gpu(0, 3), gpu(1, 4)).links == g.route(gpu(0, 3), gpu(1, 4)).links);
}

TEST_CASE("switch hops on a three-level tree are one, three or five") {
    Machine m = switched(16, FabricKind::FatTree3, 2);
    m.cluster.fabric.pod_leaves = 2;
    const Fabric f(m);
    CHECK(f.between_nics(0, 0, 1, 7).hops == 1);
    CHECK(names(f, f.between_nics(0, 0, 2, 0).links) == Names{"leaf0->spine", "spine->leaf1"});
    CHECK(f.between_nics(0, 0, 2, 0).hops == 3);
    CHECK(names(f, f.between_nics(0, 0, 15, 0).links) ==
          Names{"leaf0->spine", "pod0->core", "core->pod3", "spine->leaf7"});
    CHECK(f.between_nics(0, 0, 15, 0).hops == 5);
    CHECK(f.between_nics(0, 0, 15, 0).latency == Duration{5'000'000});
}

TEST_CASE("routes by arithmetic are those that a search over the graph finds") {
    check_against_search(switched(5, FabricKind::SingleSwitch));
    check_against_search(switched(5, FabricKind::FatTree2, 2));
    check_against_search(switched(5, FabricKind::RailOptimised, 2));
    Machine m = switched(9, FabricKind::FatTree3, 2);
    m.cluster.fabric.pod_leaves = 2;
    check_against_search(m);
    Machine rails = switched(9, FabricKind::RailOptimised, 2);
    rails.cluster.fabric.pod_leaves = 16;
    check_against_search(rails);
    Machine shared = switched(4, FabricKind::RailOptimised, 2);
    shared.cluster.node.nics = 4;
    check_against_search(shared);
    Machine domains = switched(8, FabricKind::RailOptimised, 4);
    domains.cluster.node.nodes_per_nvlink_domain = 3;
    check_against_search(domains);
    check_against_search(pcie_box(3, FabricKind::SingleSwitch));
    Machine box = pcie_box(3, FabricKind::FatTree2);
    box.cluster.fabric.leaf_nodes = 2;
    box.cluster.node.nics = 8;
    check_against_search(box);
    box.cluster.node.gpus_per_pcie_switch = 1;
    box.cluster.node.sockets = 4;
    check_against_search(box);
}

TEST_CASE("links that carry less than can enter them bind, the others do not") {
    const auto binds = [](const Machine& m, LinkTier tier) {
        const Fabric f(m);
        std::set<bool> seen;
        for (const Link& l : f.links()) {
            if (l.tier == tier) {
                seen.insert(l.binding);
            }
        }
        return seen;
    };
    using Set = std::set<bool>;
    CHECK(binds(switched(8, FabricKind::FatTree2, 4), LinkTier::LeafUp) == Set{false});
    CHECK(binds(switched(8, FabricKind::FatTree2, 4), LinkTier::LeafDown) == Set{false});
    CHECK(binds(switched(8, FabricKind::FatTree2, 4, 2), LinkTier::LeafUp) == Set{true});
    CHECK(binds(switched(8, FabricKind::RailOptimised, 4, 2), LinkTier::LeafDown) == Set{true});
    // The last leaf holds 2 of 4 nodes: half of the up-links suffice.
    CHECK(binds(switched(6, FabricKind::FatTree2, 4, 2), LinkTier::LeafUp) == Set{false, true});
    CHECK(binds(switched(8, FabricKind::FatTree2, 4), LinkTier::Nic) == Set{true});
    CHECK(binds(switched(8, FabricKind::FatTree2, 4), LinkTier::NvLink) == Set{true});
    Machine pods = switched(16, FabricKind::FatTree3, 2);
    pods.cluster.fabric.pod_leaves = 2;
    CHECK(binds(pods, LinkTier::SpineUp) == Set{false});
    pods.cluster.fabric.pod_oversubscription = 1.5;
    CHECK(binds(pods, LinkTier::SpineUp) == Set{true});
    CHECK(binds(pods, LinkTier::LeafUp) == Set{false});
    // Oversubscribed leaves pass less on: the pod's up-links are then enough at the same factor.
    pods.cluster.fabric.oversubscription = 2;
    pods.cluster.fabric.pod_oversubscription = 1;
    CHECK(binds(pods, LinkTier::SpineUp) == Set{false});
}

TEST_CASE("an up-bundle carries its leaf's down-links over the oversubscription") {
    const Machine m = switched(8, FabricKind::FatTree2, 4, 2.5);
    const Fabric f(m);
    // 4 nodes x 8 NICs x 10 GB/s / 2.5
    CHECK(f.links()[f.leaf_link(1, 0, true).index].capacity.value == doctest::Approx(128e9));
    Machine p = switched(16, FabricKind::FatTree3, 2, 2);
    p.cluster.fabric.pod_leaves = 2;
    p.cluster.fabric.pod_oversubscription = 4;
    const Fabric g(p);
    CHECK(g.links()[g.leaf_link(0, 0, true).index].capacity.value == doctest::Approx(80e9));
    CHECK(g.links()[g.pod_link(0, 0, true).index].capacity.value == doctest::Approx(40e9));
}

TEST_CASE("tiers that a small machine does not reach are left out") {
    const Machine one_leaf = switched(4, FabricKind::FatTree2, 4);
    const Fabric f(one_leaf);
    CHECK(f.tiers().leaves == 0);
    CHECK(f.between_nics(0, 0, 3, 5).hops == 1);
    Machine one_pod = switched(8, FabricKind::FatTree3, 2);
    one_pod.cluster.fabric.pod_leaves = 4;
    const Fabric g(one_pod);
    CHECK(g.tiers().leaves == 4);
    CHECK(g.tiers().pods == 0);
    const Machine all_under_one = switched(8, FabricKind::FatTree2, 0);
    CHECK(Fabric(all_under_one).tiers().leaves == 0);
}

TEST_CASE("fewer NICs than GPUs are shared by neighbours") {
    Machine m = switched(2, FabricKind::SingleSwitch);
    m.cluster.node.nics = 4;
    const Fabric f(m);
    CHECK(f.nic_of(gpu(0, 0)) == 0);
    CHECK(f.nic_of(gpu(0, 1)) == 0);
    CHECK(f.nic_of(gpu(1, 7)) == 3);
    m.cluster.node.nics = 1;
    const Fabric g(m);
    CHECK(g.nic_of(gpu(0, 7)) == 0);
}

TEST_CASE("more NICs than GPUs are one bundle per GPU with the sum of their rates") {
    Machine m = switched(2, FabricKind::SingleSwitch);
    m.cluster.node.nics = 32;
    m.cluster.node.nic_rate = Bandwidth{2.5e9};
    const Fabric f(m);
    CHECK(f.nics() == 8);
    CHECK(f.links()[f.nic_out(1, 7).index].capacity == Bandwidth{10e9});
}

TEST_CASE("the GPUs of one NVLink domain reach each other over its switch across nodes") {
    Machine m = switched(6, FabricKind::SingleSwitch);
    m.cluster.node.nodes_per_nvlink_domain = 3;
    const Fabric f(m);
    const Route inside = f.route(gpu(0, 1), gpu(2, 7));
    CHECK(names(f, inside.links) == Names{"node0/gpu1->nvswitch", "node2/nvswitch->gpu7"});
    CHECK_FALSE(inside.crosses_nodes);
    CHECK(f.route(gpu(2, 1), gpu(3, 1)).crosses_nodes);
    CHECK(f.domain_of(gpu(2, 0)) == 0);
    CHECK(f.domain_of(gpu(3, 0)) == 1);
}

TEST_CASE("without NVLink two GPUs on one PCIe switch do not load the host") {
    const Machine m = pcie_box(1, FabricKind::None);
    const Fabric f(m);
    CHECK(names(f, f.route(gpu(0, 0), gpu(0, 1)).links) ==
          Names{"node0/gpu0->pcie0", "node0/pcie0->gpu1"});
}

TEST_CASE(
    "peers on two PCIe switches pass both host bridges, on two sockets also the link between "
    "them") {
    const Machine m = pcie_box(1, FabricKind::None);
    const Fabric f(m);
    const auto sorted = [](Names n) {
        std::sort(n.begin(), n.end());
        return n;
    };
    CHECK(sorted(names(f, f.route(gpu(0, 1), gpu(0, 2)).links)) ==
          sorted({"node0/gpu1->pcie0",
                  "node0/pcie0->root",
                  "node0/pcie0->host bridge",
                  "node0/root->pcie1",
                  "node0/host bridge->pcie1",
                  "node0/pcie1->gpu2"}));
    CHECK(sorted(names(f, f.route(gpu(0, 6), gpu(0, 1)).links)) ==
          sorted({"node0/gpu6->pcie3",
                  "node0/pcie3->root",
                  "node0/pcie3->host bridge",
                  "node0/socket1->socket0",
                  "node0/root->pcie0",
                  "node0/host bridge->pcie0",
                  "node0/pcie0->gpu1"}));
    CHECK(f.route(gpu(0, 6), gpu(0, 1)).latency == Duration{300'000});
}

TEST_CASE("traffic to a NIC passes the PCIe tree but not the host bridge") {
    const Machine m = pcie_box(2, FabricKind::SingleSwitch);
    const Fabric f(m);
    // One NIC for four switches: on a root port of socket 0.
    CHECK(names(f, f.gpu_to_nic(gpu(1, 0), 0)) == Names{"node1/gpu0->pcie0", "node1/pcie0->root"});
    CHECK(names(f, f.gpu_to_nic(gpu(1, 7), 0)) ==
          Names{"node1/gpu7->pcie3", "node1/pcie3->root", "node1/socket1->socket0"});
    CHECK(names(f, f.nic_to_gpu(0, gpu(0, 7))) ==
          Names{"node0/pcie3->gpu7", "node0/root->pcie3", "node0/socket0->socket1"});
    CHECK(f.route(gpu(0, 0), gpu(1, 0)).links.size() == 6);
}

TEST_CASE("a NIC on the GPU's own PCIe switch needs no up-link") {
    Machine m = pcie_box(2, FabricKind::SingleSwitch);
    m.cluster.node.nics = 4;
    const Fabric f(m);
    CHECK(names(f, f.gpu_to_nic(gpu(0, 5), 2)) == Names{"node0/gpu5->pcie2"});
    CHECK(names(f, f.gpu_to_nic(gpu(0, 5), 3)) ==
          Names{"node0/gpu5->pcie2", "node0/pcie2->root", "node0/root->pcie3"});
}

TEST_CASE("on a switched node PCIe is modelled only where it is slower than the NIC") {
    Machine m = switched(2, FabricKind::SingleSwitch);
    CHECK(Fabric(m).gpu_to_nic(gpu(0, 0), 0).empty());
    m.cluster.node.gpu.pcie = Bandwidth{5e9};
    const Fabric f(m);
    CHECK(names(f, f.gpu_to_nic(gpu(0, 0), 0)) == Names{"node0/gpu0->pcie0"});
    CHECK(names(f, f.route(gpu(0, 0), gpu(0, 1)).links) ==
          Names{"node0/gpu0->nvswitch", "node0/nvswitch->gpu1"});
}

TEST_CASE("on the cube mesh neighbours talk directly, with one or two links") {
    const Machine m = cube_mesh();
    const Fabric f(m);
    const Route one = f.route(gpu(0, 0), gpu(0, 1));
    CHECK(names(f, one.links) == Names{"node0/gpu0->gpu1"});
    CHECK(f.links()[one.links[0].link.index].capacity == Bandwidth{25e9});
    const Route two = f.route(gpu(0, 4), gpu(0, 0));
    CHECK(names(f, two.links) == Names{"node0/gpu4->gpu0"});
    CHECK(f.links()[two.links[0].link.index].capacity == Bandwidth{50e9});
    CHECK(two.latency == Duration{500'000});
    CHECK(two.hops == 0);
}

TEST_CASE(
    "on the cube mesh strangers talk through common neighbours, split in proportion to what these "
    "carry") {
    const Machine m = cube_mesh();
    const Fabric f(m);
    // 0 and 5 share neighbours 1 (links 1 and 2) and 4 (links 2 and 1): 25 GB/s each way, so half each.
    const Route r = f.route(gpu(0, 0), gpu(0, 5));
    CHECK(r.hops == 1);
    CHECK(r.latency == Duration{1'000'000});
    REQUIRE(r.links.size() == 4);
    for (const LinkShare& s : r.links) {
        CHECK(share(s) == 0.5);
    }
    // 0 and 7: through 3 (2 and 1 links: 25 GB/s) and 4 (2 and 2 links: 50 GB/s): one third and two thirds.
    const Route unequal = f.route(gpu(0, 0), gpu(0, 7));
    REQUIRE(unequal.links.size() == 4);
    std::int64_t out = 0;
    for (const LinkShare& s : unequal.links) {
        const bool by_four = f.link_name(s.link).find("gpu4") != std::string::npos;
        CHECK(share(s) == doctest::Approx(by_four ? 2.0 / 3 : 1.0 / 3).epsilon(1e-5));
        out += f.link_name(s.link).starts_with("node0/gpu0->") ? s.share : 0;
    }
    CHECK(out == kUnit);  // to the last unit: no byte is lost by rounding
}

TEST_CASE("bridged pairs use their bridge, pairs without one go over PCIe") {
    Machine m = pcie_box(1, FabricKind::None);
    m.cluster.node.intra = IntraNode::Mesh;
    m.cluster.node.gpu.link_rate = Bandwidth{25e9};
    m.cluster.node.mesh = {{0, 1, 12}, {2, 3, 12}, {4, 5, 12}, {6, 7, 12}};
    const Fabric f(m);
    CHECK(names(f, f.route(gpu(0, 2), gpu(0, 3)).links) == Names{"node0/gpu2->gpu3"});
    CHECK(names(f, f.route(gpu(0, 3), gpu(0, 2)).links) == Names{"node0/gpu3->gpu2"});
    CHECK(f.route(gpu(0, 1), gpu(0, 2)).links.size() == 6);
    CHECK(f.links()[f.route(gpu(0, 2), gpu(0, 3)).links[0].link.index].capacity ==
          Bandwidth{300e9});
}

TEST_CASE("a chain of GPUs relays once, no farther") {
    Machine m = pcie_box(1, FabricKind::None);
    m.cluster.node.intra = IntraNode::Mesh;
    m.cluster.node.gpu.link_rate = Bandwidth{25e9};
    m.cluster.node.mesh = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
    const Fabric f(m);
    CHECK(names(f, f.route(gpu(0, 0), gpu(0, 2)).links) ==
          Names{"node0/gpu0->gpu1", "node0/gpu1->gpu2"});
    CHECK(f.links()[f.route(gpu(0, 0), gpu(0, 3)).links[0].link.index].tier != LinkTier::NvLink);
}

TEST_CASE("hashed routing takes one lane of each bundle, the same each time, and uses all lanes") {
    Machine m = switched(16, FabricKind::FatTree3, 2);
    m.cluster.fabric.pod_leaves = 2;
    m.routing = Routing::Ecmp;
    const Fabric f(m);
    CHECK(f.tiers().leaf_lanes == 16);  // as many up-links as NICs below
    CHECK(f.tiers().pod_lanes == 32);
    const FabricGraph graph = build_graph(f, m.nodes);
    std::set<LinkId> seen;
    for (int node = 2; node < 16; ++node) {
        for (int nic = 0; nic < 8; ++nic) {
            const NicPath path = f.nic_path(0, 3, node, nic);
            CHECK(path.links == f.nic_path(0, 3, node, nic).links);
            seen.insert(path.links[0]);
            // A lane of the graph: one of its shortest paths is this one.
            std::vector<LinkId> links{f.nic_out(0, 3)};
            links.insert(links.end(), path.links.begin(), path.links.begin() + path.count);
            links.push_back(f.nic_in(node, nic));
            const auto found = search_routes(graph, gpu(0, 3), gpu(node, nic));
            CHECK(std::find(found.begin(), found.end(), links) != found.end());
        }
    }
    // 112 draws of 16 lanes miss a given one with probability 0.07 %.
    CHECK(seen.size() == 16);
}

TEST_CASE("only the outgoing side of a NIC leaves the node") {
    const Machine m = switched(2, FabricKind::RailOptimised, 1);
    const Fabric f(m);
    CHECK(f.leaves_node(f.nic_out(1, 0)));
    CHECK_FALSE(f.leaves_node(f.nic_in(1, 0)));
    CHECK_FALSE(f.leaves_node(f.gpu_out(gpu(0, 0))));
    CHECK_FALSE(f.leaves_node(f.leaf_link(0, 0, true)));
}

TEST_CASE("every link of a machine has a name of its own") {
    Machine m = switched(6, FabricKind::RailOptimised, 2);
    m.cluster.fabric.pod_leaves = 8;
    const Fabric f(m);
    std::set<std::string> seen;
    for (std::size_t l = 0; l < f.links().size(); ++l) {
        seen.insert(f.link_name(LinkId{l}));
    }
    CHECK(seen.size() == f.links().size());
    CHECK_THROWS_AS(static_cast<void>(f.link_name(LinkId{f.links().size()})), BugError);
}

TEST_CASE("machines that cannot be are refused") {
    CHECK_THROWS_AS(Fabric(switched(0, FabricKind::SingleSwitch)), BugError);
    CHECK_THROWS_AS(Fabric(switched(2, FabricKind::None)), BugError);
    Machine no_nics = switched(2, FabricKind::SingleSwitch);
    no_nics.cluster.node.nics = 0;
    CHECK_THROWS_AS(Fabric{no_nics}, BugError);
    Machine no_gpus = switched(1, FabricKind::None);
    no_gpus.cluster.node.gpus = 0;
    CHECK_THROWS_AS(Fabric{no_gpus}, BugError);
    Machine bad_mesh = cube_mesh();
    bad_mesh.cluster.node.mesh.push_back({0, 8, 1});
    CHECK_THROWS_AS(Fabric{bad_mesh}, BugError);
    bad_mesh.cluster.node.mesh.back() = {3, 3, 1};
    CHECK_THROWS_AS(Fabric{bad_mesh}, BugError);
}
