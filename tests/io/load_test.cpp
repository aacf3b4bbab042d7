#include "sim/io/load.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/io/print_plan.h"
#include "sim/io/trace_file.h"
#include "sim/model/build.h"

using namespace memwall;

namespace {

// A small world of files: one GPU with a variant, one node, one fabric, one cluster, one model, one stack.
MemoryFiles small_world() {
    MemoryFiles files;
    files.texts["topologies/gpus/g.yaml"] =
        "schema: memwall/gpu/1\nname: g\nmemory: 80GiB\nusable: 79GiB\nhbm: 2000GB/s\npeak: {bf16: "
        "300TFLOPS}\nsms: 100\npcie: 32GB/s\n"
        "links: 12\nlink_rate: 25GB/s\nsources:\n  memory: data sheet\n  nccl: measured\n";
    files.texts["topologies/gpus/g-half.yaml"] =
        "schema: memwall/gpu/1\nbase: g\nname: g-half\nmemory: 40GiB\nusable: 39GiB\n";
    files.texts["topologies/nodes/n.yaml"] =
        "schema: memwall/node/1\nname: n\ngpu: g\ngpus: 8\nintra: nvswitch\nnics: 8\nnic_rate: "
        "200Gbps\n";
    files.texts["topologies/fabrics/f.yaml"] =
        "schema: memwall/fabric/1\nname: f\nkind: single_switch\n";
    files.texts["topologies/clusters/c.yaml"] =
        "schema: memwall/cluster/1\nname: c\nnode: n\nfabric: f\nnodes_max: 64\n";
    files.texts["topologies/stacks/s.yaml"] =
        "schema: memwall/stack/1\nname: s\nhost: {kernel_launch: 5us}\n";
    files.texts["workloads/m.yaml"] =
        "schema: memwall/model/1\nname: m\nlayers: 4\nhidden: 1024\nheads: 16\nffn: "
        "4096\nvocabulary: 50257\npositions: 2048\n";
    files.texts["scenarios/a.yaml"] =
        "schema: memwall/scenario/1\nname: a\nmachine: {cluster: c, nodes: 2}\nworkload: {model: "
        "m, sequence: 1024}\n"
        "batch: {global: 64, micro: 2}\nparallel: {tp: 2, pp: 2}\nstack: s\n";
    return files;
}

std::optional<Loaded> load(MemoryFiles& files,
                           const std::vector<std::string>& sets,
                           Diagnostics& diagnostics,
                           const std::string& scenario = "scenarios/a.yaml") {
    DataSource source(files, {""});
    return load_scenario(scenario, sets, source, diagnostics);
}

Loaded load_good(MemoryFiles& files,
                 const std::vector<std::string>& sets = {},
                 const std::string& scenario = "scenarios/a.yaml") {
    Diagnostics diagnostics;
    std::optional<Loaded> loaded = load(files, sets, diagnostics, scenario);
    for (const Diagnostic& problem : diagnostics.sorted()) {
        INFO(problem.text);
        CHECK(problem.severity == Severity::Warning);
    }
    REQUIRE(loaded);
    return std::move(*loaded);
}

Diagnostic first_error(MemoryFiles& files,
                       const std::vector<std::string>& sets,
                       const std::string& scenario = "scenarios/a.yaml") {
    Diagnostics diagnostics;
    CHECK_FALSE(load(files, sets, diagnostics, scenario));
    for (const Diagnostic& problem : diagnostics.sorted()) {
        if (problem.severity == Severity::Error) {
            return problem;
        }
    }
    return {};
}

}  // namespace

TEST_CASE("names are followed from scenario to cluster, node and gpu") {
    MemoryFiles files = small_world();
    const Loaded loaded = load_good(files);
    CHECK(loaded.plan.machine.cluster.node.gpu.name == "g");
    CHECK(loaded.plan.machine.cluster.node.gpu.memory == Bytes(std::int64_t{80} << 30));
    CHECK(loaded.plan.machine.cluster.node.nic_rate.value == 25e9);
    CHECK(loaded.plan.jobs[0].model.hidden == 1024);
}

TEST_CASE("what is auto is worked out: dp = GPUs / (tp x pp x cp), m = global / (micro x dp)") {
    MemoryFiles files = small_world();
    const Job job = load_good(files).plan.jobs[0];
    CHECK(job.degrees.dp == 4);             // 16 / (2 x 2)
    CHECK(job.micro_batches == 8);          // 64 / (2 x 4)
    CHECK(job.padded_vocabulary == 50432);  // 50257 up to a multiple of 128 x 2 = 256: 197 x 256
    CHECK(job.model.head_dim == 64);
    CHECK(job.model.kv_heads == 16);
}

TEST_CASE("a variant takes what it does not state from its base") {
    MemoryFiles files = small_world();
    files.texts["topologies/nodes/n.yaml"] =
        "schema: memwall/node/1\nname: n\ngpu: g-half\ngpus: 8\nintra: nvswitch\nnics: "
        "8\nnic_rate: 200Gbps\n";
    const Gpu gpu = load_good(files).plan.machine.cluster.node.gpu;
    CHECK(gpu.name == "g-half");
    CHECK(gpu.memory == Bytes(std::int64_t{40} << 30));
    CHECK(gpu.hbm.value == 2000e9);
}

TEST_CASE("overrides beside a reference reach any depth, --set wins over them") {
    MemoryFiles files = small_world();
    files.texts["scenarios/a.yaml"] =
        "schema: memwall/scenario/1\nname: a\nmachine: {cluster: c, nodes: 2, with: {node.gpu: "
        "g-half, node.gpu.sms: 90, node.nics: 4}}\n"
        "workload: {model: m, sequence: 1024, with: {layers: 8, attention.implementation: "
        "flash2}}\n"
        "batch: {global: 64}\nparallel: {tp: 2, pp: 2}\nstack: {base: s, with: {overlap.p2p: "
        "overlapped}}\n";
    const Plan plan =
        load_good(files, {"machine.cluster.node.nics=2", "workload.model.layers=16"}).plan;
    CHECK(plan.machine.cluster.node.gpu.name == "g-half");
    CHECK(plan.machine.cluster.node.gpu.sms == 90);
    CHECK(plan.machine.cluster.node.nics == 2);
    CHECK(plan.jobs[0].model.layers == 16);
    CHECK(plan.jobs[0].model.attention == AttentionImplementation::Flash2);
    CHECK(plan.jobs[0].stack.overlap.p2p == P2pKind::Overlapped);
}

