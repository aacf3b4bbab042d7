// The scenarios of the repository: each resolves, is simulated in this release, and prints to a scenario of the same bytes.
#include <doctest/doctest.h>

#include "sim/io/load.h"
#include "sim/io/print_plan.h"
#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "sim/spec/supported.h"

using namespace memwall;

namespace {

const std::string kRoot = MEMWALL_SOURCE_DIR;

std::vector<std::string> all_scenarios() {
    DiskFiles files;
    std::vector<std::string> paths;
    for (const char* folder : {"", "/sc21", "/simumax"}) {
        const std::string directory = kRoot + "/scenarios" + folder;
        for (const std::string& name : files.list(directory)) {
            if (name.ends_with(".yaml")) {
                paths.push_back(directory + "/" + name);
            }
        }
    }
    return paths;
}

// What one rank of the only stage of Llama-3 8B over 8 H100 holds of the model states, and hands to gradient reductions.
struct States {
    std::int64_t held = 0;
    std::int64_t reduced = 0;
};
States states_of(const std::string& stack, const std::string& precision, const std::string& kind) {
    DiskFiles files;
    DataSource source(files, {kRoot});
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded = load_scenario_text(
        "states.yaml",
        "schema: memwall/scenario/1\nname: states\nmachine: {cluster: h100-8x400g, nodes: 1}\n"
        "workload: {model: llama3-8b, sequence: 1024}\nbatch: {global: 8, micro: 1}\nparallel: "
        "{dp: 8, sharding: {kind: " +
            kind + "}}\ntraining: {precision: " + precision + "}\nstack: " + stack + "\n",
        {},
        source,
        diagnostics);
    REQUIRE(loaded);
    const Job& job = loaded->plan.jobs.front();
    const ProgramSet set = lower(job, build_trace(job.model, job.stack, trace_shape(job)));
    States states;
    for (const MemoryEvent& event : set.programs.front().resident) {
        const bool state =
            event.memory == TensorClass::Parameters || event.memory == TensorClass::MasterWeights ||
            event.memory == TensorClass::Gradients || event.memory == TensorClass::OptimizerStates;
        states.held += state ? event.bytes : 0;
    }
    for (const Item& item : set.programs.front().items) {
        if (item.kind == Item::Kind::Op && set.ops[item.index].kind == OpKind::Collective) {
            const CollectiveCall& call = set.collectives[set.ops[item.index].work];
            const bool reduces = call.kind == CollectiveKind::AllReduce ||
                                 call.kind == CollectiveKind::ReduceScatter;
            states.reduced += reduces && call.bytes.value > 4 ? call.bytes.value : 0;
        }
    }
    return states;
}

Plan plan_of(const std::string& name) {
    DiskFiles files;
    DataSource source(files, {kRoot});
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded =
        load_scenario(kRoot + "/scenarios/" + name, {}, source, diagnostics);
    REQUIRE(loaded);
    return loaded->plan;
}

}  // namespace

TEST_CASE("every scenario is legal, supported, and prints to a scenario of the same bytes") {
    DiskFiles files;
    DataSource source(files, {kRoot});
    const std::vector<std::string> paths = all_scenarios();
    REQUIRE(paths.size() >= 19);
    for (const std::string& path : paths) {
        CAPTURE(path);
        Diagnostics diagnostics;
        const std::optional<Loaded> loaded = load_scenario(path, {}, source, diagnostics);
        REQUIRE(loaded);
        CHECK(check_supported(loaded->plan, loaded->composed, diagnostics));
        const std::string text = print_plan(*loaded, {.origins = false});
        for (const bool origins : {false, true}) {
            const std::optional<Loaded> again = load_scenario_text(
                "printed.yaml", print_plan(*loaded, {.origins = origins}), {}, source, diagnostics);
            REQUIRE(again);
            CHECK(print_plan(*again, {.origins = false}) == text);
        }
        CHECK_FALSE(diagnostics.has_errors());
    }
}

TEST_CASE("GPT-3 175B on 1,024 A100 has 96 micro-batches and 2 layers per chunk") {
    const Plan plan = plan_of("gpt3-175b-1024xa100.yaml");
    const Job& job = plan.jobs.front();
    CHECK(job.degrees.world() == 1024);
    CHECK(job.degrees.dp == 16);
    CHECK(job.micro_batches == 96);
    CHECK(job.stages.size() == 8);
    CHECK(job.stages[4].size() == 6);
    CHECK(job.stages[4][3].layers == 2);
    CHECK(job.padded_vocabulary == 51200);
    CHECK(job.training.precision.weight_bytes + job.training.precision.gradient_bytes +
              job.training.precision.master_bytes + job.training.precision.moment_bytes ==
          16);
}

TEST_CASE("Llama 3.1 405B on 16,384 H100 has one slot per chunk and 16 micro-batches") {
    const Job job = plan_of("llama3.1-405b-16384xh100.yaml").jobs.front();
    CHECK(job.degrees.world() == 16384);
    CHECK(job.micro_batches == 16);
    CHECK(job.stages[7][3].layers == 1);
    CHECK(job.degrees.shard == 128);
}

TEST_CASE("the two layouts of the example format read as their comments say") {
    const Job job = plan_of("llama3-70b-fsdp-64xh100.yaml").jobs.front();
    CHECK(job.degrees.dp == 64);
    CHECK(job.degrees.shard == 64);
    CHECK(job.degrees.replicate == 1);
    CHECK(job.micro_batches == 2);
    CHECK(job.parallel.gradients.reduce_dtype == Dtype::Fp32);
    CHECK(plan_of("llama3-70b-fsdp-64xh100.yaml").checks.size() == 2);
}

// 8,030,261,248 parameters, bf16 weights and gradients, fp32 master copy and moments, over 8 ranks: glossary, "Model states".
// Whoever names that policy gets it, on stacks that accumulate in fp32 by default too, and reduces as many bytes as it holds.
TEST_CASE("the model states of Llama-3 8B are the published ones, on every stack that can run it") {
    struct Row {
        std::string kind;
        double gib;
    };
    constexpr double kParameters = 8'030'261'248;
    for (const std::string stack : {"megatron-lm-2025", "torchtitan-2025", "deepspeed-2024"}) {
        for (const Row& row :
             {Row{"none", 119.66}, Row{"zero1", 41.13}, Row{"zero2", 28.05}, Row{"zero3", 14.96}}) {
            CAPTURE(stack);
            CAPTURE(row.kind);
            const States narrow = states_of(stack, "bf16_mixed", row.kind);
            CHECK(static_cast<double>(narrow.held) / 1073741824.0 ==
                  doctest::Approx(row.gib).epsilon(3e-4));
            CHECK(static_cast<double>(narrow.reduced) ==
                  doctest::Approx(2 * kParameters).epsilon(1e-6));
            // fp32 gradients add 2 bytes to each that is held, and double what is reduced.
            const States wide = states_of(stack, "bf16_mixed_fp32_gradients", row.kind);
            const int ranks = row.kind == "none" || row.kind == "zero1" ? 1 : 8;
            CHECK(static_cast<double>(wide.held - narrow.held) ==
                  doctest::Approx(2 * kParameters / ranks).epsilon(1e-6));
            CHECK(static_cast<double>(wide.reduced) ==
                  doctest::Approx(4 * kParameters).epsilon(1e-6));
        }
    }
}
