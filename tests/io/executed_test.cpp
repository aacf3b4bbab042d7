// Executed workloads from the scenario to the report: degrees, refusals at their place, a step in closed form.
#include "sim/io/executed.h"

#include <doctest/doctest.h>

#include "sim/analyze/metrics.h"
#include "sim/core/units.h"
#include "sim/io/load.h"
#include "sim/io/print_plan.h"
#include "sim/io/report_json.h"
#include "sim/io/report_text.h"
#include "sim/run/simulate.h"

using namespace memwall;
using namespace memwall::literals;

namespace {

const std::string kScenario = "scenarios/a.yaml";
const std::string kFile = "scenarios/w.txt";

// Two layers; the tp collectives are as long as `kCollective` below.
const std::string kLayers =
    "2\n"
    "a -1 100 ALLGATHER 4000000 70 REDUCESCATTER 4000000 50 ALLREDUCE 8000000 3\n"
    "b -1 120 REDUCESCATTER 4000000 60 ALLGATHER 4000000 20 NONE 0 4\n";

// Nodes of 8 GPUs on NVSwitch, 500 ns and 10 x 10 GB/s; collectives by their steps. Round numbers of no product.
MemoryFiles world(const std::string& workload, const std::string& rest = "parallel: {tp: 4}\n") {
    MemoryFiles files;
    files.texts["topologies/gpus/g.yaml"] =
        "schema: memwall/gpu/1\nname: g\nmemory: 80GiB\nusable: 79GiB\nhbm: 2000GB/s\npeak: {bf16: "
        "300TFLOPS}\nsms: 100\npcie: 32GB/s\nlinks: 10\nlink_rate: 10GB/s\n";
    files.texts["topologies/nodes/n.yaml"] =
        "schema: memwall/node/1\nname: n\ngpu: g\ngpus: 8\nintra: nvswitch\nnvlink_latency: "
        "500ns\nnics: 8\nnic_rate: 200Gbps\n";
    files.texts["topologies/fabrics/f.yaml"] =
        "schema: memwall/fabric/1\nname: f\nkind: single_switch\n";
    files.texts["topologies/clusters/c.yaml"] =
        "schema: memwall/cluster/1\nname: c\nnode: n\nfabric: f\nnodes_max: 64\n";
    files.texts[kFile] = workload;
    files.texts[kScenario] =
        "schema: memwall/scenario/1\nname: a\n"
        "machine: {cluster: c, nodes: 1, network: {law: steps}}\n"
        "workload: {astra: w.txt, time_unit: us}\n" +
        rest;
    return files;
}

Loaded good(MemoryFiles files, const std::vector<std::string>& sets = {}) {
    DataSource source(files, {""});
    Diagnostics diagnostics;
    std::optional<Loaded> loaded = load_scenario(kScenario, sets, source, diagnostics);
    for (const Diagnostic& problem : diagnostics.sorted()) {
        CAPTURE(problem.text);
        CHECK(problem.severity == Severity::Warning);
    }
    REQUIRE(loaded);
    return std::move(*loaded);
}

std::vector<Diagnostic> errors(MemoryFiles files, const std::vector<std::string>& sets = {}) {
    DataSource source(files, {""});
    Diagnostics diagnostics;
    CHECK_FALSE(load_scenario(kScenario, sets, source, diagnostics));
    std::vector<Diagnostic> all;
    for (const Diagnostic& problem : diagnostics.sorted()) {
        if (problem.severity == Severity::Error) {
            all.push_back(problem);
        }
    }
    REQUIRE_FALSE(all.empty());
    return all;
}

RunResult run(const Loaded& loaded, SimulationParts* parts = nullptr) {
    SimulateOptions options;
    for (const auto& executed : loaded.executed) {
        options.programs.push_back(executed ? &executed->programs : nullptr);
    }
    return simulate(loaded.plan, options, parts);
}

Duration step_of(const RunResult& result) {
    REQUIRE(result.step_ends.size() == 2);
    return result.step_ends[1] - result.step_ends[0];
}

std::string layers_with(const std::string& header) {
    return header + "\n" + kLayers;
}

}  // namespace

