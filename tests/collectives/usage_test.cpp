#include <array>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/collectives/transfer.h"
#include "sim/network/placement.h"
#include "tests/collectives/machines.h"

using namespace memwall;
using namespace memwall::testing;
using namespace memwall::literals;

namespace {

std::map<std::string, double> named_usage(const Fabric& fabric, const std::vector<Usage>& usage) {
    std::map<std::string, double> result;
    for (const Usage& u : usage) {
        result[fabric.link_name(LinkId{u.link})] =
            static_cast<double>(u.coefficient) / static_cast<double>(kUnit);
    }
    return result;
}

std::map<std::string, double> use(const Machine& m,
                                  CollectiveKind kind,
                                  const std::vector<DeviceId>& group,
                                  Variant variant) {
    const Fabric fabric(m);
    return named_usage(fabric, usage_of(fabric, group, kind, variant));
}

constexpr Variant kRing{Algorithm::Ring, Protocol::None};

// Coefficients are rounded down to 2^-20.
doctest::Approx about(double x) {
    return doctest::Approx(x).epsilon(1e-5);
}

}  // namespace

TEST_CASE("a ring in a node sends 2(n-1)/n of the message through every port, each way") {
    const auto u = use(plain(1), CollectiveKind::AllReduce, devices(8), kRing);
    CHECK(u.size() == 16);
    CHECK(u.at("node0/gpu5->nvswitch") == about(14.0 / 8));
    CHECK(u.at("node0/nvswitch->gpu0") == about(14.0 / 8));
}

TEST_CASE("a ring with one rank per node uses that rank's NIC and nothing in the node") {
    const auto u = use(plain(4), CollectiveKind::AllGather, devices(4, 3, 8), kRing);
    CHECK(u.size() == 8);
    CHECK(u.at("node0/nic3->network") == about(3.0 / 4));
    CHECK(u.at("node2/network->nic3") == about(3.0 / 4));
}

TEST_CASE("a ring with all ranks of its nodes spreads over all NICs and leaves the ports 1 - m/n") {
    const auto u = use(plain(2), CollectiveKind::AllReduce, devices(16), kRing);
    CHECK(u.size() == 32 + 32);
    CHECK(u.at("node1/nic7->network") == about(30.0 / 16 / 8));
    CHECK(u.at("node1/gpu2->nvswitch") == about(30.0 / 16 * 7 / 8));
}

TEST_CASE(
    "data-parallel rings of eight tensor-parallel ranks share no link on a rail-aligned machine") {
    const Machine m = plain(4, FabricKind::RailOptimised);
    std::map<std::string, int> users;
    for (int rank = 0; rank < 8; ++rank) {
        for (const auto& [link, bytes] :
             use(m, CollectiveKind::AllReduce, devices(4, rank, 8), kRing)) {
            CHECK(bytes > 0);
            ++users[link];
        }
    }
    for (const auto& [link, count] : users) {
        CAPTURE(link);
        CHECK(count == 1);
    }
    CHECK(users.count("node3/nic7->network") == 1);
}

TEST_CASE("with fewer NICs than rings, the rings share them") {
    Machine m = plain(4);
    m.cluster.node.nics = 2;
    const auto first = use(m, CollectiveKind::AllReduce, devices(4, 0, 8), kRing);
    const auto second = use(m, CollectiveKind::AllReduce, devices(4, 1, 8), kRing);
    CHECK(first == second);
}

TEST_CASE("two rings through the same NICs get half of them each, and one alone all of them") {
    const Machine m = plain(2);
    const Fabric fabric(m);
    const CollectiveCall call{.kind = CollectiveKind::AllReduce, .bytes = 100_MiB};
    Machine narrow = m;
    narrow.cluster.node.nics = 1;
    const Fabric shared(narrow);
    const auto a = plan_collective(shared, call, devices(2, 0, 8));
    const auto b = plan_collective(shared, call, devices(2, 1, 8));
    REQUIRE(a);
    REQUIRE(b);
    std::vector<Usage> usage = a->usage;
    usage.insert(usage.end(), b->usage.begin(), b->usage.end());
    const auto middle = static_cast<std::uint32_t>(a->usage.size());
    const auto end = static_cast<std::uint32_t>(usage.size());
    FluidNetwork network(link_capacities(shared), usage);
    const FlowId first = network.start({0, middle, a->cap, a->weight}, call.bytes, Time{});
    network.settle(Time{});
    CHECK(network.rate(first) == doctest::Approx(10e9));
    const FlowId second = network.start({middle, end, b->cap, b->weight}, call.bytes, Time{});
    network.settle(Time{});
    CHECK(network.rate(first) == doctest::Approx(5e9));
    CHECK(network.rate(second) == doctest::Approx(5e9));
}

