// What check says of cards, fabrics and choices of attention that a run could not use.
#include "sim/spec/constants.h"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include "sim/io/load.h"
#include "sim/io/sources.h"
#include "sim/spec/supported.h"

using namespace memwall;

namespace {

const std::string kRoot = MEMWALL_SOURCE_DIR;

const std::string kScenario =
    "schema: memwall/scenario/1\n"
    "name: a\n"
    "machine: {cluster: h100-8x400g, nodes: 2}\n"
    "workload: {model: llama3-8b, sequence: 1024}\n"
    "batch: {global: 64, micro: 1}\n"
    "stack: megatron-lm-2025\n";

const std::string kCard = "machine.cluster.node.gpu=own/card.yaml";
const std::string kVaried = "machine.cluster.node.gpu=own/varied.yaml";
const std::string kFabric = "machine.cluster.fabric=own/fabric.yaml";

// What ships, and files of a user's own: a card and a fabric of their data sheets alone.
class WithOwnFiles : public DiskFiles {
  public:
    WithOwnFiles() {
        const std::string sheet =
            "name: mine\narchitecture: sm90\nmemory: 96GiB\nusable: 95GiB\nhbm: 4000GB/s\n"
            "peak: {bf16: 800TFLOPS}\nsms: 120\npcie: 64GB/s\nlinks: 18\nlink_rate: 25GB/s\n";
        own_.texts["own/card.yaml"] = "schema: memwall/gpu/1\n" + sheet;
        own_.texts["own/varied.yaml"] = "schema: memwall/gpu/1\nbase: h100-80g-sxm\n" + sheet;
        own_.texts["own/fabric.yaml"] =
            "schema: memwall/fabric/1\nname: mine\nkind: single_switch\n";
    }
    FileStatus status(const std::string& path) override {
        return is_own(path) ? own_.status(path) : DiskFiles::status(path);
    }
    FileContent read(const std::string& path, std::size_t bytes_max) override {
        return is_own(path) ? own_.read(path, bytes_max) : DiskFiles::read(path, bytes_max);
    }

  private:
    static bool is_own(const std::string& path) { return path.starts_with("own/"); }
    MemoryFiles own_;
};

std::vector<Diagnostic> errors_of(const std::vector<std::string>& sets) {
    WithOwnFiles files;
    DataSource source(files, {kRoot});
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded =
        load_scenario_text("a.yaml", kScenario, sets, source, diagnostics);
    if (loaded) {
        check_supported(loaded->plan, loaded->composed, diagnostics);
    }
    std::vector<Diagnostic> errors = diagnostics.sorted();
    std::erase_if(errors, [](const Diagnostic& d) { return d.severity != Severity::Error; });
    return errors;
}

Diagnostic only_error(const std::vector<std::string>& sets) {
    const std::vector<Diagnostic> errors = errors_of(sets);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].code == "E0401");
    return errors[0];
}

bool names(const Diagnostic& d, const std::string& key) {
    return d.text.find(key) != std::string::npos;
}

}  // namespace

TEST_CASE("a card with its data sheet alone gets one list of what a run needs") {
    const Diagnostic error = only_error({kCard});
    for (const char* key : {"gemm.bf16",
                            "attention_forward.bf16",
                            "attention_backward.bf16",
                            "memory_kernels.elementwise",
                            "nccl.ring",
                            "nccl.channels",
                            "nccl.step_simple",
                            "nccl.search_speed",
                            "nccl.ll128_per_channel"}) {
        CAPTURE(std::string(key));
        CHECK(names(error, key));
    }
    CHECK_FALSE(names(error, "nvls"));
    CHECK(error.place.file == "own/card.yaml");
    CHECK(error.hint.find("say `base: h100-80g-sxm`") == 0);
    // One GPU calls nobody, unfused attention needs no law of its own.
    const Diagnostic alone = only_error({kCard,
                                         "machine.nodes=1",
                                         "machine.cluster.node.gpus=1",
                                         "workload.model.attention=unfused"});
    CHECK(alone.text ==
          "gpu 'mine' lacks constants that this scenario needs: gemm.bf16, "
          "memory_kernels.elementwise");
}