TEST_CASE("keyword and header decide the degrees, the machine decides what is left") {
    struct Case {
        const char* header;
        const char* rest;
        int nodes, tp, pp, ep, dp;
    };
    const char* const kOneLayer = "\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n";
    for (const Case& c : {
             Case{"MICRO", "", 1, 1, 1, 1, 8},
             Case{"DATA", "", 2, 1, 1, 1, 16},
             Case{"MODEL", "", 1, 8, 1, 1, 1},
             Case{"HYBRID_MODEL_DATA", "parallel: {tp: 2}\n", 1, 2, 1, 1, 4},
             Case{"HYBRID_DATA_MODEL", "parallel: {tp: auto, dp: 2}\n", 1, 4, 1, 1, 2},
             Case{"HYBRID_TRANSFORMER model_parallel_NPU_group: 4", "", 2, 4, 1, 1, 4},
             Case{"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 2 "
                  "all_gpus: 16",
                  "",
                  2,
                  2,
                  2,
                  4,
                  4},
         }) {
        CAPTURE(c.header);
        const Loaded loaded = good(world(std::string(c.header) + kOneLayer, c.rest),
                                   {"machine.nodes=" + std::to_string(c.nodes)});
        const Degrees& d = loaded.plan.jobs[0].degrees;
        CHECK(d.tp == c.tp);
        CHECK(d.pp == c.pp);
        CHECK(d.ep == c.ep);
        CHECK(d.dp == c.dp);
        CHECK(d.shard == c.ep);  // ranks of one position in their expert groups: every ep-th of dp
        CHECK(d.replicate == c.dp / c.ep);
        REQUIRE(loaded.executed[0]);
        CHECK(loaded.executed[0]->programs.programs.size() == static_cast<std::size_t>(c.pp));
    }
}

TEST_CASE("expert groups without a stated ep take it from the scenario") {
    const std::string text =
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 1\n1\n"
        "a -1 1 ALLTOALL_EP 64 1 ALLTOALL_EP 64 1 ALLREDUCE_DP_EP 64 0\n";
    CHECK(good(world(text, "parallel: {ep: 4}\n")).plan.jobs[0].degrees.replicate == 2);
    const Diagnostic error = errors(world(text, "")).front();
    CHECK(error.code == "E0338");
    CHECK(error.place == Place{kScenario, 4, 19});
    const Diagnostic odd = errors(world(text, "parallel: {ep: 3}\n")).front();
    CHECK(odd.code == "E0325");
    CHECK(odd.text == "ep 3 does not divide dp 8");
    CHECK(odd.place == Place{kScenario, 5, 16});
}

TEST_CASE("a step of two layers is its closed form") {
    // n = 4, a = 500 ns, B = 100 GB/s: 3 (a + 4 MB / (4 B)) = 3 (0.5 + 10) us.
    const Duration tp = 31'500_ns;
    // n = 2: 2 (a + 8 MB / (2 B)) = 2 (0.5 + 40) us.
    const Duration dp = 81_us;
    // Updates 3 + 4; forward 100 + tp + 120 + tp. Backward of b: 60, then tp, longer than the weight gradient beside it
    // (20). Of a: 70, then its weight gradient (50), longer than tp beside it, then its reduction, which the next step
    // waits for.
    const Duration wanted =
        3_us + 4_us + 100_us + tp + 120_us + tp + 60_us + tp + 70_us + 50_us + dp;
    for (const char* option : {"run.fold=true",
                               "run.fold=false",
                               "run.coalesce=false",
                               "machine.network.fidelity=alpha_beta"}) {
        CAPTURE(option);
        const Loaded loaded = good(world(layers_with("HYBRID_TRANSFORMER")), {option});
        const RunResult result = run(loaded);
        CHECK(step_of(result) == wanted);
        const Breakdown& split = result.classes.front().breakdown;
        CHECK(split.compute == 100_us + 120_us + 60_us + 20_us + 70_us + 50_us);
        CHECK(split.optimizer == 7_us);
        CHECK(split.sum() == wanted);
    }
}

TEST_CASE("times follow the unit, transfers do not") {
    // The sum of compute is 427 units; DATA has one collective, exposed: 2 x 7 (a + 8 MB / (8 B)) = 14 x 10.5 us.
    const std::string text = "DATA\n1\na -1 300 NONE 0 0 NONE 0 127 ALLREDUCE 8000000 0\n";
    CHECK(step_of(run(good(world(text, "")))) == 427_us + 147_us);
    CHECK(step_of(run(good(world(text, ""), {"workload.time_unit=ns"}))) == 427_ns + 147_us);
    CHECK(step_of(run(good(world(text, ""), {"workload.time_unit=10ns"}))) == 4270_ns + 147_us);
}

TEST_CASE("a micro-benchmark takes as long as its collective on all GPUs") {
    CHECK(step_of(run(good(
              world("MICRO\n1\na -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8000000 0\n", "")))) == 147_us);
}

TEST_CASE("passes without time do not end a run") {
    // b has nothing but its collectives: forward 31.5, input gradient 31.5; the times of a as above.
    const std::string text =
        "HYBRID_TRANSFORMER\n2\n"
        "a -1 100 NONE 0 70 NONE 0 50 NONE 0 0\n"
        "b -1 0 ALLGATHER 4000000 0 REDUCESCATTER 4000000 0 NONE 0 0\n";
    CHECK(step_of(run(good(world(text)))) == 220_us + 63_us);
}

