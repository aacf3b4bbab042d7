// Links that carry less than they should, as a run meets them.
#include <array>

#include <doctest/doctest.h>

#include "sim/network/fabric.h"
#include "tests/run/calling.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

// A ring of three nodes with one GPU and one NIC of 10 GB/s each. Every rank sends 2 x 2 chunks of 20 MB: 2 ms each.
Case ring_of_three() {
    Case c;
    Machine& m = c.plan.machine;
    m = machine_of(3);
    m.cluster.node.gpus = 1;
    m.cluster.node.nics = 1;
    m.cluster.fabric.hop_latency = Duration(1'000);
    m.algorithm = "ring";
    c.add_job(0, 3, 1, {{CollectiveKind::AllReduce, GroupRole::Dp, Bytes(60'000'000)}});
    return c;
}

constexpr double kAlone = 8e-3;  // seconds

double seconds(const Case& c, Fidelity fidelity, bool fold) {
    return 1e-12 * static_cast<double>(c.step(fidelity, fold));
}

const LinkLoad& load_of(const RunResult& result, const Fabric& fabric, const char* link) {
    for (const LinkLoad& load : result.links) {
        if (fabric.link_name(LinkId(load.link)) == link) {
            return load;
        }
    }
    FAIL("link without load");
    return result.links.front();
}

}  // namespace

TEST_CASE("a ring through a link at 50 % takes twice the time of its flow, folded or not") {
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Stepwise}) {
        for (const bool fold : {true, false}) {
            Case c = ring_of_three();
            CHECK(seconds(c, fidelity, fold) == doctest::Approx(kAlone).epsilon(1e-4));
            c.plan.machine.link_events = {{"node0/nic0->network", 0.5}};
            CHECK(seconds(c, fidelity, fold) == doctest::Approx(2 * kAlone).epsilon(1e-4));
        }
    }
}

TEST_CASE("an up-link with room for all below it binds once an event has taken the room away") {
    // Two nodes per leaf: an up-link of 20 GB/s, through which one rank of the ring sends 10 GB/s.
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Stepwise}) {
        Case c = ring_of_three();
        c.plan.machine.cluster.fabric.kind = FabricKind::FatTree2;
        c.plan.machine.cluster.fabric.leaf_nodes = 2;
        CHECK(seconds(c, fidelity, true) == doctest::Approx(kAlone).epsilon(1e-4));
        c.plan.machine.link_events = {{"leaf0->spine", 0.5}};
        CHECK(seconds(c, fidelity, true) == doctest::Approx(kAlone).epsilon(1e-4));
        c.plan.machine.link_events = {{"leaf0->spine", 0.125}};  // 2.5 GB/s are left
        CHECK(seconds(c, fidelity, true) == doctest::Approx(4 * kAlone).epsilon(1e-4));
    }
}

TEST_CASE("utilisation counts what an event leaves of a link") {
    // 80 MB over 5 GB/s in 16 ms fill the degraded link; the others are half empty.
    Case c = ring_of_three();
    c.plan.machine.link_events = {{"node0/nic0->network", 0.5}};
    const RunResult result = c.run(Fidelity::Fluid, false);
    const Fabric fabric(c.plan.machine);
    CHECK(load_of(result, fabric, "node0/nic0->network").utilisation ==
          doctest::Approx(1).epsilon(1e-4));
    CHECK(load_of(result, fabric, "node1/nic0->network").utilisation ==
          doctest::Approx(0.5).epsilon(1e-4));
}

TEST_CASE("fidelities without links take no notice of events on them") {
    for (const Fidelity fidelity : {Fidelity::Ideal, Fidelity::AlphaBeta}) {
        Case c = ring_of_three();
        const Ps healthy = c.step(fidelity);
        c.plan.machine.link_events = {{"node0/nic0->network", 0.5}};
        CHECK(c.step(fidelity) == healthy);
    }
}

TEST_CASE("folded and unfolded runs are equal with degraded links of any kind") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const int nodes = static_cast<int>(dice.range(2, 5));
        Case c;
        Machine& m = c.plan.machine;
        m = machine_of(nodes);
        m.cluster.node.nics = dice.chance(50) ? 1 : 4;
        m.cluster.fabric.kind = dice.chance(50) ? FabricKind::SingleSwitch : FabricKind::FatTree2;
        m.cluster.fabric.leaf_nodes = static_cast<int>(dice.range(1, 3));
        const std::array<CollectiveKind, 3> kinds = {
            CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::AllToAll};
        std::vector<CollectiveCall> calls;
        for (std::int64_t i = dice.range(1, 3); i > 0; --i) {
            calls.push_back({kinds[static_cast<std::size_t>(dice.range(0, 2))],
                             dice.chance(50) ? GroupRole::Dp : GroupRole::Tp,
                             Bytes(dice.range(1, 3'000'000))});
        }
        c.add_job(0, nodes, 1 << dice.range(0, 2), calls);
        const Fabric healthy(m);
        std::vector<LinkEvent> events;
        for (std::int64_t i = dice.range(1, 2); i > 0; --i) {
            const auto links = static_cast<std::int64_t>(healthy.links().size());
            const LinkId link(static_cast<std::size_t>(dice.range(0, links - 1)));
            events.push_back({healthy.link_name(link), 0.25});
        }
        m.link_events = events;
        for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Stepwise}) {
            const RunResult plain = c.run(fidelity, false);
            const RunResult folded = c.run(fidelity, true);
            CHECK(plain.step_ends == folded.step_ends);
            CHECK(plain.signature == folded.signature);
        }
    }
}