TEST_CASE("collectives with different loads per byte still share a NIC evenly on the wire") {
    // An all-reduce puts 2(n-1)/n on the NIC per byte, an all-gather (n-1)/n: equal wire rates mean message rates 1 : 2.
    Machine m = plain(4);
    m.cluster.node.nics = 1;
    const Fabric fabric(m);
    const auto reduce = plan_collective(
        fabric, {.kind = CollectiveKind::AllReduce, .bytes = 1_GiB}, devices(4, 0, 8));
    const auto gather = plan_collective(
        fabric, {.kind = CollectiveKind::AllGather, .bytes = 1_GiB}, devices(4, 1, 8));
    REQUIRE(reduce);
    REQUIRE(gather);
    std::vector<Usage> usage = reduce->usage;
    usage.insert(usage.end(), gather->usage.begin(), gather->usage.end());
    const auto middle = static_cast<std::uint32_t>(reduce->usage.size());
    FluidNetwork network(link_capacities(fabric), usage);
    const FlowId first = network.start({0, middle, reduce->cap, reduce->weight}, 1_GiB, Time{});
    const FlowId second = network.start(
        {middle, static_cast<std::uint32_t>(usage.size()), gather->cap, gather->weight},
        1_GiB,
        Time{});
    network.settle(Time{});
    CHECK(network.rate(second) / network.rate(first) == doctest::Approx(2).epsilon(1e-3));
}

TEST_CASE(
    "a tree sends the message once out of each of two nodes, twice out of the busiest of many") {
    const Variant tree{Algorithm::Tree, Protocol::None};
    const auto two = use(plain(2), CollectiveKind::AllReduce, devices(16), tree);
    CHECK(two.at("node0/nic0->network") == about(1.0 / 8));
    CHECK(two.at("node0/gpu0->nvswitch") == about(2.0 * 7 / 8));
    double most = 0;
    for (const auto& [link, bytes] :
         use(plain(16), CollectiveKind::AllReduce, devices(16, 0, 8), tree)) {
        most = std::max(most, bytes);
    }
    CHECK(most == about(2));
}

TEST_CASE("NVLS sends the message and the n-th part of it through every port") {
    const auto u =
        use(plain(1), CollectiveKind::AllReduce, devices(8), {Algorithm::Nvls, Protocol::None});
    CHECK(u.at("node0/gpu3->nvswitch") == about(1.125));
    CHECK(u.at("node0/nvswitch->gpu3") == about(1.125));
}

TEST_CASE("an all-to-all over rails relays in the node and stays off the spine") {
    const Machine m = plain(8, FabricKind::RailOptimised);
    Machine leaves = m;
    leaves.cluster.fabric.leaf_nodes = 8;
    const auto u =
        use(leaves, CollectiveKind::AllToAll, devices(16), {Algorithm::Pairwise, Protocol::None});
    // NIC out per node p(n-p)/n = 4 over 8 NICs; port (p-1)/n + (n-p)/n (p-1)/p = 7/16 + 7/16.
    CHECK(u.at("node0/nic2->network") == about(0.5));
    CHECK(u.at("node1/nvswitch->gpu4") == about(14.0 / 16));
    for (const auto& [link, bytes] : u) {
        CHECK(link.find("spine") == std::string::npos);
        CHECK(bytes > 0);
    }
}

TEST_CASE("LL puts two bytes on the wire per byte, LL128 128 per 120") {
    const Machine m = nccl_machine(a100(), 1, 25);
    const double once =
        use(m, CollectiveKind::AllReduce, devices(8), {Algorithm::Ring, Protocol::Simple})
            .begin()
            ->second;
    CHECK(use(m, CollectiveKind::AllReduce, devices(8), {Algorithm::Ring, Protocol::Ll})
              .begin()
              ->second == about(2 * once));
    CHECK(use(m, CollectiveKind::AllReduce, devices(8), {Algorithm::Ring, Protocol::Ll128})
              .begin()
              ->second == about(once * 128 / 120));
}

TEST_CASE("relabelling the ranks of a group changes nothing") {
    const Machine m = plain(4, FabricKind::RailOptimised);
    const Fabric fabric(m);
    std::vector<DeviceId> forward = devices(32);
    std::vector<DeviceId> backward(forward.rbegin(), forward.rend());
    CHECK(shape_of(fabric, forward) == shape_of(fabric, backward));
    CHECK(use(m, CollectiveKind::AllReduce, forward, kRing) ==
          use(m, CollectiveKind::AllReduce, backward, kRing));
}

