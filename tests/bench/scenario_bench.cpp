// Whole scenarios, from the parsed plan to the result, one core: the speed bars of the project. And the case that an
// analytical simulator with an event per chunk needs 14 s and 357 MB for on a machine of this kind: one ring all-reduce of
// 1 GB over 1,024 ranks (50 GB/s, 500 ns links), unfolded, as one fluid activity and message by message.
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "sim/core/rendering.h"
#include "sim/io/astra_text.h"
#include "sim/io/load.h"
#include "sim/run/simulate.h"

namespace {

using namespace memwall;

Plan plan_of(const std::string& scenario) {
    DiskFiles files;
    DataSource data(files, {MEMWALL_SOURCE_DIR});
    Diagnostics diagnostics;
    auto loaded = load_scenario(
        std::string(MEMWALL_SOURCE_DIR) + "/scenarios/" + scenario, {}, data, diagnostics);
    if (!loaded) {
        throw std::runtime_error(render(diagnostics, nullptr));
    }
    return std::move(loaded->plan);
}

void run(benchmark::State& state, const Plan& plan, const SimulateOptions& options = {}) {
    RunResult result;
    for (auto _ : state) {
        result = simulate(plan, options);
        benchmark::DoNotOptimize(result.signature);
    }
    if (!result.deadlock.empty() || !result.refused.empty()) {
        state.SkipWithError("the run did not end");
        return;
    }
    state.counters["events"] = static_cast<double>(result.events);
    state.counters["ops"] = static_cast<double>(result.ops);
    state.counters["simulated_ms"] =
        1e3 * to_seconds(result.step_ends.back() - result.step_ends.front());
}

void gpt3_175b(benchmark::State& state) {
    run(state, plan_of("gpt3-175b-1024xa100.yaml"));
}
void llama_405b_16384(benchmark::State& state) {
    run(state, plan_of("llama3.1-405b-16384xh100.yaml"));
}
void gpt3_175b_no_fold(benchmark::State& state) {
    Plan plan = plan_of("gpt3-175b-1024xa100.yaml");
    plan.run.fold = false;
    run(state, plan);
}
void gpt3_175b_plain(benchmark::State& state) {
    Plan plan = plan_of("gpt3-175b-1024xa100.yaml");
    plan.run.coalesce = false;
    run(state, plan);
}

// One GPU per node behind one switch, so that every hop of the ring is one link of 50 GB/s and 500 ns.
Plan ring_of(int ranks) {
    Plan plan = plan_of("gpt2-8xa100.yaml");
    Machine& machine = plan.machine;
    machine.cluster.node.gpus = 1;
    machine.cluster.node.nics = 1;
    machine.cluster.node.nic_rate = Bandwidth(50e9);
    machine.cluster.node.pcie_latency = Duration(0);
    machine.cluster.node.pcie_switch_uplink = Bandwidth(1e12);
    machine.cluster.node.gpu.pcie = Bandwidth(1e12);
    machine.cluster.fabric = FabricSpec{};
    machine.cluster.fabric.kind = FabricKind::SingleSwitch;
    machine.cluster.fabric.hop_latency = Duration(500'000);
    machine.cluster.nodes_max = ranks;
    machine.nodes = ranks;
    machine.law = CollectiveLaw::Steps;
    machine.algorithm = "ring";
    Job& job = plan.jobs.front();
    job.nodes = ranks;
    job.degrees = Degrees{};
    job.degrees.dp = ranks;
    plan.run.fold = false;
    return plan;
}

void ring_all_reduce(benchmark::State& state, Fidelity fidelity) {
    Diagnostics diagnostics;
    const auto workload =
        read_astra_text("ring",
                        "DATA\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000000000 1\n",
                        Duration(1000),
                        diagnostics);
    if (!workload) {
        state.SkipWithError(render(diagnostics, nullptr).c_str());
        return;
    }
    const ProgramSet programs = astra_program(*workload);
    SimulateOptions options;
    options.programs = {&programs};
    Plan plan = ring_of(static_cast<int>(state.range(0)));
    plan.machine.fidelity = fidelity;
    run(state, plan, options);
}
void ring_fluid(benchmark::State& state) {
    ring_all_reduce(state, Fidelity::Fluid);
}
void ring_stepwise(benchmark::State& state) {
    ring_all_reduce(state, Fidelity::Stepwise);
}
BENCHMARK(gpt3_175b)->Unit(benchmark::kMillisecond);
BENCHMARK(llama_405b_16384)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_175b_no_fold)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_175b_plain)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_fluid)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_stepwise)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
