// Several jobs on one machine: the first is measured, the others repeat their steps until it has ended.
#include <cstdint>

#include <doctest/doctest.h>

#include "sim/run/simulate.h"

using namespace memwall;

namespace {

// Nodes of two GPUs at 100 GB/s.
Machine machine_of(int nodes) {
    Machine m;
    m.nodes = nodes;
    m.law = CollectiveLaw::Steps;
    m.interference = false;
    Node& node = m.cluster.node;
    node.gpus = 2;
    node.gpu.links = 10;
    node.gpu.link_rate = Bandwidth(10e9);
    node.gpu.pcie = Bandwidth(30e9);
    node.gpu.nccl.channels = 4;
    node.nics = 2;
    node.nic_rate = Bandwidth(10e9);
    m.cluster.nodes_max = nodes;
    m.cluster.fabric.kind = FabricKind::SingleSwitch;
    return m;
}

void add(ProgramSet& set, std::size_t stage, OpKind kind, Stream stream, std::uint32_t work) {
    Op op;
    op.kind = kind;
    op.stream = stream;
    op.category = kind == OpKind::Exchange ? Category::PpComm : Category::DpComm;
    op.work = work;
    Item item;
    item.kind = Item::Kind::Op;
    item.index = static_cast<std::uint32_t>(set.ops.size());
    set.ops.push_back(op);
    set.programs[stage].items.push_back(item);
}

// Two stages, each of which sends only after it has received.
ProgramSet both_receive_first() {
    ProgramSet set;
    set.labels = {"op"};
    set.programs.resize(2);
    for (const int stage : {0, 1}) {
        const int peer = 1 - stage;
        for (const bool send : {false, true}) {
            set.exchanges.push_back({{{send, peer, 0, Bytes(8)}}});
            add(set,
                static_cast<std::size_t>(stage),
                OpKind::Exchange,
                Stream::Compute,
                static_cast<std::uint32_t>(set.exchanges.size() - 1));
        }
    }
    return set;
}

ProgramSet all_reduce(std::int64_t bytes) {
    ProgramSet set;
    set.labels = {"op"};
    set.programs.resize(1);
    set.collectives = {{CollectiveKind::AllReduce, GroupRole::Dp, Bytes(bytes)}};
    add(set, 0, OpKind::Collective, Stream::Dp, 0);
    return set;
}

}  // namespace

TEST_CASE("a first job that cannot go on is told so, though another one repeats for ever") {
    Plan plan;
    plan.machine = machine_of(2);
    plan.jobs.resize(2);
    plan.jobs[0].nodes = 1;
    plan.jobs[0].degrees.pp = 2;
    plan.jobs[1].first_node = 1;
    plan.jobs[1].nodes = 1;
    plan.jobs[1].degrees.dp = 2;
    const ProgramSet stuck = both_receive_first();
    const ProgramSet endless = all_reduce(1'000'000);
    for (const bool fold : {false, true}) {
        for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Stepwise}) {
            plan.run.fold = fold;
            plan.machine.fidelity = fidelity;
            SimulateOptions options;
            options.programs = {&stuck, &endless};
            const RunResult result = simulate(plan, options);
            REQUIRE(result.refused.empty());
            REQUIRE(result.deadlock.size() == 2);
            CHECK(result.deadlock[0].waits_for == "rank 1 (stage 1) to send");
            CHECK(result.deadlock[1].waits_for == "rank 0 (stage 0) to send");
        }
    }
}

