// The scenarios of the repository: each resolves, is simulated in this release, and prints to a scenario of the same bytes.
#include <doctest/doctest.h>

#include "sim/io/load.h"
#include "sim/io/print_plan.h"
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