TEST_CASE("with a measured card as base a data sheet runs") {
    CHECK(errors_of({kVaried}).empty());
}

TEST_CASE("a constant that is 0 or missing is named") {
    const std::string gpu = "machine.cluster.node.gpu.";
    CHECK(only_error({gpu + "nccl.channels=0", gpu + "nccl.ring=0GB/s"}).text ==
          "gpu 'h100-80g-sxm' lacks constants that this scenario needs: nccl.ring, nccl.channels");
    CHECK(names(only_error({gpu + "nccl.nvls_channels=0"}), ": nccl.nvls_channels"));
    CHECK(errors_of({gpu + "nccl.nvls_channels=0", gpu + "nccl.nvls=0GB/s"}).empty());
    CHECK(errors_of({gpu + "nccl.channels=0", "machine.network.law=steps"}).empty());
    CHECK(errors_of({gpu + "nccl.channels=0", "machine.network=stepwise"}).empty());
}

TEST_CASE("products that a factor of their role makes faster than twice the peak are refused") {
    // 891.7 / 0.2 = 4459 TFLOP/s, of 989.
    const std::string roles = "machine.cluster.node.gpu.gemm_roles.";
    const std::vector<Diagnostic> errors = errors_of({roles + "forward=0.2"});
    REQUIRE_FALSE(errors.empty());
    CHECK(errors[0].code == "E0408");
    CHECK(errors[0].place == Place{"--set", 1, 1});
    CHECK(errors[0].text.find("gemm_roles.forward 0.2 takes gemm.bf16.burst") == 0);
    CHECK(errors_of({roles + "forward=0.9"}).empty());
}

TEST_CASE("a result rests on the constants that its collective law reads") {
    DiskFiles files;
    DataSource source(files, {kRoot});
    const auto rests_on = [&](const std::string& key, const std::vector<std::string>& sets) {
        Diagnostics diagnostics;
        const std::optional<Loaded> loaded =
            load_scenario_text("a.yaml", kScenario, sets, source, diagnostics);
        REQUIRE(loaded.has_value());
        const std::vector<Assumption> all = assumptions(loaded->plan, loaded->provenance);
        return std::any_of(all.begin(), all.end(), [&](const Assumption& a) {
            return a.what.find(key) != std::string::npos;
        });
    };
    for (const char* latency : {"hop_latency", "nvlink_latency"}) {
        CAPTURE(std::string(latency));
        CHECK_FALSE(rests_on(latency, {}));
        CHECK(rests_on(latency, {"machine.network.law=steps"}));
        CHECK(rests_on(latency, {"machine.network=stepwise"}));
        CHECK_FALSE(rests_on(latency, {"machine.network=ideal"}));
    }
    CHECK(rests_on("nccl", {}));
    CHECK_FALSE(rests_on("nccl.step_ll", {"machine.network=stepwise"}));
}

