// Context parallelism from the scenario to the result: equal picoseconds however it is played, refusals at their place.
#include <doctest/doctest.h>

#include "sim/io/load.h"
#include "sim/run/simulate.h"
#include "sim/spec/supported.h"

using namespace memwall;

namespace {

const std::string kRoot = MEMWALL_SOURCE_DIR;

std::string scenario(const std::string& parallel, const std::string& stack = "megatron-lm-2025") {
    return "schema: memwall/scenario/1\nname: cp\nmachine: {cluster: h100-8x400g, nodes: 2}\n"
           "workload: {model: llama3-8b, sequence: 8192, with: {layers: 4}}\n"
           "batch: {global: 8, micro: 1}\n"
           "parallel: {" +
           parallel + "}\ntraining: {precision: bf16_mixed_fp32_gradients}\nstack: " + stack + "\n";
}

std::optional<Loaded> load(const std::string& text,
                           const std::vector<std::string>& sets,
                           Diagnostics& diagnostics) {
    DiskFiles files;
    DataSource source(files, {kRoot});
    return load_scenario_text("cp.yaml", text, sets, source, diagnostics);
}

RunResult played(const std::string& text, const std::vector<std::string>& sets = {}) {
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded = load(text, sets, diagnostics);
    REQUIRE(loaded);
    return simulate(loaded->plan, {});
}

std::vector<std::string> refusals(const std::string& text,
                                  const std::vector<std::string>& sets = {}) {
    Diagnostics diagnostics;
    if (const std::optional<Loaded> loaded = load(text, sets, diagnostics)) {
        check_supported(loaded->plan, loaded->composed, diagnostics);
    }
    std::vector<std::string> codes;
    for (const Diagnostic& d : diagnostics.sorted()) {
        if (d.severity == Severity::Error) {
            codes.emplace_back(d.code);
        }
    }
    return codes;
}

}  // namespace

TEST_CASE("folded, coalesced and plain runs of context parallelism are equal") {
    for (const char* parallel :
         {"tp: 2, cp: 2, dp: auto, sequence_parallel: true, cp_kind: ring, sharding: {kind: zero1}",
          "tp: 1, cp: 4, dp: auto, cp_kind: all_to_all, sharding: {kind: fsdp}",
          "tp: 2, pp: 2, cp: 4, dp: auto, cp_kind: all_gather",
          "tp: 1, pp: 2, cp: 8, dp: 1, cp_kind: ring"}) {
        CAPTURE(parallel);
        const RunResult plain =
            played(scenario(parallel), {"run.fold=false", "run.coalesce=false"});
        const RunResult folded = played(scenario(parallel), {"run.coalesce=false"});
        const RunResult both = played(scenario(parallel));
        CHECK(plain.signature == folded.signature);
        CHECK(plain.signature == both.signature);
        CHECK(plain.memory.size() == both.memory.size());
        for (std::size_t i = 0; i < both.memory.size(); ++i) {
            CHECK(plain.memory[i].allocated == both.memory[i].allocated);
        }
    }
}

TEST_CASE("and so are runs of low precision with transfers in parts") {
    for (const char* parallel :
         {"tp: 4, dp: auto, sequence_parallel: true, sharding: {kind: zero1}",
          "tp: 4, pp: 2, cp: 2, dp: 1, sequence_parallel: true, sharding: {kind: zero1}"}) {
        CAPTURE(parallel);
        const std::string text = scenario(parallel, "nemo-2024");
        const std::string recipe = "training.recipe=fp8_delayed";
        const RunResult plain = played(text, {recipe, "run.fold=false", "run.coalesce=false"});
        CHECK(plain.signature == played(text, {recipe, "run.coalesce=false"}).signature);
        CHECK(plain.signature == played(text, {recipe}).signature);
    }
}

TEST_CASE("what context parallelism cannot divide is refused") {
    using Codes = std::vector<std::string>;
    const std::string unfused = "megatron-lm-2021";
    CHECK(refusals(scenario("tp: 8, cp: 2, dp: 1")) == Codes{});
    CHECK(refusals(scenario("tp: 8, cp: 2, dp: 1", unfused)) == Codes{"E0390"});
    // 8 kv heads over tp 4 leave 2 for cp 4; the 8 heads of a rank would do.
    CHECK(refusals(scenario("tp: 4, cp: 4, dp: 1, cp_kind: all_to_all")) == Codes{"E0318"});
    CHECK(refusals(scenario("tp: 2, cp: 4, dp: 2, cp_kind: all_to_all")) == Codes{});
}

TEST_CASE("a recipe that the GPU or the precision has no arithmetic for is refused") {
    using Codes = std::vector<std::string>;
    CHECK(refusals(scenario("tp: 2, dp: auto"), {"training.recipe=fp8_tensorwise"}) == Codes{});
    CHECK(refusals(scenario("tp: 2, dp: auto"), {"training.recipe=nvfp4"}) == Codes{"E0401"});
    CHECK(refusals(scenario("tp: 2, dp: auto"),
                   {"machine.cluster=b200-8x400g", "training.recipe=nvfp4"}) == Codes{});
    CHECK(refusals(scenario("tp: 2, dp: auto"),
                   {"training.recipe=fp8_delayed", "training.precision=fp32"}) == Codes{"E0339"});
    CHECK(refusals(scenario("tp: 2, dp: auto"),
                   {"training.recipe=fp8_delayed",
                    "training.recipe_skips_first=3",
                    "training.recipe_skips_last=2"}) == Codes{"E0339"});
}
