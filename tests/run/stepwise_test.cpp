// Collectives played message by message. Expectations: the closed forms of law: steps, max-min shares, and the same
// picoseconds folded and not.
#include <array>
#include <vector>

#include <doctest/doctest.h>

#include "tests/run/calling.h"

using namespace memwall;
using namespace memwall::testing;

TEST_CASE(
    "all four fidelities give 2(n-1)(a + S/(nB)) for a ring without contention, ideal without a") {
    // One node: n = 4, B = 0.1 B/ps, a = 500 ns.
    for (const std::int64_t chunk : {1LL, 1000LL, 123'457LL, 50'000'000LL}) {
        CAPTURE(chunk);
        const Case c =
            one_job(1, {{CollectiveKind::AllReduce, GroupRole::Dp, Bytes(4 * chunk)}}, "ring");
        const Ps wanted = 6 * (500'000 + 10 * chunk);
        CHECK(c.step(Fidelity::Ideal) == 6 * 10 * chunk);
        CHECK(c.step(Fidelity::AlphaBeta) == wanted);
        CHECK(c.step(Fidelity::Fluid) == wanted);
        CHECK(c.step(Fidelity::Stepwise) == wanted);
        CHECK(c.step(Fidelity::Stepwise, false) == wanted);
    }
}

TEST_CASE("a collective alone takes the same time message by message and as one fluid activity") {
    struct What {
        CollectiveKind kind;
        const char* algorithm;
    };
    for (const What what : {What{CollectiveKind::AllReduce, "ring"},
                            What{CollectiveKind::AllReduce, "hierarchical"},
                            What{CollectiveKind::AllGather, ""},
                            What{CollectiveKind::ReduceScatter, ""},
                            What{CollectiveKind::AllToAll, ""},
                            What{CollectiveKind::Shift, ""}}) {
        for (const int nodes : {1, 2, 3, 8}) {
            CAPTURE(static_cast<int>(what.kind));
            CAPTURE(what.algorithm);
            CAPTURE(nodes);
            if (nodes == 1 && what.algorithm == std::string("hierarchical")) {
                continue;
            }
            const Bytes bytes(std::int64_t{4} * nodes * 1'000'000);
            const Case c = one_job(nodes, {{what.kind, GroupRole::Dp, bytes}}, what.algorithm);
            const Ps fluid = c.step(Fidelity::Fluid);
            const Ps steps = c.step(Fidelity::Stepwise);
            CHECK(std::abs(steps - fluid) <= 16 * nodes);  // rounding: a picosecond per step
            CHECK(steps == c.step(Fidelity::Stepwise, false));
        }
    }
}

TEST_CASE("the rings of two jobs that meet on one link get half of it each") {
    // Leaves of two nodes with the up-link of one NIC: the second leaf is shared by nodes 2 and 3, which are of different
    // jobs; node 2 sends up to node 0, and node 3 to node 4.
    Case c;
    Machine& m = c.plan.machine;
    m = machine_of(6);
    m.cluster.node.gpus = 1;
    m.cluster.node.nics = 1;
    m.cluster.fabric.kind = FabricKind::FatTree2;
    m.cluster.fabric.leaf_nodes = 2;
    m.cluster.fabric.oversubscription = 2;
    m.cluster.fabric.hop_latency = Duration(1'000);
    m.algorithm = "ring";
    // Three ranks send 2 x 2 chunks of 20 MB at 10 GB/s: 2 ms each when alone.
    const std::vector<CollectiveCall> call = {
        {CollectiveKind::AllReduce, GroupRole::Dp, Bytes(60'000'000)}};
    c.add_job(0, 3, 1, call);
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Stepwise}) {
        const double alone = 1e-12 * static_cast<double>(c.step(fidelity));
        CHECK(alone == doctest::Approx(8e-3).epsilon(1e-4));
        Case two = c;
        two.add_job(3, 3, 1, call);
        for (const bool fold : {true, false}) {
            CHECK(1e-12 * static_cast<double>(two.step(fidelity, fold)) ==
                  doctest::Approx(16e-3).epsilon(1e-4));
        }
    }
}

TEST_CASE(
    "folded and unfolded runs are equal message by message, with groups that share NICs and with a "
    "straggler") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        Case c;
        const int nodes = static_cast<int>(dice.range(1, 5));
        c.plan.machine = machine_of(nodes);
        c.plan.machine.cluster.node.nics = dice.chance(50) ? 1 : 4;
        c.plan.machine.cluster.fabric.kind =
            dice.chance(50) ? FabricKind::SingleSwitch : FabricKind::FatTree2;
        c.plan.machine.cluster.fabric.leaf_nodes = static_cast<int>(dice.range(1, 3));
        c.plan.machine.cluster.fabric.oversubscription = static_cast<double>(dice.range(1, 3));
        const std::array<CollectiveKind, 5> kinds = {CollectiveKind::AllReduce,
                                                     CollectiveKind::AllGather,
                                                     CollectiveKind::ReduceScatter,
                                                     CollectiveKind::AllToAll,
                                                     CollectiveKind::Shift};
        std::vector<CollectiveCall> calls;
        for (std::int64_t i = dice.range(1, 3); i > 0; --i) {
            calls.push_back({kinds[static_cast<std::size_t>(dice.range(0, 4))],
                             dice.chance(50) ? GroupRole::Dp : GroupRole::Tp,
                             Bytes(dice.range(0, 3'000'000))});
        }
        c.add_job(0, nodes, 1 << dice.range(0, 2), calls);
        const RunResult plain = c.run(Fidelity::Stepwise, false);
        const RunResult folded = c.run(Fidelity::Stepwise, true);
        CHECK(plain.step_ends == folded.step_ends);
        CHECK(plain.signature == folded.signature);
    }
}
