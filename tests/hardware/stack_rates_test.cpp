#include "sim/hardware/stack_rates.h"

#include <doctest/doctest.h>

#include "sim/hardware/kernel_time.h"
#include "tests/hardware/gpus.h"

using namespace memwall;
using namespace memwall::tests;

namespace {

Stack stack_with(const StackRates& rates) {
    Stack stack;
    stack.rates = {{.architecture = "sm70", .gemm = 0.1}, rates};
    return stack;
}

double us_on(const Gpu& gpu, const Kernel& kernel) {
    return in_us(kernel_time(gpu, kernel).duration);
}

Attention attention(bool backward, AttentionKind kind = AttentionKind::Cudnn) {
    return {.batch = 1,
            .heads = 32,
            .kv_heads = 32,
            .queries = 8192,
            .keys = 8192,
            .head_dim_qk = 128,
            .head_dim_v = 128,
            .backward = backward,
            .kind = kind};
}

const Gemm kProduct{.m = 25600, .n = 128, .k = 12800};
const MemoryBound kStream{.kind = MemoryKind::Elementwise, .bytes = Bytes(800'000'000)};

}  // namespace

// The round GPU spends no time but on arithmetic: half of the rate is twice the time.
TEST_CASE("each kind of kernel keeps its own share of its rate") {
    const Gpu gpu = round_gpu();
    const Gpu used = as_used_by(gpu,
                                stack_with({.architecture = "sm90",
                                            .gemm = 0.5,
                                            .attention_forward = 0.25,
                                            .attention_backward = 0.2,
                                            .memory = 0.8}));
    CHECK(us_on(used, kProduct) == doctest::Approx(2 * us_on(gpu, kProduct)).epsilon(1e-9));
    CHECK(us_on(used, attention(false)) ==
          doctest::Approx(4 * us_on(gpu, attention(false))).epsilon(1e-9));
    CHECK(us_on(used, attention(true)) ==
          doctest::Approx(5 * us_on(gpu, attention(true))).epsilon(1e-9));
    // 2 us + 800e6 B / (1000 GB/s x 0.8 x 0.8) = 1252 us.
    CHECK(us_on(used, kStream) == doctest::Approx(1252).epsilon(1e-9));
}

TEST_CASE("the share holds for FlashAttention-2 and for the sustained rate as well") {
    Gpu gpu = a100();
    gpu.flash2_forward[Dtype::Bf16].tile_overhead = Duration{};
    gpu.flash2_forward[Dtype::Bf16].fixed = Duration{};
    gpu.flash2_forward[Dtype::Bf16].memory = Bandwidth(1e30);
    const Gpu used = as_used_by(
        gpu, stack_with({.architecture = "sm80", .gemm = 0.5, .attention_forward = 0.5}));
    const Attention flash2 = attention(false, AttentionKind::Flash2);
    CHECK(us_on(used, flash2) == doctest::Approx(2 * us_on(gpu, flash2)).epsilon(1e-9));
    CHECK(used.gemm.at(Dtype::Bf16).sustained.value ==
          0.5 * gpu.gemm.at(Dtype::Bf16).sustained.value);
    CHECK(used.peak.at(Dtype::Bf16).value == gpu.peak.at(Dtype::Bf16).value);
}

TEST_CASE("no memory-bound kernel gets beyond the data sheet") {
    const Gpu used = as_used_by(round_gpu(), stack_with({.architecture = "sm90", .memory = 1.5}));
    // 2 us + 800e6 B / 1000 GB/s.
    CHECK(us_on(used, kStream) == doctest::Approx(802).epsilon(1e-9));
}

TEST_CASE("a stack without rates for the architecture changes nothing") {
    const Gpu gpu = round_gpu();
    const Stack other = stack_with({.architecture = "sm80", .gemm = 0.5, .memory = 0.5});
    for (const Stack& stack : {Stack{}, other}) {
        const Gpu used = as_used_by(gpu, stack);
        CHECK(us_on(used, kProduct) == us_on(gpu, kProduct));
        CHECK(us_on(used, attention(true)) == us_on(gpu, attention(true)));
        CHECK(us_on(used, kStream) == us_on(gpu, kStream));
    }
}

// A card may have its own factors; the library of the stack comes on top.
TEST_CASE("the alignment of a stack's library multiplies that of the card") {
    Gpu gpu = round_gpu();
    gpu.gemm_tiling.batched_off_64 = 2;
    const Gpu used = as_used_by(
        gpu, stack_with({.architecture = "sm90", .batched_unaligned = 10, .batched_off_64 = 1.5}));
    const Gemm off_64{.m = 256, .n = 2048, .k = 96, .batch = 6};
    const Gemm off_8{.m = 256, .n = 2048, .k = 108, .batch = 6};
    CHECK(us_on(used, off_64) == doctest::Approx(1.5 * us_on(gpu, off_64)).epsilon(1e-6));
    CHECK(us_on(used, off_8) == doctest::Approx(10 * us_on(gpu, off_8)).epsilon(1e-6));
}