TEST_CASE("a ring over a cube mesh uses every link between its members") {
    // DGX-1 V100: 16 NVLink bundles of 24 links; each GPU's traffic is spread by links, so all carry the same per link.
    Machine m = plain(1, FabricKind::None);
    Node& node = m.cluster.node;
    node.intra = IntraNode::Mesh;
    node.gpu.links = 6;
    node.gpu.link_rate = gbs(25);
    node.mesh = {{0, 1, 1},
                 {0, 2, 1},
                 {0, 3, 2},
                 {0, 4, 2},
                 {1, 2, 2},
                 {1, 3, 1},
                 {1, 5, 2},
                 {2, 3, 2},
                 {2, 6, 1},
                 {3, 7, 1},
                 {4, 5, 1},
                 {4, 6, 1},
                 {4, 7, 2},
                 {5, 6, 2},
                 {5, 7, 1},
                 {6, 7, 2}};
    const Fabric fabric(m);
    const GroupShape all = shape_of(fabric, devices(8));
    CHECK(all.medium == Medium::NvLink);
    CHECK_FALSE(all.nvls);
    // The least connected GPUs (2 and 3 have 6, as all) bound it: six links of 25 GB/s.
    int fewest = 100;
    for (int g = 0; g < 8; ++g) {
        int links = 0;
        for (const MeshLink& l : node.mesh) {
            links += l.a == g || l.b == g ? l.links : 0;
        }
        fewest = std::min(fewest, links);
    }
    CHECK(all.port.value == doctest::Approx(fewest * 25e9).epsilon(1e-5));
    CHECK(shape_of(fabric, devices(2)).port.value == doctest::Approx(25e9).epsilon(1e-5));
    // GPUs 0 and 7 have no link to each other: they talk over PCIe.
    const std::vector<DeviceId> apart = {DeviceId{0}, DeviceId{7}};
    CHECK(shape_of(fabric, apart).medium == Medium::HostBridge);
}

TEST_CASE("GPUs without NVLink are a pair under one switch or meet over the host bridge") {
    const Machine m = pcie_box();
    const Fabric fabric(m);
    CHECK(shape_of(fabric, devices(2)).medium == Medium::PcieSwitch);
    CHECK(shape_of(fabric, devices(2, 1)).medium == Medium::HostBridge);
    CHECK(shape_of(fabric, devices(8)).medium == Medium::HostBridge);
}

// Groups of 16 GPUs, from any first one on: neighbours, two per node, one per node.
TEST_CASE(
    "groups that sit alike have the same shape and the same links, a fixed distance further on") {
    Machine pods = plain(24, FabricKind::RailOptimised);
    pods.cluster.fabric.leaf_nodes = 4;
    pods.cluster.fabric.pod_leaves = 16;
    pods.cluster.fabric.oversubscription = 2;
    Machine tree = plain(24, FabricKind::FatTree2);
    tree.cluster.fabric.leaf_nodes = 4;
    Machine few_nics = plain(24);
    few_nics.cluster.node.nics = 2;
    const std::array variants = {kRing,
                                 Variant{Algorithm::Tree, Protocol::None},
                                 Variant{Algorithm::Hierarchical, Protocol::None},
                                 Variant{Algorithm::Nvls, Protocol::None}};
    for (const Machine& m : {pods, tree, few_nics}) {
        const Fabric fabric(m);
        const Placements placements(fabric);
        std::map<std::vector<Place>, std::vector<DeviceId>> seen;
        std::size_t alike = 0;
        for (const std::size_t stride : {1U, 4U, 8U}) {
            for (std::size_t first = 0; first + 16 * stride <= fabric.devices(); ++first) {
                std::vector<DeviceId> group;
                for (std::size_t i = 0; i < 16; ++i) {
                    group.emplace_back(first + i * stride);
                }
                std::vector<Place> places(group.size());
                REQUIRE(placements.relative(group, places));
                const auto [known, fresh] = seen.try_emplace(places, group);
                alike += fresh ? 0 : 1;
                REQUIRE(shape_of(fabric, known->second) == shape_of(fabric, group));
                const LinkShift shift = placements.shift(known->second.front(), group.front());
                const auto check = [&](CollectiveKind kind, Variant variant) {
                    std::vector<Usage> moved = usage_of(fabric, known->second, kind, variant);
                    for (Usage& u : moved) {
                        u.link = placements.shifted(u.link, shift);
                    }
                    REQUIRE(moved == usage_of(fabric, group, kind, variant));
                };
                for (const Variant variant : variants) {
                    check(CollectiveKind::AllReduce, variant);
                }
                check(CollectiveKind::ReduceScatter, kRing);
                check(CollectiveKind::AllToAll, {Algorithm::Pairwise, Protocol::None});
                check(CollectiveKind::Shift, {Algorithm::PointToPoint, Protocol::None});
            }
        }
        CHECK(alike > seen.size());
    }
}