TEST_CASE("a stack that reduces behind backward brings its bucket") {
    DiskFiles files;
    DataSource source(files, {kRoot});
    const auto bucket = [&](const std::vector<std::string>& sets) {
        Diagnostics diagnostics;
        const std::optional<Loaded> loaded =
            load_scenario_text("a.yaml", kScenario, sets, source, diagnostics);
        REQUIRE(loaded.has_value());
        const auto derived = loaded->derivations.find("parallel.gradients.bucket");
        return std::pair(loaded->plan.jobs[0].parallel.gradients.bucket.value,
                         derived == loaded->derivations.end() ? "" : std::string(derived->second));
    };
    const auto of_stack = [](std::int64_t bytes) { return std::pair(bytes, std::string("stack")); };
    CHECK(bucket({"stack=pytorch-ddp-2024"}) == of_stack(std::int64_t{25} << 20));
    CHECK(bucket({"stack=torchtitan-2025"}) == of_stack(std::int64_t{100} << 20));
    // 5 x 10^8 gradients in bf16.
    CHECK(bucket({"stack=deepspeed-2024", "parallel.sharding=zero2"}) == of_stack(1'000'000'000));
    // Megatron-LM reduces fp32: 40 x 10^6 for 16 ranks, 64 x 10^6 for 64.
    const std::string overlap = "stack.overlap.gradient_reduce=true";
    CHECK(bucket({overlap}) == of_stack(160'000'000));
    CHECK(bucket({overlap, "machine.nodes=8"}) == of_stack(256'000'000));
    // Not where the stack does not overlap, the scenario names one, or each unit is reduced by itself.
    const std::pair<std::int64_t, std::string> none(0, "");
    CHECK(bucket({}) == none);
    CHECK(bucket({"stack=pytorch-ddp-2024", "parallel.gradients.bucket=0B"}) == none);
    CHECK(bucket({"stack=torchtitan-2025", "parallel.sharding=fsdp"}) == none);
}

TEST_CASE("a fabric without constants of NCCL is refused where nodes are joined") {
    const Diagnostic error = only_error({kFabric});
    CHECK(error.text ==
          "fabric 'mine' lacks constants of NCCL across nodes: nccl.efficiency, nccl.step_ll, "
          "nccl.step_simple, nccl.ll128_factor, nccl.ring_fill, nccl.tree_fill");
    CHECK(error.hint.find("law: steps") != std::string::npos);
    CHECK(errors_of({kFabric, "machine.nodes=1"}).empty());
    CHECK(errors_of({kFabric, "machine.network.law=steps"}).empty());
    CHECK(errors_of({kFabric, kCard}).size() == 2);
}

TEST_CASE("a card without fused attention is told to take unfused, at the line that chose it") {
    const std::vector<std::string> v100 = {"machine.cluster=v100-dgx1",
                                           "training.precision=fp16_mixed"};
    const auto with = [&](const std::string& set) {
        std::vector<std::string> all = v100;
        all.push_back(set);
        return all;
    };
    const Diagnostic of_stack = only_error(v100);
    CHECK(of_stack.place.file == kRoot + "/topologies/stacks/megatron-lm-2025-kernel.yaml");
    CHECK(of_stack.place.line > 1);
    CHECK(of_stack.text.find("attention_forward.fp16, attention_backward.fp16") !=
          std::string::npos);
    CHECK(of_stack.hint.find("attention.implementation: unfused") != std::string::npos);
    const Diagnostic of_model =
        only_error(with("workload.with={attention.implementation: flash2}"));
    CHECK(of_model.place.file == "--set");
    CHECK(errors_of(with("workload.with={attention.implementation: unfused}")).empty());
    CHECK(errors_of(with("stack=megatron-lm-2021")).empty());
}

TEST_CASE("attention that the precision or the card does not have is refused") {
    for (const char* precision : {"fp32", "tf32"}) {
        CAPTURE(std::string(precision));
        const std::string set = std::string("training.precision=") + precision;
        CHECK(names(only_error({set}), "computes in 16 bits"));
        CHECK(errors_of({set, "workload.model.attention=unfused"}).empty());
    }
    CHECK(errors_of({"workload.model.attention=flash3"}).empty());
    CHECK(only_error({"workload.model.attention=flash3", "machine.cluster=selene-a100"}).text ==
          "flash3 needs an sm90 gpu, 'a100-80g-sxm' is sm80");
    const std::vector<Diagnostic> bf16 = errors_of({"machine.cluster=v100-dgx1"});
    CHECK(std::any_of(bf16.begin(), bf16.end(), [](const Diagnostic& d) {
        return d.hint == "policies that it computes: fp16_mixed, fp16_mixed_fp32_gradients, fp32";
    }));
    CHECK(names(only_error({"machine.cluster=selene-a100", "training.precision.compute=fp8"}),
                "does not compute in fp8"));
}

TEST_CASE("rates far above the data sheet and points out of order contradict each other") {
    const std::string gpu = "machine.cluster.node.gpu.";
    const auto codes = [](const std::vector<Diagnostic>& errors) {
        std::vector<std::string> all;
        for (const Diagnostic& d : errors) {
            all.push_back(d.code);
        }
        return all;
    };
    const std::vector<Diagnostic> burst = errors_of({gpu + "gemm.bf16.burst=2000TFLOPS"});
    REQUIRE(codes(burst) == std::vector<std::string>{"E0408"});
    CHECK(burst[0].text == "gemm.bf16.burst 2PFLOPS is more than twice peak.bf16 989TFLOPS");
    CHECK(burst[0].notes.at(0).place.file == kRoot + "/topologies/gpus/h100-80g-sxm.yaml");
    CHECK(errors_of({gpu + "gemm.bf16.burst=1900TFLOPS"}).empty());
    CHECK(errors_of({gpu + "peak.bf16=1TFLOPS"}).empty());  // the rates follow
    CHECK(codes(errors_of({gpu + "flash2_backward.bf16.matrix=1.98PFLOPS"})) ==
          std::vector<std::string>{"E0408"});
    const std::string points = gpu + "occupancy=[{threads: 0.5, rate: 0.9}, {threads: 0.";
    CHECK(errors_of({points + "6, rate: 1}]"}).empty());
    CHECK(codes(errors_of({points + "4, rate: 1}]"})) == std::vector<std::string>{"E0408"});
    CHECK(codes(errors_of({points + "5, rate: 1}]"})) == std::vector<std::string>{"E0408"});
}

TEST_CASE("a stack has one set of rates for an architecture, each within its range") {
    CHECK(
        errors_of({"stack.rates=[{architecture: sm80}, {architecture: sm90, gemm: 0.9}]"}).empty());
    const std::vector<Diagnostic> twice =
        errors_of({"stack.rates=[{architecture: sm90}, {architecture: sm90, gemm: 0.9}]"});
    REQUIRE(twice.size() == 1);
    CHECK(twice[0].code == "E0409");
    CHECK(twice[0].text == "rates: architecture 'sm90' is given twice");
    CHECK(twice[0].place.file == "--set");
    for (const char* wrong : {"gemm: 0", "memory: 1.6", "attention_backward: -1"}) {
        CAPTURE(std::string(wrong));
        const std::vector<Diagnostic> errors =
            errors_of({std::string("stack.rates=[{architecture: sm90, ") + wrong + "}]"});
        REQUIRE(errors.size() == 1);
        CHECK(errors[0].code == "E0206");
    }
    const std::vector<Diagnostic> unnamed = errors_of({"stack.rates=[{gemm: 0.9}]"});
    REQUIRE(unnamed.size() == 1);
    CHECK(unnamed[0].code == "E0202");
}

TEST_CASE("every card that a hint names is there, of that architecture, and lacks nothing") {
    DiskFiles files;
    DataSource source(files, {kRoot});
    for (const char* architecture :
         {"sm70", "sm80", "sm86", "sm89", "sm90", "sm100", "sm103", "sm120", "gfx90a", "gfx942"}) {
        CAPTURE(std::string(architecture));
        const std::string card(measured_card(architecture));
        REQUIRE_FALSE(card.empty());
        Diagnostics diagnostics;
        const std::optional<Gpu> gpu = load_gpu(card, source, diagnostics);
        REQUIRE(gpu);
        CHECK(gpu->architecture == architecture);
        CHECK(errors_of({"machine.cluster.node.gpu=" + card,
                         "machine.cluster.node.intra=pcie_tree",
                         "training.precision=fp16_mixed",
                         "workload.model.attention=unfused"})
                  .empty());
    }
    CHECK(measured_card("sm42").empty());
    CHECK(only_error({kCard, "machine.cluster.node.gpu.architecture=sm42"})
              .hint.find("memwall list gpus") != std::string::npos);
}