TEST_CASE("an override can replace the reference itself, and the overrides beside it stay") {
    MemoryFiles files = small_world();
    files.texts["topologies/clusters/d.yaml"] =
        "schema: memwall/cluster/1\nname: d\nnode: n\nfabric: f\nnodes_max: 8\n";
    files.texts["scenarios/a.yaml"] =
        "schema: memwall/scenario/1\nname: a\nmachine: {cluster: c, nodes: 2, with: {node.nics: "
        "4}}\nworkload: {model: m, sequence: 1024}\n"
        "batch: {global: 64}\nparallel: {tp: 2, pp: 2}\nstack: s\n";
    const Plan plan = load_good(files, {"machine.cluster=d"}).plan;
    CHECK(plan.machine.cluster.name == "d");
    CHECK(plan.machine.cluster.node.nics == 4);
    // Of two names of one thing the stronger counts.
    std::string& text = files.texts["scenarios/a.yaml"];
    text.replace(text.find("{node.nics: 4}"), 14, "{node.gpu: g-half, node.gpu.sms: 90}");
    const Gpu gpu = load_good(files, {"machine.cluster.node.gpu=g"}).plan.machine.cluster.node.gpu;
    CHECK(gpu.name == "g");
    CHECK(gpu.sms == 90);
}

TEST_CASE("`with` can be given by --set at any reference, as a map or key by key") {
    MemoryFiles files = small_world();
    const Plan plan = load_good(files,
                                {"stack.with={overlap.p2p: overlapped}",
                                 "stack.with.host.kernel_launch=7us",
                                 "machine.cluster.node.with.nics=2",
                                 "machine.with={node.gpu.sms: 90}",
                                 "workload.model.with={layers: 8}"})
                          .plan;
    CHECK(plan.jobs[0].stack.overlap.p2p == P2pKind::Overlapped);
    CHECK(plan.jobs[0].stack.host.kernel_launch == Duration(7'000'000));
    CHECK(plan.machine.cluster.node.nics == 2);
    CHECK(plan.machine.cluster.node.gpu.sms == 90);
    CHECK(plan.jobs[0].model.layers == 8);
    CHECK(load_good(files, {"stack={with: {overlap.p2p: blocking}, ragged_interleaving: true}"})
              .plan.jobs[0]
              .stack.overlap.p2p == P2pKind::Blocking);
    CHECK(first_error(files, {"stack.with=3"}).text == "`with` must be a map of overrides");
    CHECK(first_error(files, {"stack.with.no_such=3"}).code == "E0201");
}

// 79 of 80 GiB are usable on g.
TEST_CASE("usable memory follows an override of memory, whatever the order of --set") {
    MemoryFiles files = small_world();
    const auto usable = [&](const std::vector<std::string>& sets) {
        return load_good(files, sets).plan.machine.cluster.node.gpu.usable;
    };
    const std::string gpu = "machine.cluster.node.gpu.";
    CHECK(usable({gpu + "memory=160GiB"}) == Bytes(std::int64_t{158} << 30));
    CHECK(usable({gpu + "memory=160GiB", gpu + "usable=100GiB"}) == Bytes(std::int64_t{100} << 30));
    CHECK(usable({gpu + "usable=100GiB", gpu + "memory=160GiB"}) == Bytes(std::int64_t{100} << 30));
    CHECK(usable({"machine.with={node.gpu.usable: 40GiB}", gpu + "memory=160GiB"}) ==
          Bytes(std::int64_t{80} << 30));
    CHECK(usable({"machine.cluster.node.gpu={memory: 160GiB}"}) == Bytes(std::int64_t{158} << 30));
    const Diagnostic error = first_error(files, {gpu + "usable=81GiB"});
    CHECK(error.code == "E0406");
    CHECK(error.place.file == "--set");
    // A file that varies another is such a layer too; printed, the plan says so and reads the same again.
    files.texts["topologies/gpus/g-half.yaml"] =
        "schema: memwall/gpu/1\nbase: g\nname: g-half\nmemory: 40GiB\n";
    const Loaded half = load_good(files, {"machine.cluster.node.gpu=g-half"});
    CHECK(half.plan.machine.cluster.node.gpu.usable == Bytes(79 * (std::int64_t{1} << 29)));
    const std::string text = print_plan(half);
    const std::size_t line = text.find("usable: ");
    REQUIRE(line != std::string::npos);
    CHECK(text.substr(line, text.find('\n', line) - line).ends_with("# derived"));
    files.texts["again.yaml"] = text;
    CHECK(load_good(files, {}, "again.yaml").plan.machine.cluster.node.gpu.usable ==
          half.plan.machine.cluster.node.gpu.usable);
}

TEST_CASE("`with` without `base` is told that `base` is what is missing") {
    MemoryFiles files = small_world();
    std::string& text = files.texts["scenarios/a.yaml"];
    text.replace(text.find("stack: s"), 8, "stack: {with: {overlap.p2p: overlapped}}");
    const Diagnostic error = first_error(files, {});
    CHECK(error.code == "E0202");
    CHECK(error.place == Place{"scenarios/a.yaml", 7, 8});
    CHECK(error.text == "key 'base' is missing: `with` varies a stack that `base` names");
    Diagnostics all;
    CHECK_FALSE(load(files, {}, all));
    CHECK(all.errors() == 1);
}

