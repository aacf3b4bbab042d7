#include "sim/hardware/kernel_time.h"

#include <tuple>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/hardware/law.h"
#include "tests/hardware/gpus.h"

using namespace memwall;
using namespace memwall::tests;

namespace {

Gemm product(Dtype dtype) {
    return {.m = 8192, .n = 8192, .k = 8192, .dtype = dtype};
}

Attention attention(Dtype dtype, AttentionKind kind = AttentionKind::Cudnn) {
    return {.batch = 1,
            .heads = 32,
            .kv_heads = 8,
            .queries = 2048,
            .keys = 2048,
            .head_dim_qk = 128,
            .head_dim_v = 128,
            .kind = kind,
            .dtype = dtype};
}

}  // namespace

// 2 us + 400e6 B / (50 GB/s x 0.8) = 10,002 us.
TEST_CASE(
    "a host copy takes its fixed part and its bytes at the reached rate, in both directions") {
    const Kernel in = Copy{.bytes = Bytes(400'000'000), .to_device = true};
    const Kernel out = Copy{.bytes = Bytes(400'000'000), .to_device = false};
    CHECK(kernel_time(round_gpu(), in).duration == us(10002));
    CHECK(kernel_time(round_gpu(), out).duration == us(10002));
    CHECK(std::string(kernel_time(round_gpu(), in).limit) == "host link");
}

TEST_CASE("a host copy does not need SMs") {
    const Kernel copy = Copy{.bytes = Bytes(1 << 20)};
    CHECK(kernel_time(round_gpu(), copy, 99).duration == kernel_time(round_gpu(), copy).duration);
}