TEST_CASE("stages run the same program beside each other") {
    // Two stages of four GPUs: the step is that of one.
    const std::string one =
        "HYBRID_TRANSFORMER\n1\na -1 100 ALLGATHER 4000000 70 NONE 0 50 NONE 0 0\n";
    const std::string two =
        "HYBRID_TRANSFORMER pp: 2\n1\na -1 100 ALLGATHER 4000000 70 NONE 0 50 NONE 0 0\n";
    const RunResult result = run(good(world(two)));
    CHECK(step_of(result) == step_of(run(good(world(one)))));
    CHECK(result.ranks == 8);
}

TEST_CASE("without a unit of time the scenario is refused, and the trap explained") {
    MemoryFiles files = world(layers_with("HYBRID_TRANSFORMER"));
    std::string& text = files.texts[kScenario];
    text.replace(text.find(", time_unit: us"), 15, "");
    const Diagnostic error = errors(files).front();
    CHECK(error.code == "E0541");
    CHECK(error.place == Place{kScenario, 4, 19});
    CHECK(error.hint.find("`time_unit: ns` for files of SimAI") != std::string::npos);
    CHECK(error.hint.find("factor of 1000") != std::string::npos);
    for (const char* wrong : {"fortnight", "0ns", "5", "GB", "-1ns"}) {
        CAPTURE(wrong);
        const Diagnostic bad = errors(world(layers_with("HYBRID_TRANSFORMER")),
                                      {"workload.time_unit=" + std::string(wrong)})
                                   .front();
        CHECK(bad.code == "E0204");
        CHECK(bad.place.file == "--set");
        CHECK(bad.hint == "ns, us, ms, s, or a duration such as 10ns");
    }
}