TEST_CASE("an inline map stands wherever a reference may") {
    MemoryFiles files = small_world();
    files.texts["scenarios/a.yaml"] =
        "schema: memwall/scenario/1\nname: a\n"
        "machine: {cluster: {name: mine, node: {base: n, gpus: 4}, fabric: {name: x, kind: "
        "single_switch}, nodes_max: 2}, nodes: 2}\n"
        "workload: {model: {name: y, layers: 2, hidden: 64, heads: 2, ffn: 128, vocabulary: 100}, "
        "sequence: 64}\n"
        "batch: {global: 8}\nstack: {name: z, host: {kernel_launch: 1us}}\n";
    const Plan plan = load_good(files).plan;
    CHECK(plan.machine.cluster.node.gpus == 4);
    CHECK(plan.machine.cluster.node.nics == 8);
    CHECK(plan.jobs[0].degrees.dp == 8);
    CHECK(plan.jobs[0].stack.name == "z");
}

TEST_CASE("a path is relative to the file that names it") {
    MemoryFiles files = small_world();
    files.texts["elsewhere/b.yaml"] = files.texts["scenarios/a.yaml"];
    std::string& text = files.texts["elsewhere/b.yaml"];
    text.replace(text.find("model: m"), 8, "model: models/mine.yaml");
    files.texts["elsewhere/models/mine.yaml"] = files.texts["workloads/m.yaml"];
    CHECK(load_good(files, {}, "elsewhere/b.yaml").plan.jobs[0].model.hidden == 1024);
}

TEST_CASE("a scenario may vary another scenario") {
    MemoryFiles files = small_world();
    files.texts["scenarios/b.yaml"] =
        "schema: memwall/scenario/1\nbase: a\nname: b\nparallel: {tp: 4}\n";
    const Plan plan = load_good(files, {}, "scenarios/b.yaml").plan;
    CHECK(plan.name == "b");
    CHECK(plan.jobs[0].degrees.tp == 4);
    CHECK(plan.jobs[0].degrees.pp == 2);
}

TEST_CASE("files that refer to each other in a circle are an error that shows the circle") {
    MemoryFiles files = small_world();
    files.texts["topologies/gpus/g.yaml"] = "schema: memwall/gpu/1\nbase: h\nname: g\n";
    files.texts["topologies/gpus/h.yaml"] = "schema: memwall/gpu/1\nbase: g\nname: h\n";
    const Diagnostic error = first_error(files, {});
    CHECK(error.code == "E0112");
    CHECK(error.hint.find("gpu topologies/gpus/h.yaml") != std::string::npos);
}

TEST_CASE("a misspelt name is answered with the nearest one") {
    MemoryFiles files = small_world();
    files.texts["topologies/clusters/selene.yaml"] = files.texts["topologies/clusters/c.yaml"];
    const Diagnostic error = first_error(files, {"machine.cluster=selen"});
    CHECK(error.code == "E0113");
    CHECK(error.place.file == "--set");
    CHECK(error.hint == "did you mean 'selene'?");
}

TEST_CASE("sizes whose product leaves 64 bits are refused") {
    MemoryFiles files = small_world();
    CHECK(first_error(files, {"workload.model.hidden=16777217"}).code == "E0336");
    // Each size is within its own limit.
    const Diagnostic model = first_error(files,
                                         {"workload.model.hidden=16777216",
                                          "workload.model.ffn=67108864",
                                          "workload.model.layers=10000"});
    CHECK(model.code == "E0336");
    CHECK(model.text.find("parameters") != std::string::npos);
    const Diagnostic tokens = first_error(
        files, {"batch.micro=1048576", "batch.global=4294967296", "workload.sequence=67108864"});
    CHECK(tokens.code == "E0336");
    CHECK(tokens.text.find("tokens") != std::string::npos);
}

TEST_CASE("more gradient buckets than can be played are refused, with the size that can") {
    // 4 layers of 12 x 1024^2 and two tables of 50,432 x 1024 (one each on the first and the last of 2 stages, with 2048
    // positions on the first): 2 x 12.6e6 + 53.7e6 = 78.9e6 gradients of a stage, over tp 2 in bf16: 78.9e6 B.
    MemoryFiles files = small_world();
    const Diagnostic error = first_error(files, {"parallel.gradients.bucket=1B"});
    CHECK(error.code == "E0336");
    CHECK(error.place == Place{"--set", 1, 1});
    CHECK(error.notes.at(0).place.file == "workloads/m.yaml");
    CHECK(error.hint.find("at least 1kB") == 0);  // 789 B
    CHECK(load_good(files, {"parallel.gradients.bucket=1kB"}).plan.jobs[0].micro_batches == 8);
    // ZeRO-2 reduces in each of 8 micro-batches, so that 10,000 buckets are 80,000: fewer than a million.
    CHECK(load_good(files, {"parallel.gradients.bucket=8kB", "parallel.sharding=zero2"})
              .plan.jobs[0]
              .micro_batches == 8);
    CHECK(first_error(
              files,
              {"parallel.gradients.bucket=8kB", "parallel.sharding=zero2", "batch.global=6400"})
              .notes.size() == 2);
}

TEST_CASE("a name is one line that is not empty") {
    MemoryFiles files = small_world();
    for (const char* name : {"name: \"\"", "name: \" \"", "name: \"a\\nb\""}) {
        files.texts["scenarios/a.yaml"].replace(
            files.texts["scenarios/a.yaml"].find("name: a"), 7, name);
        const Diagnostic error = first_error(files, {});
        CHECK(error.code == "E0206");
        CHECK(error.place == Place{"scenarios/a.yaml", 2, 7});
        files = small_world();
    }
}

TEST_CASE("a sequence longer than a rotary model states is warned of, not refused") {
    MemoryFiles files = small_world();
    Diagnostics diagnostics;
    REQUIRE(load(files, {"workload.sequence=4096", "workload.model.position=rotary"}, diagnostics));
    REQUIRE(diagnostics.sorted().size() == 1);
    CHECK(diagnostics.sorted()[0].code == "W0335");
    CHECK(diagnostics.sorted()[0].place == Place{"--set", 1, 1});
    CHECK(diagnostics.sorted()[0].text ==
          "sequence 4096 exceeds the 2048 positions that the model states");
    CHECK(first_error(files, {"workload.sequence=4096"}).code == "E0335");
}