// Azure/AI-benchmarking-guide ND_H100_v5, nvbandwidth: 51 GB/s to the device, 52 GB/s back.
TEST_CASE("a large host copy on H100 reaches the published rate") {
    const auto t = kernel_time(h100(), Copy{.bytes = Bytes(1'000'000'000)});
    CHECK(1.0 / to_seconds(t.duration) == doctest::Approx(51.5).epsilon(0.02));
}

TEST_CASE("a measured duration stands as it is on a free GPU") {
    const Kernel kernel = Measured{.duration = Duration(123456789), .flops = Flops(1e9)};
    CHECK(kernel_time(a100(), kernel).duration == Duration(123456789));
    CHECK(std::string(kernel_time(a100(), kernel).limit) == "measured");
}

TEST_CASE("communication stretches measured compute kernels only") {
    CHECK(kernel_time(round_gpu(), Measured{.duration = us(100), .flops = Flops(1)}, 50).duration ==
          us(200));
    CHECK(kernel_time(round_gpu(), Measured{.duration = us(100), .flops = Flops(0)}, 50).duration ==
          us(100));
}

TEST_CASE("an op of an executed trace may take no time") {
    CHECK(kernel_time(a100(), Measured{}).duration == Duration(0));
    CHECK(kernel_time(a100(), Measured{}, 50).duration == Duration(0));
}

TEST_CASE("empty copies and negative measurements are a bug of the caller") {
    CHECK_THROWS_AS(std::ignore = kernel_time(a100(), Copy{.bytes = Bytes(0)}), BugError);
    CHECK_THROWS_AS(std::ignore = kernel_time(a100(), Copy{.bytes = Bytes(-1)}), BugError);
    CHECK_THROWS_AS(
        std::ignore = kernel_time(a100(), Measured{.duration = Duration(-1), .flops = Flops(0)}),
        BugError);
    CHECK_THROWS_AS(std::ignore = kernel_time(
                        a100(), Measured{.duration = Duration(1), .flops = Flops(0)}, 108),
                    BugError);
}

TEST_CASE("fp16 and bf16 stand in for each other on a GPU that has both") {
    CHECK(kernel_time(a100(), product(Dtype::Fp16)).duration ==
          kernel_time(a100(), product(Dtype::Bf16)).duration);
    const auto all = kernel_time_explained(a100(), product(Dtype::Fp16));
    CHECK(all.rates_dtype == Dtype::Bf16);
    CHECK_FALSE(all.rates_scaled);
    CHECK(kernel_time(a100(), attention(Dtype::Fp16)).duration ==
          kernel_time(a100(), attention(Dtype::Bf16)).duration);
}

// 19.5 of 312 TFLOP/s: 16 times slower where compute rules.
TEST_CASE("fp32 products follow the datasheet peak") {
    const auto fp32 = kernel_time_explained(a100(), product(Dtype::Fp32));
    CHECK(fp32.rates_scaled);
    CHECK(in_us(fp32.compute) ==
          doctest::Approx(16 * in_us(kernel_time_explained(a100(), product(Dtype::Bf16)).compute))
              .epsilon(1e-6));
}

TEST_CASE("the power cap follows the datasheet peak as well") {
    Gpu gpu = a100();
    gpu.gemm[Dtype::Bf16].sustained = tflops(100);
    const double bf16 = in_us(kernel_time_explained(gpu, product(Dtype::Bf16)).compute);
    CHECK(in_us(kernel_time_explained(gpu, product(Dtype::Tf32)).compute) ==
          doctest::Approx(2 * bf16).epsilon(1e-6));
}

TEST_CASE("a GPU without tf32 runs it as fp32") {
    CHECK(kernel_time(round_gpu(), product(Dtype::Tf32)).duration ==
          kernel_time(round_gpu(), product(Dtype::Fp32)).duration);
}

TEST_CASE("arithmetic that a GPU lacks is named, and asking for its time is a bug") {
    CHECK(unsupported(a100(), product(Dtype::Fp8)) == "a100-80g-sxm has no fp8 arithmetic");
    CHECK(unsupported(a100(), product(Dtype::NvFp4)) == "a100-80g-sxm has no nvfp4 arithmetic");
    CHECK(unsupported(h100(), product(Dtype::MxFp8)) == "h100-80g-sxm has no mxfp8 arithmetic");
    CHECK_THROWS_AS(std::ignore = kernel_time(a100(), product(Dtype::Fp8)), BugError);
    Gpu volta = a100();
    volta.name = "v100";
    volta.gemm[Dtype::Fp16] = volta.gemm[Dtype::Bf16];
    volta.gemm.erase(Dtype::Bf16);
    volta.peak.erase(Dtype::Bf16);
    CHECK(unsupported(volta, product(Dtype::Bf16)) == "v100 has no bf16 arithmetic");
    volta.attention_forward[Dtype::Fp16] = volta.attention_forward[Dtype::Bf16];
    volta.attention_forward.erase(Dtype::Bf16);
    CHECK(unsupported(volta, attention(Dtype::Bf16)) == "v100 has no fused attention in bf16");
    CHECK(unsupported(volta, attention(Dtype::Fp16)).empty());
}

TEST_CASE("what a GPU can do is not reported as missing") {
    for (const Dtype d : {Dtype::Fp32, Dtype::Tf32, Dtype::Fp16, Dtype::Bf16}) {
        CHECK(unsupported(a100(), product(d)).empty());
    }
    CHECK(unsupported(a100(), MemoryBound{.bytes = Bytes(1)}).empty());
    CHECK(unsupported(a100(), Copy{.bytes = Bytes(1)}).empty());
    CHECK(unsupported(a100(), Measured{.duration = Duration(1), .flops = Flops(0)}).empty());
    CHECK(unsupported(h200(), attention(Dtype::Bf16, AttentionKind::Flash3)).empty());
}

TEST_CASE("fused attention in fp8 falls back to 16 bit, in fp32 it does not exist") {
    CHECK(kernel_time(a100(), attention(Dtype::Fp8)).duration <=
          kernel_time(a100(), attention(Dtype::Bf16)).duration);
    CHECK(kernel_time_explained(a100(), attention(Dtype::Fp8)).rates_dtype == Dtype::Bf16);
    CHECK(unsupported(a100(), attention(Dtype::Fp32)) ==
          "a100-80g-sxm has no fused attention in fp32");
    CHECK(unsupported(a100(), attention(Dtype::Tf32)) ==
          "a100-80g-sxm has no fused attention in tf32");
    Gpu gpu = a100();
    gpu.attention_forward.clear();
    gpu.flash2_forward.clear();
    CHECK(unsupported(gpu, attention(Dtype::Bf16)) ==
          "a100-80g-sxm has no fused attention in bf16");
}

TEST_CASE("flash3 needs Hopper") {
    CHECK(unsupported(a100(), attention(Dtype::Bf16, AttentionKind::Flash3)) ==
          "flash3 needs an sm90 GPU; a100-80g-sxm is sm80");
}

TEST_CASE("the explanation agrees with the time") {
    for (const Kernel& kernel : {Kernel(product(Dtype::Bf16)),
                                 Kernel(attention(Dtype::Bf16)),
                                 Kernel(MemoryBound{.bytes = Bytes(1 << 20)}),
                                 Kernel(Measured{.duration = us(5), .flops = Flops(0)})}) {
        const auto plain = kernel_time(a100(), kernel, 8);
        const auto all = kernel_time_explained(a100(), kernel, {.blocks = 8});
        CHECK(plain.duration == all.duration);
        CHECK(std::string(plain.limit) == all.limit);
    }
}

TEST_CASE("the smooth maximum lies between the larger term and 2^(1/4) of it") {
    CHECK(norm4(3, 0) == doctest::Approx(3).epsilon(1e-12));
    CHECK(norm4(2, 2) == doctest::Approx(2 * 1.189207115).epsilon(1e-9));
    CHECK(norm4(1e6, 1) >= 1e6);
}

TEST_CASE("a time that is no number is a bug, not a duration") {
    CHECK_THROWS_AS(std::ignore = duration_from_us(std::nan("")), BugError);
    CHECK_THROWS_AS(std::ignore = duration_from_us(-1), BugError);
    CHECK_THROWS_AS(std::ignore = duration_from_us(1.0 / 0.0), BugError);
    CHECK(duration_from_us(1e13) == duration_from_us(1e300));  // 53 days
    CHECK(duration_from_us(0.0000001) == Duration(1));
    CHECK(duration_from_us(0) == Duration(0));
}