// Rings of two fill their links all the time: what a background job moved outside the measured step does not count, however
// long its transfers are.
TEST_CASE("links of a background job carry what they can carry in the measured step") {
    for (const std::int64_t bytes : {300'000LL, 1'500'000LL, 100'000'000LL}) {
        CAPTURE(bytes);
        Plan plan;
        plan.machine = machine_of(2);
        plan.jobs.resize(2);
        for (int j = 0; j < 2; ++j) {
            plan.jobs[static_cast<std::size_t>(j)].first_node = j;
            plan.jobs[static_cast<std::size_t>(j)].nodes = 1;
            plan.jobs[static_cast<std::size_t>(j)].degrees.dp = 2;
        }
        const ProgramSet measured = all_reduce(1'000'000);
        const ProgramSet beside = all_reduce(bytes);
        for (const bool fold : {false, true}) {
            plan.run.fold = fold;
            SimulateOptions options;
            options.programs = {&measured, &beside};
            const RunResult result = simulate(plan, options);
            REQUIRE(result.refused.empty());
            REQUIRE(result.deadlock.empty());
            double used = 0;  // links at their full rate, of both jobs
            for (const LinkLoad& load : result.links) {
                CHECK(load.utilisation == doctest::Approx(1).epsilon(1e-4));
                used += static_cast<double>(load.multiplicity);
            }
            CHECK(used == 8);  // in and out of four GPUs
        }
    }
}

// How far another job has come when the first ends is counted op by op or piece by piece: its ops are left out. Here 2 ranks
// (or one class of them) make one op in each of 2 steps.
TEST_CASE("ops are those of the first job, whatever runs beside it") {
    for (const std::int64_t bytes : {300'000LL, 1'500'000LL}) {
        Plan plan;
        plan.machine = machine_of(2);
        plan.jobs.resize(2);
        for (int j = 0; j < 2; ++j) {
            plan.jobs[static_cast<std::size_t>(j)].first_node = j;
            plan.jobs[static_cast<std::size_t>(j)].nodes = 1;
            plan.jobs[static_cast<std::size_t>(j)].degrees.dp = 2;
        }
        const ProgramSet measured = all_reduce(1'000'000);
        const ProgramSet beside = all_reduce(bytes);
        for (const bool fold : {false, true}) {
            plan.run.fold = fold;
            SimulateOptions options;
            options.programs = {&measured, &beside};
            CHECK(simulate(plan, options).ops == (fold ? 2 : 4));
        }
    }
}

// 800 MB at 1000 GB/s x 0.8 take 1 ms; a stack that keeps half of the rate needs 2 ms.
TEST_CASE("kernels of a job run at the rates that its own stack keeps") {
    Plan plan;
    plan.machine = machine_of(2);
    Gpu& gpu = plan.machine.cluster.node.gpu;
    gpu.architecture = "sm80";
    gpu.sms = 100;
    gpu.hbm = Bandwidth(1000e9);
    gpu.memory_kernels[MemoryKind::Elementwise] = {.efficiency = 0.8};
    plan.jobs.resize(2);
    for (int j = 0; j < 2; ++j) {
        plan.jobs[static_cast<std::size_t>(j)].first_node = j;
        plan.jobs[static_cast<std::size_t>(j)].nodes = 1;
        plan.jobs[static_cast<std::size_t>(j)].degrees.dp = 2;
    }
    ProgramSet set;
    set.labels = {"op"};
    set.programs.resize(1);
    set.kernels = {MemoryBound{.kind = MemoryKind::Elementwise, .bytes = Bytes(800'000'000)}};
    add(set, 0, OpKind::Compute, Stream::Compute, 0);
    const auto step = [&] {
        SimulateOptions options;
        options.programs = {&set, &set};
        const RunResult result = simulate(plan, options);
        REQUIRE(result.refused.empty());
        return result.step_ends[1] - result.step_ends[0];
    };
    CHECK(step() == Duration(1'000'000'000));
    plan.jobs[1].stack.rates = {{.architecture = "sm80", .memory = 0.5}};
    CHECK(step() == Duration(1'000'000'000));
    plan.jobs[0].stack.rates = plan.jobs[1].stack.rates;
    CHECK(step() == Duration(2'000'000'000));
    plan.jobs[0].stack.rates[0].architecture = "sm90";
    CHECK(step() == Duration(1'000'000'000));
}

// An all-reduce of 2 ranks of one node pays one doubling, of the 4 ranks of two nodes two.
TEST_CASE("a collective waits for the last of its members, longer for each doubling of the group") {
    const ProgramSet set = all_reduce(1'000'000);
    const auto step = [&](int nodes, Duration skew, Fidelity fidelity) {
        Plan plan;
        plan.machine = machine_of(nodes);
        plan.machine.fidelity = fidelity;
        plan.jobs.resize(1);
        plan.jobs[0].nodes = nodes;
        plan.jobs[0].degrees.dp = 2 * nodes;
        plan.jobs[0].stack.host.collective_skew = skew;
        SimulateOptions options;
        options.programs = {&set};
        const RunResult result = simulate(plan, options);
        REQUIRE(result.refused.empty());
        return result.step_ends[1] - result.step_ends[0];
    };
    const Duration skew(7'000'000);
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::AlphaBeta}) {
        for (const int nodes : {1, 2}) {
            CHECK(step(nodes, skew, fidelity) == step(nodes, {}, fidelity) + skew * nodes);
        }
    }
    CHECK(step(2, skew, Fidelity::Ideal) == step(2, {}, Fidelity::Ideal));
}