TEST_CASE("a published figure is one that a machine can have") {
    MemoryFiles files = small_world();
    const std::string good = files.texts["scenarios/a.yaml"];
    const auto with = [&](const char* figure, const char* value) {
        files.texts["scenarios/a.yaml"] =
            good +
            fmt::format("published: [{{figure: {}, value: {}, source: s}}]\n", figure, value);
    };
    for (const auto& [figure, value] : {std::pair("step_time_s", "0s"),
                                        std::pair("mfu", "900%"),
                                        std::pair("mfu", "-1%"),
                                        std::pair("tflops_per_gpu", "1e30TFLOPS")}) {
        CAPTURE(std::string(value));
        with(figure, value);
        CHECK(first_error(files, {}).place.line == 8);
    }
    with("mfu", "52%");
    CHECK(load_good(files).plan.published.size() == 1);
}

TEST_CASE("a missing scenario file is answered with the nearest file") {
    MemoryFiles files = small_world();
    const Diagnostic error = first_error(files, {}, "scenarios/aa.yaml");
    CHECK(error.code == "E0101");
    CHECK(error.hint == "did you mean 'scenarios/a.yaml'?");
}

TEST_CASE("a directory is not a scenario") {
    MemoryFiles files = small_world();
    const Diagnostic error = first_error(files, {}, "topologies/gpus");
    CHECK(error.code == "E0102");
}

TEST_CASE("a file of another kind is refused by its schema line") {
    MemoryFiles files = small_world();
    const Diagnostic error = first_error(files, {"machine.cluster=topologies/gpus/g.yaml"});
    CHECK(error.code == "E0207");
    CHECK(error.place.file == "topologies/gpus/g.yaml");
}

TEST_CASE("a misspelt override is an unknown key at --set") {
    MemoryFiles files = small_world();
    const Diagnostic error = first_error(files, {"parallel.pp=2", "parallel.tpp=8"});
    CHECK(error.code == "E0201");
    CHECK(error.place == Place{"--set", 2, 1});
    CHECK(error.hint.find("did you mean 'tp'") != std::string::npos);
}

// `memwall resolve` prints what memory and communication use, and who decided it.
TEST_CASE("a stack that accumulates in fp32 decides the gradients where the scenario does not") {
    MemoryFiles files = small_world();
    files.texts["topologies/stacks/s.yaml"] += "memory: {fp32_gradients: true}\n";
    struct Row {
        std::vector<std::string> sets;
        std::string name;
        double gradient_bytes;
        Dtype reduced_in;
        std::string origin;
    };
    const std::vector<Row> rows = {
        {{}, "bf16_mixed_fp32_gradients", 4, Dtype::Fp32, "stack"},
        {{"training.precision.moment_bytes=4"},
         "bf16_mixed_fp32_gradients",
         4,
         Dtype::Fp32,
         "stack"},
        {{"training.precision=bf16_mixed"}, "bf16_mixed", 2, Dtype::Bf16, "derived"},
        {{"training.precision=fp16_mixed"}, "fp16_mixed", 2, Dtype::Fp16, "derived"},
        {{"training.precision=bf16"}, "bf16", 2, Dtype::Bf16, "derived"},
        {{"training.precision.gradient_bytes=2"}, "bf16_mixed", 2, Dtype::Bf16, "--set"},
        {{"training.precision={name: bf16_mixed, compute: fp8}"},
         "bf16_mixed",
         2,
         Dtype::Bf16,
         "derived"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.sets);
        const Loaded loaded = load_good(files, row.sets);
        const Job& job = loaded.plan.jobs.front();
        CHECK(job.training.precision.name == row.name);
        CHECK(job.training.precision.gradient_bytes == row.gradient_bytes);
        CHECK(job.parallel.gradients.reduce_dtype == row.reduced_in);
        const std::string printed = print_plan(loaded, {.origins = true});
        const std::size_t line = printed.find("gradient_bytes:");
        REQUIRE(line != std::string::npos);
        CHECK(printed.substr(line, printed.find('\n', line) - line).ends_with("# " + row.origin));
    }
}

TEST_CASE(
    "an override below a single value is an error, except where the value is shorthand for a map") {
    MemoryFiles files = small_world();
    CHECK(first_error(files, {"parallel.tp.x=8"}).code == "E0203");
    CHECK(first_error(files, {"background.0.nodes=3"}).code == "E0203");
    files.texts["scenarios/a.yaml"] += "training: {precision: bf16_mixed}\n";
    const Training training =
        load_good(files, {"training.precision.gradient_bytes=4"}).plan.jobs[0].training;
    CHECK(training.precision.name == "bf16_mixed");
    CHECK(training.precision.gradient_bytes == 4);
}

TEST_CASE("an override without a value or an equals sign, or of the schema, is an error") {
    MemoryFiles files = small_world();
    CHECK(first_error(files, {"parallel.tp"}).code == "E0210");
    CHECK(first_error(files, {"parallel.tp="}).code == "E0210");
    CHECK(first_error(files, {"=3"}).code == "E0210");
    CHECK(first_error(files, {"a..b=3"}).code == "E0210");
    CHECK(first_error(files, {"schema=memwall/scenario/1"}).code == "E0210");
    CHECK(first_error(files, {"machine.cluster.schema=foo"}).code == "E0210");
}

TEST_CASE("citations are found by the longest prefix") {
    MemoryFiles files = small_world();
    const Provenance provenance = load_good(files).provenance;
    CHECK(provenance.find("machine.cluster.node.gpu.memory") == "data sheet");
    CHECK(provenance.find("machine.cluster.node.gpu.nccl.ring") == "measured");
    CHECK(provenance.find("machine.cluster.node.gpu.hbm").empty());
}

