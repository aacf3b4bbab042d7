#pragma once
// Runs in which ranks call collectives one after the other and do nothing else, on a machine of round numbers.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/run/simulate.h"
#include "tests/run/synthetic.h"

namespace memwall::testing {

// Nodes of 4 GPUs at 100 GB/s and 500 ns, 10 GB/s NICs, 2 us per switch hop. Nothing else takes time.
inline Machine machine_of(int nodes) {
    Machine m;
    m.nodes = nodes;
    m.law = CollectiveLaw::Steps;
    m.interference = false;
    Node& node = m.cluster.node;
    node.name = "plain";
    node.gpus = 4;
    node.intra = IntraNode::NvSwitch;
    node.gpu.name = "plain-gpu";
    node.gpu.links = 10;
    node.gpu.link_rate = Bandwidth(10e9);
    node.gpu.pcie = Bandwidth(30e9);
    node.gpu.nccl.channels = 4;
    node.nvlink_latency = Duration(500'000);
    node.nics = 4;
    node.nic_rate = Bandwidth(10e9);
    m.cluster.nodes_max = nodes;
    m.cluster.fabric.kind = FabricKind::SingleSwitch;
    m.cluster.fabric.hop_latency = Duration(2'000'000);
    return m;
}

// Every rank calls these, one after the other, and does nothing else.
inline ProgramSet calling(const std::vector<CollectiveCall>& calls) {
    ProgramSet set;
    set.labels = {"call"};
    set.collectives = calls;
    set.programs.resize(1);
    for (std::uint32_t c = 0; c < calls.size(); ++c) {
        Op op;
        op.kind = OpKind::Collective;
        op.stream = Stream::Dp;
        op.category = Category::DpComm;
        op.work = c;
        Item item;
        item.kind = Item::Kind::Op;
        item.index = c;
        set.ops.push_back(op);
        set.programs[0].items.push_back(item);
    }
    return set;
}

struct Case {
    Plan plan;
    std::vector<ProgramSet> programs;  // by job

    Job& add_job(int first_node, int nodes, int tp, const std::vector<CollectiveCall>& calls) {
        Job job;
        job.first_node = first_node;
        job.nodes = nodes;
        job.degrees.tp = tp;
        job.degrees.dp = nodes * plan.machine.cluster.node.gpus / tp;
        plan.jobs.push_back(job);
        programs.push_back(calling(calls));
        return plan.jobs.back();
    }

    [[nodiscard]] RunResult run(Fidelity fidelity, bool fold = true) const {
        Plan p = plan;
        p.machine.fidelity = fidelity;
        p.run.fold = fold;
        SimulateOptions options;
        for (const ProgramSet& set : programs) {
            options.programs.push_back(&set);
        }
        RunResult result = simulate(p, options);
        REQUIRE(result.refused.empty());
        REQUIRE(result.deadlock.empty());
        return result;
    }
    [[nodiscard]] Ps step(Fidelity fidelity, bool fold = true) const {
        const RunResult result = run(fidelity, fold);
        return (result.step_ends[1] - result.step_ends[0]).count();
    }
};

inline Case one_job(int nodes,
                    const std::vector<CollectiveCall>& calls,
                    const std::string& algorithm = {}) {
    Case c;
    c.plan.machine = machine_of(nodes);
    c.plan.machine.algorithm = algorithm;
    c.add_job(0, nodes, 1, calls);
    return c;
}

}  // namespace memwall::testing
