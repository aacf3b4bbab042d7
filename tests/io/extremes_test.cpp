// Every number of a plan set to an extreme: the plan is refused with a place, or it runs and its checks hold. Never a bug.
#include <array>
#include <regex>
#include <sstream>

#include <doctest/doctest.h>

#include "sim/analyze/metrics.h"
#include "sim/io/load.h"
#include "sim/io/print_plan.h"
#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "sim/run/feasible.h"
#include "sim/run/simulate.h"
#include "sim/spec/supported.h"

using namespace memwall;

namespace {

const std::string kRoot = MEMWALL_SOURCE_DIR;

// Small, and between them: switches, a mesh, PCIe; one node and two; tp, pp, ZeRO, FSDP; a straggler; overlap or none.
constexpr std::array<const char*, 4> kPlans = {
    "machine: {cluster: h100-8x400g, nodes: 1}\n"
    "workload: {model: gpt2, sequence: 128}\nbatch: {global: 8, micro: 1}\n"
    "parallel: {dp: 8}\nstack: megatron-lm-2025\n",
    "machine: {cluster: selene-a100, nodes: 2, events: [{straggler: {rank: 3, slower: 10%}}]}\n"
    "workload: {model: gpt2-medium, sequence: 128}\nbatch: {global: 8, micro: 1}\n"
    "parallel: {tp: 2, pp: 2, dp: 4, sequence_parallel: true, gradients: {bucket: 25MiB}}\n"
    "training: {recompute: selective}\nstack: megatron-lm-2025\n",
    "machine: {cluster: rtx4090-100g, nodes: 2}\n"
    "workload: {model: gpt2, sequence: 128}\nbatch: {global: 16, micro: 1}\n"
    "parallel: {dp: 16, sharding: {kind: fsdp}}\n"
    "training: {precision: bf16_params_fp32_states, recompute: full}\nstack: torchtitan-2025\n",
    "machine: {cluster: v100-dgx1, nodes: 2}\n"
    "workload: {model: gpt2, sequence: 128}\nbatch: {global: 32, micro: 1}\n"
    "parallel: {dp: 8, pp: 2, sharding: zero1, gradients: {bucket: 25MiB}}\n"
    "training: {precision: fp16_mixed}\nstack: megatron-deepspeed-2022\n"};

std::optional<Loaded> load(const std::string& text, DataSource& source, Diagnostics& diagnostics) {
    return load_scenario_text("plan.yaml", text, {}, source, diagnostics);
}

// What is wrong with how the program takes this plan; empty = nothing.
std::string fault(const std::string& text, DataSource& source) {
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded = load(text, source, diagnostics);
    if (!loaded || !check_supported(loaded->plan, loaded->composed, diagnostics)) {
        return diagnostics.has_errors() ? "" : "refused without an error";
    }
    const Job& job = loaded->plan.jobs.front();
    const ProgramSet programs = lower(job, build_trace(job.model, job.stack, trace_shape(job)));
    if (!check_feasible(loaded->plan, loaded->composed, {&programs}, diagnostics)) {
        return "";
    }
    SimulationParts parts;
    const RunResult result = simulate(loaded->plan, {}, &parts);
    if (!result.refused.empty() || !result.deadlock.empty()) {
        return "not run: " + result.refused;
    }
    const Fabric fabric(loaded->plan.machine);
    const Metrics metrics =
        measure({loaded->plan, parts.traces.front(), parts.programs.front(), fabric, result});
    for (const SelfCheck& check : metrics.checks) {
        if (!check.holds) {
            return check.what + ": " + check.detail;
        }
    }
    return "";
}

// Around a unit: nothing, the least, the most, beyond both. `unit` is empty for a plain number.
std::vector<std::string> extremes(const std::string& unit) {
    if (unit.empty()) {
        return {"0", "-1", "1e300", "1e-300", "1", "2147483647", "1e18", "0.5", "1000"};
    }
    if (unit == "%") {
        return {"0%", "1e300%", "100%", "-1%"};
    }
    if (unit.ends_with("FLOPS")) {
        return {"0FLOPS", "1MFLOPS", "1e300TFLOPS", "1e-300TFLOPS", "1e9TFLOPS", "-1TFLOPS"};
    }
    if (unit.ends_with("B/s")) {
        return {"0B/s", "1MB/s", "1e300GB/s", "1e-300GB/s", "1e9GB/s", "-1GB/s"};
    }
    if (unit.ends_with("B")) {
        return {"0B", "1B", "9e18B", "1EiB", "1TiB", "-1B"};
    }
    return {"0ps", "1ps", "1h", "2h", "1s", "-1us"};
}

}  // namespace

TEST_CASE("a plan with one extreme number is refused at a place or runs soundly") {
    constexpr unsigned kEvery =
        13;  // all of them take half a minute; a prime, so that all leaves have their turn
    DiskFiles files;
    DataSource source(files, {kRoot});
    const std::regex leaf("([ -]*[A-Za-z0-9_]+: )-?[0-9.]+(?:e[-+]?[0-9]+)?(%|[A-Za-z/]*)");
    unsigned mutation = 0;
    unsigned played = 0;
    for (const char* plan : kPlans) {
        Diagnostics diagnostics;
        const auto loaded =
            load(std::string("schema: memwall/scenario/1\nname: p\n") + plan, source, diagnostics);
        REQUIRE(loaded);
        std::vector<std::string> lines;
        std::istringstream text(print_plan(*loaded, {.origins = false}));
        for (std::string line; std::getline(text, line);) {
            lines.push_back(line);
        }
        for (std::size_t i = 0; i < lines.size(); ++i) {
            std::smatch parts;
            if (!std::regex_match(lines[i], parts, leaf)) {
                continue;
            }
            for (const std::string& value : extremes(parts[2])) {
                if (++mutation % kEvery != 0) {
                    continue;
                }
                std::string mutated;
                for (std::size_t k = 0; k < lines.size(); ++k) {
                    mutated += (k == i ? parts[1].str() + value : lines[k]) + "\n";
                }
                CAPTURE(plan);
                CAPTURE(i);
                CAPTURE(parts[1].str() + value);
                std::string wrong;
                try {
                    wrong = fault(mutated, source);
                } catch (const std::exception& e) {
                    wrong = e.what();
                }
                CHECK(wrong == "");
                ++played;
            }
        }
    }
    CHECK(played > 300);
}