TEST_CASE("a background job takes the work of another scenario and its own nodes") {
    MemoryFiles files = small_world();
    files.texts["scenarios/b.yaml"] =
        files.texts["scenarios/a.yaml"] +
        "background:\n  - {scenario: a.yaml, nodes: 2..5, start: 3ms}\n";
    const Plan plan = load_good(files, {}, "scenarios/b.yaml").plan;
    REQUIRE(plan.jobs.size() == 2);
    CHECK(plan.jobs[1].first_node == 2);
    CHECK(plan.jobs[1].nodes == 4);
    CHECK(plan.jobs[1].degrees.dp == 8);  // 32 GPUs / (2 x 2)
    CHECK(plan.jobs[1].start == Duration(3'000'000'000));
    CHECK(plan.machine.nodes == 6);
}

TEST_CASE("what is not taken of a background scenario is warned of, where it stands") {
    MemoryFiles files = small_world();
    files.texts["topologies/clusters/d.yaml"] =
        "schema: memwall/cluster/1\nname: d\nnode: n\nfabric: f\nnodes_max: 8\n";
    files.texts["scenarios/other.yaml"] =
        "schema: memwall/scenario/1\nbase: a\nmachine:\n  cluster: d\n  events: [{straggler: "
        "{rank: 0, slower: "
        "10%}}]\nchecks: [fits]\nbackground: [{scenario: a, nodes: 6}]\nabout: fine\n";
    files.texts["scenarios/b.yaml"] =
        files.texts["scenarios/a.yaml"] + "background:\n  - {scenario: other, nodes: 2..5}\n";
    Diagnostics diagnostics;
    CHECK(load(files, {}, diagnostics, "scenarios/b.yaml"));
    std::vector<std::string> warned;
    for (const Diagnostic& d : diagnostics.sorted()) {
        CHECK(d.code == "W0328");
        CHECK(d.place.file != "scenarios/b.yaml");
        CHECK(d.notes.at(0).place.file == "scenarios/b.yaml");
        warned.push_back(d.text);
    }
    CHECK(warned ==
          std::vector<std::string>{"machine.events of a background scenario is not taken",
                                   "checks of a background scenario is not taken",
                                   "background of a background scenario is not taken",
                                   "cluster 'd' is not taken: the job runs on nodes of 'c'"});
}

TEST_CASE("a background job may be a copy of the scenario, or of what it varies") {
    MemoryFiles files = small_world();
    for (const char* background : {"a", "{base: a, name: c}"}) {
        CAPTURE(std::string(background));
        files.texts["scenarios/b.yaml"] =
            std::string("schema: memwall/scenario/1\nbase: a\nbackground: [{scenario: ") +
            background + ", nodes: 2..3}]\n";
        Diagnostics none;
        const auto loaded = load(files, {}, none, "scenarios/b.yaml");
        REQUIRE(loaded);
        CHECK(loaded->plan.jobs.size() == 2);
        CHECK(none.sorted().empty());
    }
    files.texts["scenarios/b.yaml"] =
        files.texts["scenarios/a.yaml"] + "background: [{scenario: b, nodes: 2..3}]\n";
    CHECK(load_good(files, {}, "scenarios/b.yaml").plan.jobs.size() == 2);
    files.texts["scenarios/b.yaml"] = files.texts["scenarios/a.yaml"] +
                                      "background: [{scenario: {base: no-such}, nodes: 2..3}]\n";
    Diagnostics wrong;
    CHECK_FALSE(load(files, {}, wrong, "scenarios/b.yaml"));
    CHECK(wrong.errors() == 1);
    CHECK(wrong.sorted()[0].code == "E0113");
}

// m: 16 heads, hidden 1024, ffn 4096, 4 layers; 2 nodes of 8 GPUs.
TEST_CASE("every rule that is violated is reported at once") {
    MemoryFiles files = small_world();
    const auto codes = [&](const std::vector<std::string>& sets) {
        Diagnostics diagnostics;
        CHECK_FALSE(load(files, sets, diagnostics));
        std::vector<std::string> all;
        for (const Diagnostic& d : diagnostics.sorted()) {
            if (d.severity == Severity::Error) {
                all.push_back(d.code);
            }
        }
        std::sort(all.begin(), all.end());
        return all;
    };
    using Codes = std::vector<std::string>;
    const std::vector<std::string> wrong = {"parallel.tp=3",
                                            "parallel.pp=5",
                                            "parallel.dp=8",
                                            "batch.global=63",
                                            "parallel.sharding={kind: fsdp, shard: 3}",
                                            "workload.sequence=4096"};
    CHECK(codes(wrong) ==
          Codes{"E0310", "E0312", "E0314", "E0315", "E0319", "E0320", "E0330", "E0335"});
    // A name that leads nowhere takes only what follows from it along.
    const auto with = [&](const std::string& set) {
        std::vector<std::string> all = wrong;
        all.push_back(set);
        return all;
    };
    CHECK(codes(with("machine.cluster=nowhere")) ==
          Codes{"E0113", "E0312", "E0314", "E0315", "E0319", "E0320", "E0330", "E0335"});
    CHECK(codes(with("machine.cluster.node.gpu=nothing")) ==
          Codes{"E0113", "E0310", "E0312", "E0314", "E0315", "E0319", "E0320", "E0330", "E0335"});
    CHECK(codes(with("workload.model=nobody")) == Codes{"E0113", "E0310", "E0319", "E0320"});
    CHECK(codes({"machine.cluster=nowhere", "workload.model=nobody", "stack=none"}) ==
          Codes{"E0113", "E0113", "E0113"});
    // What is auto and cannot be worked out is not known: nothing is concluded from it.
    CHECK(codes({"parallel.tp=3", "batch.global=63"}) == Codes{"E0310", "E0312", "E0314", "E0315"});
    // After a value that cannot be read nothing is: it may have been meant otherwise.
    CHECK(codes(with("batch.micro=x")) == Codes{"E0204"});
}

TEST_CASE("two jobs on one node are refused") {
    MemoryFiles files = small_world();
    files.texts["scenarios/b.yaml"] =
        files.texts["scenarios/a.yaml"] + "background:\n  - {scenario: a.yaml, nodes: 1..2}\n";
    CHECK(first_error(files, {}, "scenarios/b.yaml").code == "E0328");
}

TEST_CASE("a printed plan is a scenario that resolves to the same bytes") {
    MemoryFiles files = small_world();
    files.texts["scenarios/b.yaml"] =
        files.texts["scenarios/a.yaml"] +
        "background:\n  - {scenario: a.yaml, nodes: 2..5, start: 3ms}\n"
        "checks: [fits, step_time < 30s]\nrun: {trace: {file: t.json, ranks: [0, 4..7]}}\n"
        "published: [{figure: step_time_s, value: 16.0578s, source: x}, {figure: mfu, value: "
        "44.3%, source: y}]\n";
    files.texts["scenarios/b.yaml"].insert(files.texts["scenarios/b.yaml"].find("nodes: 2"),
                                           "events: [{straggler: {rank: 3, slower: 10%}}, {link: "
                                           "node1/nic3->network, capacity: 50%}], ");
    const Loaded first = load_good(files, {"training.recompute=selective"}, "scenarios/b.yaml");
    const std::string text = print_plan(first, {.origins = false});
    for (const bool origins : {false, true}) {
        files.texts["scenarios/printed.yaml"] = print_plan(first, {.origins = origins});
        CHECK(print_plan(load_good(files, {}, "scenarios/printed.yaml"), {.origins = false}) ==
              text);
    }
    CHECK(first.plan.machine.stragglers.size() == 1);
    CHECK(first.plan.machine.link_events.size() == 1);
}

TEST_CASE("a collective algorithm is one that is known, or auto") {
    MemoryFiles files = small_world();
    const auto algorithm = [&](const char* name) {
        return load_good(files, {std::string("machine.network.algorithm=") + name})
            .plan.machine.algorithm;
    };
    CHECK(algorithm("auto").empty());
    CHECK(algorithm("tree") == "tree");
    const Diagnostic error = first_error(files, {"machine.network.algorithm=butterfly"});
    CHECK(error.code == "E0205");
    CHECK(error.hint == "choices: auto, ring, tree, hierarchical, nvls");
    CHECK(
        first_error(files, {"machine.network.algorithm=nvlz"}).hint.find("did you mean 'nvls'?") ==
        0);
    CHECK(first_error(files, {"machine.network.algorithm=[ring]"}).code == "E0203");
}

TEST_CASE("a straggler is slower by a percentage; a bare number could mean two things") {
    MemoryFiles files = small_world();
    const auto events = [](const std::string& slower) {
        return std::vector<std::string>{"machine.events=[{straggler: {rank: 0, slower: " + slower +
                                        "}}]"};
    };
    CHECK(load_good(files, events("10%")).plan.machine.stragglers[0].slower == 0.1);
    CHECK(load_good(files, events("1000%")).plan.machine.stragglers[0].slower == 10);
    const Diagnostic bare = first_error(files, events("10"));
    CHECK(bare.text == "machine.events[0].straggler.slower: 10 has no unit");
    CHECK(bare.hint == "say 10% for kernels that take 1.1 times as long");
    CHECK(first_error(files, events("0.5")).hint ==
          "say 50% for kernels that take 1.5 times as long");
    for (const char* wrong : {"1e300%", "-5%", "100001%", "x%", "{a: 1}"}) {
        CAPTURE(wrong);
        CHECK(first_error(files, events(wrong)).code.starts_with("E020"));
    }
    // Values whose percentage is no short decimal come back to the last bit.
    for (const char* odd :
         {"33.333333333333336%", "0.1234567890123456789%", "1e-310%", "7.000000000000001%"}) {
        CAPTURE(odd);
        const Loaded first = load_good(files, events(odd));
        files.texts["again.yaml"] = print_plan(first);
        CHECK(load_good(files, {}, "again.yaml").plan.machine.stragglers[0].slower ==
              first.plan.machine.stragglers[0].slower);
    }
}

TEST_CASE("a printed plan says where each value came from") {
    MemoryFiles files = small_world();
    const std::string text = print_plan(load_good(files, {"batch.micro=4"}));
    const auto line_with = [&](const std::string& key) {
        const std::size_t at = text.find("\n" + key) + 1;
        return text.substr(at, text.find('\n', at) - at);
    };
    CHECK(line_with("  tp: 2").ends_with("# scenarios/a.yaml:6"));
    CHECK(line_with("  dp: 4").ends_with("# derived"));
    CHECK(line_with("  micro: 4").ends_with("# --set"));
    CHECK(line_with("  vpp: 1").ends_with("# default"));
    CHECK(line_with("    loss: unfused").ends_with("# stack"));
    CHECK(line_with("    nodes_max: 64").ends_with("# topologies/clusters/c.yaml:5"));
}

TEST_CASE("the law in force is what a printed plan says, and another one stated is warned of") {
    MemoryFiles files = small_world();
    for (const char* fidelity : {"stepwise", "ideal"}) {
        CAPTURE(std::string(fidelity));
        const std::string network = fmt::format("machine.network.fidelity={}", fidelity);
        Diagnostics silent;
        Loaded loaded = *load(files, {network}, silent);
        CHECK(silent.sorted().empty());
        CHECK(loaded.plan.machine.law == CollectiveLaw::Steps);
        const std::string printed = print_plan(loaded, {.origins = true});
        const std::size_t line = printed.find("law: steps");
        REQUIRE(line != std::string::npos);
        CHECK(printed.substr(line, printed.find('\n', line) - line).ends_with("# derived"));
        Diagnostics stated;
        CHECK(load(files, {network, "machine.network.law=nccl"}, stated));
        REQUIRE(stated.sorted().size() == 1);
        const Diagnostic warning = stated.sorted().front();
        CHECK(warning.code == "W0410");
        CHECK(warning.place == Place{"--set", 2, 1});
        CHECK(warning.text ==
              fmt::format("law nccl has no effect: fidelity {} counts steps", fidelity));
    }
}

TEST_CASE("a latency set where the law does not read it is warned of") {
    MemoryFiles files = small_world();
    const std::string latency = "machine.cluster.fabric.hop_latency=900ns";
    const auto warnings = [&](std::vector<std::string> sets) {
        sets.push_back(latency);
        Diagnostics diagnostics;
        CHECK(load(files, sets, diagnostics));
        return diagnostics.sorted();
    };
    REQUIRE(warnings({}).size() == 1);
    CHECK(warnings({})[0].code == "W0410");
    CHECK(warnings({})[0].text ==
          "hop_latency has no effect: the laws of NCCL contain the latency");
    CHECK(warnings({"machine.network.law=steps"}).empty());
    CHECK(warnings({"machine.network.fidelity=stepwise"}).empty());
    CHECK(warnings({"machine.network.fidelity=ideal"})[0].text ==
          "hop_latency has no effect: an ideal network has no latency");
}

TEST_CASE("a trace stands in place of a model and gives its layers and sequence to the plan") {
    MemoryFiles files = small_world();
    const Job job = load_good(files).plan.jobs[0];
    const WorkloadTrace trace = build_trace(
        job.model,
        job.stack,
        {.micro_batch = 2, .sequence = 1024, .padded_vocabulary = job.padded_vocabulary});
    files.texts["scenarios/t.yaml"] = write_trace(trace, TraceFormat::Yaml);
    std::string& text = files.texts["scenarios/a.yaml"];
    text.replace(text.find("{model: m, sequence: 1024}"), 26, "{model: t.yaml}");

    const Loaded loaded = load_good(files);
    REQUIRE(loaded.traces.size() == 1);
    REQUIRE(loaded.traces[0]);
    CHECK(loaded.plan.jobs[0].trace_file == "scenarios/t.yaml");
    CHECK(loaded.plan.jobs[0].sequence == 1024);
    CHECK(loaded.plan.jobs[0].stages[1][0].layers == 2);
    CHECK(loaded.plan.jobs[0].micro_batches == 8);

    files.texts["again.yaml"] = print_plan(loaded);
    CHECK(print_plan(load_good(files, {}, "again.yaml"), {.origins = false}) ==
          print_plan(loaded, {.origins = false}));
}

TEST_CASE("a scenario that contradicts its trace is refused") {
    MemoryFiles files = small_world();
    const Job job = load_good(files).plan.jobs[0];
    files.texts["scenarios/t.yaml"] = write_trace(
        build_trace(
            job.model,
            job.stack,
            {.micro_batch = 2, .sequence = 1024, .padded_vocabulary = job.padded_vocabulary}),
        TraceFormat::Json);
    std::string& text = files.texts["scenarios/a.yaml"];
    text.replace(text.find("{model: m, sequence: 1024}"), 26, "{model: t.yaml}");
    CHECK(first_error(files, {"batch.micro=4"}).code == "E0337");
    CHECK(first_error(files, {"workload.sequence=512"}).code == "E0337");
    CHECK(
        first_error(files, {"parallel.pp=3", "parallel.tp=1", "machine.nodes=3", "batch.global=96"})
            .code == "E0330");
    const Diagnostic split = first_error(
        files, {"parallel.tp=3", "parallel.pp=1", "machine.nodes=3", "batch.global=96"});
    CHECK(split.code == "E0337");
    CHECK(split.text.find("tp 3 does not divide") == 0);
    CHECK(first_error(files, {"parallel.gradients.bucket=1B"}).code == "E0336");
    files.texts.erase("scenarios/t.yaml");
    CHECK(first_error(files, {}).code == "E0101");
}

TEST_CASE(
    "a trace whose products are of another format than the precision computes in is refused") {
    MemoryFiles files = small_world();
    const Job job = load_good(files).plan.jobs[0];
    TraceShape shape{
        .micro_batch = 2, .sequence = 1024, .padded_vocabulary = job.padded_vocabulary};
    const std::string traced = "{trace: t.yaml}";
    std::string& text = files.texts["scenarios/a.yaml"];
    text.replace(text.find("{model: m, sequence: 1024}"), 26, traced);
    const auto write = [&](Dtype compute) {
        shape.compute = compute;
        files.texts["scenarios/t.yaml"] =
            write_trace(build_trace(job.model, job.stack, shape), TraceFormat::Yaml);
    };
    write(Dtype::Bf16);
    CHECK(load_good(files).plan.jobs[0].training.precision.compute == Dtype::Bf16);
    CHECK(load_good(files, {"training.precision=bf16"}).traces[0].has_value());
    const Diagnostic error = first_error(files, {"training.precision=fp32"});
    CHECK(error.code == "E0337");
    CHECK(error.place == Place{"--set", 1, 1});
    CHECK(error.text == "precision fp32 computes in fp32, trace 'm' in bf16");
    REQUIRE(error.notes.size() == 1);
    CHECK(error.notes[0].place.file == "scenarios/a.yaml");
    CHECK(error.notes[0].place.line == 4);
    CHECK(error.notes[0].text == "100 % of the FLOPs of its matrix products are bf16");
    CHECK(error.hint.find("bf16_mixed, ") != std::string::npos);
    write(Dtype::Fp16);
    CHECK(first_error(files, {}).code == "E0337");
    CHECK(load_good(files, {"training.precision=fp16_mixed"}).traces[0].has_value());
    // Most products decide: one layer of 4 in another format is no contradiction, a head of it neither.
    write(Dtype::Bf16);
    std::string& trace = files.texts["scenarios/t.yaml"];
    const std::size_t gemm = trace.find("gemm: {");
    REQUIRE(gemm != std::string::npos);
    trace.insert(gemm + 7, "dtype: fp8, ");
    CHECK(load_good(files).traces[0].has_value());
    CHECK(first_error(files, {"training.precision.compute=fp8"}).code == "E0337");
    // Without products a trace says nothing about formats.
    files.texts["scenarios/t.yaml"] =
        "schema: memwall/trace/1\nname: x\ntokens: 2048\nsequence: 1024\nboundary_bytes: "
        "8B\nparameters: 1\nmatmul_parameters: 1\nembedding: e\nhead: e\nlayers:\n  - {kind: e, "
        "layers: 4}\nkinds:\n  - kind: e\n    parameters: []\n    tensors: []\n    forward:\n      "
        "- {op: a, time: {duration: 1us, flops: 1}}\n    backward:\n      - {op: b, pass: "
        "input_gradient, time: {duration: 1us}}\n";
    CHECK(load_good(files, {"training.precision=fp32"}).traces[0].has_value());
}

TEST_CASE("durations measured on another GPU are rescaled by the laws of both") {
    MemoryFiles files = small_world();
    // A copy of N bytes takes fixed + N / (efficiency x PCIe): without fixed part, half the rate is twice the time.
    const auto gpu = [](const std::string& name, const std::string& pcie) {
        return "schema: memwall/gpu/1\nname: " + name +
               "\nmemory: 80GiB\nusable: 79GiB\nhbm: 2000GB/s\npeak: {bf16: 300TFLOPS}\nsms: "
               "100\npcie: " +
               pcie + "\npcie_efficiency: 1\npcie_fixed: 0us\nlinks: 12\nlink_rate: 25GB/s\n";
    };
    files.texts["topologies/gpus/g.yaml"] = gpu("g", "32GB/s");
    files.texts["topologies/gpus/slow.yaml"] = gpu("slow", "16GB/s");
    const auto op = [](const std::string& name, const std::string& on) {
        return "      - {op: " + name + ", copy: {bytes: 1MiB}, measured: 1ms, measured_on: " + on +
               "}\n";
    };
    files.texts["scenarios/t.yaml"] =
        "schema: memwall/trace/1\nname: x\ntokens: 2048\nsequence: 1024\nboundary_bytes: "
        "8B\nparameters: 1\nmatmul_parameters: 1\nembedding: e\nhead: e\nlayers:\n  - {kind: e, "
        "layers: 4}\nkinds:\n  - kind: e\n    parameters: []\n    tensors: []\n    forward:\n" +
        op("a", "slow") + op("b", "g") + op("c", "abacus") +
        "    backward:\n      - {op: d, pass: input_gradient, copy: {bytes: 1MiB}}\n";
    std::string& text = files.texts["scenarios/a.yaml"];
    text.replace(text.find("{model: m, sequence: 1024}"), 26, "{trace: t.yaml}");
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded = load(files, {}, diagnostics);
    REQUIRE(loaded);
    const std::vector<TraceItem>& forward = loaded->traces[0]->kinds[0].forward;
    CHECK(forward[0].op->measured_scale == doctest::Approx(0.5));
    CHECK(forward[1].op->measured_scale == 1);
    CHECK(forward[2].op->measured_scale == 1);
    std::vector<std::string> warnings;
    for (const Diagnostic& each : diagnostics.sorted()) {
        if (each.code == "W0530") {
            warnings.push_back(each.text);
        }
    }
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0] ==
          "1 ops measured on abacus keep their duration on g: no gpu file of that name");
    CHECK(warnings[1] == "1 ops measured on slow are rescaled to g by the kernel laws, x 0.5");
    // What was read is written as it was.
    CHECK(write_trace(*loaded->traces[0], TraceFormat::Yaml)
              .find("measured: 1ms, measured_on: slow") != std::string::npos);
}

