// Which constants there are, by what name, and what they can be.
#include "sim/calibration/constants.h"

#include <algorithm>

#include <doctest/doctest.h>

using namespace memwall;

namespace {

const Constant* find(const std::vector<Constant>& all, std::string_view path) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Constant& c) { return c.path == path; });
    return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> chosen(const std::vector<Constant>& all,
                                const std::vector<std::string>& wanted) {
    Diagnostics diagnostics;
    std::vector<std::string> paths;
    for (const std::size_t i : select_constants(all, wanted, diagnostics)) {
        paths.push_back(all[i].path);
    }
    if (diagnostics.has_errors()) {
        paths.push_back(diagnostics.sorted().front().text);
    }
    return paths;
}

}  // namespace

TEST_CASE("a constant is a place in the struct") {
    Gpu gpu;
    gpu.hbm = Bandwidth(3e12);
    gpu.peak[Dtype::Bf16] = FlopRate(8e14);
    gpu.gemm[Dtype::Bf16].burst = FlopRate(8.5e14);
    gpu.gemm[Dtype::Bf16].memory = Bandwidth(2e12);
    const std::vector<Constant> all = constants_of(gpu);
    const Constant* burst = find(all, "gemm.bf16.burst");
    REQUIRE(burst != nullptr);
    CHECK(burst->value() == 8.5e14);
    CHECK(burst->text() == "850TFLOPS");
    CHECK(burst->text(8e14) == "800TFLOPS");
    burst->set(7e14);
    CHECK(gpu.gemm[Dtype::Bf16].burst == FlopRate(7e14));
    const Constant* fixed = find(all, "gemm.bf16.fixed");
    REQUIRE(fixed != nullptr);
    fixed->set(1234.6);
    CHECK(gpu.gemm[Dtype::Bf16].fixed == Duration(1235));
    // No kernel moves more than the memory does, or counts faster than the data sheet at the highest clock.
    CHECK(find(all, "gemm.bf16.memory")->most == 3e12);
    CHECK(burst->most == doctest::Approx(1.1 * 8e14));
}

TEST_CASE("datasheet facts, counts and what only decides an algorithm are no constants") {
    Gpu gpu;
    const std::vector<Constant> all = constants_of(gpu);
    for (const char* path : {"hbm", "sms", "memory", "pcie", "nccl.channels", "nccl.ll_max"}) {
        CAPTURE(path);
        CHECK(find(all, path) == nullptr);
    }
    CHECK(find(all, "nccl.ring") != nullptr);
}

TEST_CASE("a head takes what the file gives a value, without what all cards share") {
    Gpu gpu;
    GemmRates& rates = gpu.gemm[Dtype::Bf16];
    rates.burst = FlopRate(9e14);
    rates.memory = Bandwidth(2e12);
    rates.fixed = Duration(3);
    rates.reaction = Duration(4);
    rates.long_run = 0;
    const std::vector<Constant> all = constants_of(gpu);
    CHECK(chosen(all, {"gemm.bf16"}) ==
          std::vector<std::string>{"gemm.bf16.burst", "gemm.bf16.memory", "gemm.bf16.fixed"});
    CHECK(chosen(all, {"gemm", "gemm.bf16.burst"}).size() == 3);
    CHECK(chosen(all, {"gemm.bf16.reaction"}) == std::vector<std::string>{"gemm.bf16.reaction"});
    CHECK(chosen(all, {"gemm.bf1"}).back() == "no constant 'gemm.bf1' to fit");
    CHECK(chosen(all, {""}).back() == "no constant '' to fit");
}

TEST_CASE("rates of a stack go by architecture, or by themselves when there is one") {
    Stack stack;
    stack.rates = {{.architecture = "sm80", .gemm = 0.9}};
    CHECK(chosen(constants_of(stack), {"rates.gemm"}) ==
          std::vector<std::string>{"rates.sm80.gemm"});
    stack.rates.push_back({.architecture = "sm90", .gemm = 0.8});
    const std::vector<Constant> all = constants_of(stack);
    CHECK(chosen(all, {"rates.sm90.gemm"}) == std::vector<std::string>{"rates.sm90.gemm"});
    CHECK(chosen(all, {"rates.gemm"}).back() == "'rates.gemm' is kept for several architectures");
    CHECK(find(all, "host.kernel_launch") != nullptr);
    CHECK(find(all, "memory.context") == nullptr);
}