TEST_CASE("errors of the file stand at their line and column") {
    struct Case {
        const char* text;
        const char* code;
        int line, column;
    };
    for (const Case& c : {
             Case{"", "E0540", 0, 0},
             Case{"DATUM\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 1, 1},
             Case{"HYBRID_DLRM 2\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 1, 1},
             Case{"MODEL pp: x\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 1, 11},
             Case{"MODEL checkpoints: 1\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 1, 20},
             Case{"MODEL\ntwo\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 2, 1},
             Case{"MODEL\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 2, 1},
             Case{"MODEL\n1\na -1 1 NONE 0 1 NONE 0 1 NONE\n", "E0540", 3, 1},
             Case{"MODEL\n1\na x 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 3, 3},
             Case{"MODEL\n1\na -1 1.5 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0540", 3, 6},
             Case{"MODEL\n1\na -1 1 GATHER 8 1 NONE 0 1 NONE 0 0\n", "E0540", 3, 8},
             Case{"MODEL\n1\na -1 1 NONE 0 1 ALLREDUCE 8MB 1 NONE 0 0\n", "E0540", 3, 27},
             Case{"MODEL\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 -4\n", "E0540", 3, 33},
             Case{"MODEL\n1\na -1 4000000000 NONE 0 1 NONE 0 1 NONE 0 0\n", "E0541", 1, 1},
         }) {
        CAPTURE(c.text);
        const Diagnostic error = errors(world(c.text, "")).front();
        CHECK(error.code == c.code);
        CHECK(error.place == Place{kFile, c.line, c.column});
    }
    MemoryFiles files = world("");
    files.texts.erase(kFile);
    CHECK(errors(files).front().code == "E0101");
    CHECK(errors(files).front().place == Place{kScenario, 4, 19});
}

TEST_CASE("a strategy that is not the file's is refused where the scenario states it") {
    const std::string text =
        layers_with("HYBRID_TRANSFORMER model_parallel_NPU_group: 4 ep: 1 pp: 1 all_gpus: 8");
    const Diagnostic tp = errors(world(text, "parallel: {tp: 2}\n")).front();
    CHECK(tp.code == "E0338");
    CHECK(tp.place == Place{kScenario, 5, 16});
    CHECK(tp.text == "tp 2 does not fit 'scenarios/w.txt': model_parallel_NPU_group is 4");
    CHECK(errors(world(text, "parallel: {pp: 2}\n")).front().code == "E0338");
    CHECK(errors(world(text, "parallel: {ep: 2}\n")).front().code == "E0338");
    CHECK(errors(world(text, "parallel: {dp: 4}\n")).front().code == "E0310");
    CHECK(errors(world(text, "parallel: {sharding: fsdp}\n")).front().code == "E0201");
    const Diagnostic gpus = errors(world(text, ""), {"machine.nodes=2"}).front();
    CHECK(gpus.code == "E0338");
    CHECK(gpus.hint == "say `nodes: 1`");
    CHECK(errors(world("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n")).front().text ==
          "tp 4 does not fit 'scenarios/w.txt': DATA divides no layer");
    const Diagnostic open = errors(world(layers_with("HYBRID_TRANSFORMER"), "")).front();
    CHECK(open.place == Place{kScenario, 4, 19});
    CHECK(open.hint == "say how many in the scenario, such as `parallel: {tp: 8}`");
    CHECK(errors(world("HYBRID_TRANSFORMER model_parallel_NPU_group: 16\n" + kLayers, ""))
              .front()
              .text == "tp 16 does not fit 'scenarios/w.txt': model_parallel_NPU_group is 16");
}

TEST_CASE("keys that mean nothing beside an executed workload are refused, all at once") {
    const std::vector<Diagnostic> all =
        errors(world(layers_with("HYBRID_TRANSFORMER"),
                     "batch: {global: 8}\ntraining: {optimizer: sgd}\n"),
               {"workload.sequence=1024"});
    REQUIRE(all.size() == 3);
    for (const Diagnostic& each : all) {
        CHECK(each.code == "E0338");
    }
    CHECK(all[1].text == "batch means nothing beside workload.astra");
    CHECK(all[1].place == Place{kScenario, 5, 8});
}

TEST_CASE("checks and published figures that an executed workload has not are refused") {
    const std::string text = layers_with("HYBRID_TRANSFORMER");
    const std::string tp = "parallel: {tp: 4}\n";
    const Diagnostic check = errors(world(text, tp + "checks: [step_time < 1s, fits]\n")).front();
    CHECK(check.code == "E0338");
    CHECK(check.text == "an executed workload has no figure 'fits'");
    CHECK(check.place == Place{kScenario, 6, 26});
    CHECK(errors(world(text, tp + "published: [{figure: mfu, value: 0.4, source: x}]\n"))
              .front()
              .code == "E0338");
    CHECK(good(world(text, tp + "checks: [step_time < 1s]\n")).plan.checks.size() == 1);
}

TEST_CASE("a printed plan of an executed workload gives the same bytes and the same run") {
    MemoryFiles files = world(layers_with("HYBRID_TRANSFORMER"), "parallel: {tp: 4}\nabout: x\n");
    const Loaded loaded = good(files);
    DataSource source(files, {""});
    Diagnostics diagnostics;
    const std::optional<Loaded> again =
        load_scenario_text("plan.yaml", print_plan(loaded), {}, source, diagnostics);
    REQUIRE(again);
    CHECK(print_plan(*again, {.origins = false}) == print_plan(loaded, {.origins = false}));
    CHECK(run(*again).signature == run(loaded).signature);
    CHECK(print_plan(loaded).find("time_unit: us ") != std::string::npos);
}

TEST_CASE(
    "figures made of tokens, FLOPs or tensors are not available, in every form of the report") {
    const Loaded loaded = good(world(layers_with("HYBRID_TRANSFORMER")));
    SimulationParts parts;
    const RunResult result = run(loaded, &parts);
    const Fabric fabric(loaded.plan.machine);
    const Metrics m =
        measure({loaded.plan, parts.traces.front(), parts.programs.front(), fabric, result});
    CHECK(figure(m, "step_time_s").value == doctest::Approx(582.5e-6));
    for (const char* name : {"mfu", "hfu", "tokens_per_s_per_gpu", "peak_memory_bytes", "fits"}) {
        CHECK_FALSE(figure(m, name).ok);
    }
    for (const SelfCheck& check : m.checks) {
        CAPTURE(check.what);
        CHECK(check.holds);
    }
    const Report report{loaded.plan, m, result, {}, {}, {}, {}};
    const std::string json = report_json(report);
    for (const char* line : {"\"mfu\": null", "\"memory\": null", "\"fits\": null", "\"tp\": 4"}) {
        CHECK(json.find(line) != std::string::npos);
    }
    const std::string text = report_text(report, {}, Detail::Whole);
    CHECK(text.find("peak memory         not available") != std::string::npos);
    CHECK(text.find("Peak memory per stage") == std::string::npos);
}

TEST_CASE("an executed workload may run in the background") {
    MemoryFiles files = world(layers_with("HYBRID_TRANSFORMER"));
    files.texts[kScenario] =
        "schema: memwall/scenario/1\nname: a\nmachine: {cluster: c, nodes: 1}\n"
        "workload: {astra: w.txt, time_unit: us}\nparallel: {tp: 4}\n"
        "background:\n  - {scenario: {workload: {astra: w.txt, time_unit: ns}, parallel: {tp: 8}}, "
        "nodes: 1}\n";
    const Loaded loaded = good(files);
    REQUIRE(loaded.plan.jobs.size() == 2);
    CHECK(loaded.plan.jobs[1].degrees.tp == 8);
    REQUIRE(loaded.executed[1]);
    CHECK(run(loaded).deadlock.empty());
}