TEST_CASE("a config.json, or the folder that holds it, stands in place of a model") {
    MemoryFiles files = small_world();
    files.texts["scenarios/llama/config.json"] =
        R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4,)"
        R"( "intermediate_size": 4096, "vocab_size": 32000, "tie_word_embeddings": false, "max_position_embeddings": 4096})";
    for (const char* reference : {"llama/config.json", "llama/"}) {
        CAPTURE(reference);
        const Model model = load_good(files, {std::string("workload.model=scenarios/") + reference})
                                .plan.jobs[0]
                                .model;
        CHECK(model.kv_heads == 4);
        CHECK(model.gated);
        CHECK(model.vocabulary == 32000);
    }
}

TEST_CASE(
    "a scenario in a folder of the data root is known by its name, with and without the folder") {
    MemoryFiles files = small_world();
    files.texts["scenarios/study/b.yaml"] = files.texts["scenarios/a.yaml"];
    DataSource source(files, {""});
    CHECK(source.names(DataKind::Scenario) == std::vector<std::string>{"a", "study/b"});
    for (const char* name : {"b", "study/b", "scenarios/study/b.yaml"}) {
        Diagnostics diagnostics;
        CHECK_MESSAGE(load_scenario(name, {}, source, diagnostics), name);
    }
    CHECK(first_error(files, {}, "study/c").hint == "did you mean 'study/b'?");
    Diagnostics diagnostics;
    CHECK_FALSE(load_scenario("stdy/b", {}, source, diagnostics));
    CHECK(diagnostics.sorted().front().code == std::string_view("E0101"));
}

TEST_CASE("a path that is there goes before a name in a folder of the data root") {
    MemoryFiles files = small_world();
    files.texts["scenarios/study/b.yaml"] = files.texts["scenarios/a.yaml"];
    files.texts["study/b"] = "schema: memwall/scenario/1\n";
    CHECK(first_error(files, {}, "study/b").place.file == "study/b");
}

TEST_CASE("overrides reach into a cluster, and a key that it does not have is named") {
    MemoryFiles files = small_world();
    DataSource source(files, {""});
    Diagnostics diagnostics;
    const auto composed =
        load_document(DataKind::Cluster, "c", source, diagnostics, {"node.nic_rate=100Gbps"});
    REQUIRE(composed);
    CHECK(composed->at("node.nic_rate")->scalar == "100Gbps");
    CHECK(composed->at("node.nic_rate")->place.file == "--set");
    CHECK_FALSE(load_document(DataKind::Cluster, "c", source, diagnostics, {"node.nic_rate"}));
    CHECK(diagnostics.sorted().front().code == std::string_view("E0210"));
}

TEST_CASE("the schema line of a file is read without reading the file as a scenario") {
    MemoryFiles files = small_world();
    DataSource source(files, {""});
    CHECK(source.schema_of("topologies/clusters/c.yaml") == "memwall/cluster/1");
    CHECK(source.schema_of("no/such/file").empty());
    files.texts["broken.yaml"] = "[";
    CHECK(source.schema_of("broken.yaml").empty());
}
