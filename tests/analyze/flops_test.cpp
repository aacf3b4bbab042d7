#include "sim/analyze/flops.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

// A GPT with f = 4h: P_matmul = 12 L h^2 + V h, A = L h.
WorkloadTrace gpt(std::int64_t layers,
                  std::int64_t hidden,
                  std::int64_t vocabulary,
                  std::int64_t sequence) {
    WorkloadTrace trace;
    trace.sequence = sequence;
    trace.matmul_parameters = 12 * layers * hidden * hidden + vocabulary * hidden;
    trace.attention_flops_factor = layers * hidden;
    return trace;
}

ProgramSet replaying(Kernel kernel, Category category, int times) {
    ProgramSet set;
    set.kernels = {std::move(kernel)};
    Op op;
    op.category = category;
    set.segments.push_back({"segment", {op}, {}});
    Program program;
    program.items.assign(static_cast<std::size_t>(times), Item{});
    set.programs.push_back(program);
    return set;
}

Attention small_attention(std::int64_t window) {
    Attention attention;
    attention.batch = 1;
    attention.heads = 1;
    attention.queries = 8;
    attention.keys = 8;
    attention.head_dim_qk = 4;
    attention.head_dim_v = 4;
    attention.causal = true;
    attention.window = window;
    return attention;
}

}  // namespace

TEST_CASE("model FLOPs of a GPT are 72 B s L h^2 (1 + s/6h + V/12Lh)") {
    const double L = 96;
    const double h = 12288;
    const double V = 51200;
    const double s = 2048;
    const double B = 1536;
    Job job;
    job.batch.global = 1536;
    const double expected = 72 * B * s * L * h * h * (1 + s / (6 * h) + V / (12 * L * h));
    CHECK(model_flops(job, gpt(96, 12288, 51200, 2048)).value ==
          doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("the causal convention counts half of the attention square") {
    Job full;
    full.batch.global = 1;
    Job causal = full;
    causal.attention_flops = AttentionFlops::Causal;
    const WorkloadTrace trace = gpt(2, 64, 128, 32);
    const double attention = 12.0 * 2 * 64 * 32 * 32;  // 12 L h s per token, s tokens
    CHECK(model_flops(full, trace).value - model_flops(causal, trace).value ==
          doctest::Approx(attention / 2));
}

TEST_CASE("a window limits the square that the causal convention counts, and no other") {
    Job full;
    full.batch.global = 1;
    Job causal = full;
    causal.attention_flops = AttentionFlops::Causal;
    WorkloadTrace trace = gpt(2, 64, 128, 32);
    const double without = model_flops(full, trace).value;
    const double products = without - 12.0 * 2 * 64 * 32 * 32;
    trace.window = 8;
    CHECK(model_flops(full, trace).value == without);
    // 8 x 32 - 8^2/2 scores of 32^2.
    CHECK(model_flops(causal, trace).value ==
          doctest::Approx(products + 12.0 * 2 * 64 * (8 * 32 - 32)).epsilon(1e-14));
    trace.window = 32;
    CHECK(counted_attention(AttentionFlops::Causal, trace) == 0.5);
    trace.window = 100;
    CHECK(counted_attention(AttentionFlops::Causal, trace) == 0.5);
}

TEST_CASE("recomputed FLOPs count each replay on each rank of the stage") {
    Job job;
    job.degrees.tp = 2;
    job.degrees.dp = 3;
    const ProgramSet set = replaying(Gemm{10, 20, 30, 1}, Category::Recompute, 5);
    CHECK(recomputed_flops(job, set).value == doctest::Approx(2.0 * 10 * 20 * 30 * 5 * 6));
}

TEST_CASE("kernels that are not replays count for nothing") {
    CHECK(recomputed_flops(Job{}, replaying(Gemm{10, 20, 30, 1}, Category::Compute, 5)).value == 0);
}

TEST_CASE("a replayed causal attention counts the full square under the full convention") {
    for (const std::int64_t window : {0, 2}) {
        const ProgramSet set = replaying(small_attention(window), Category::Recompute, 1);
        CHECK(recomputed_flops(Job{}, set).value == doctest::Approx(2.0 * 8 * 8 * (4 + 4)));
        Job causal;
        causal.attention_flops = AttentionFlops::Causal;
        // Half of the square, or 2 x 8 - 2^2/2 scores.
        const double scores = window == 0 ? 32 : 14;
        CHECK(recomputed_flops(causal, set).value == doctest::Approx(2.0 * scores * (4 + 4)));
    }
}

TEST_CASE("executed FLOPs are those of all kernels, masked scores left out, whatever convention") {
    for (const Category category : {Category::Compute, Category::Recompute, Category::Optimizer}) {
        const ProgramSet gemm = replaying(Gemm{10, 20, 30, 1}, category, 5);
        CHECK(executed_flops(Job{}, gemm).value == 2.0 * 10 * 20 * 30 * 5);
        const ProgramSet attention = replaying(small_attention(0), category, 3);
        CHECK(executed_flops(Job{}, attention).value == 3 * 2.0 * 32 * (4 + 4));
    }
    Job job;
    job.degrees.dp = 4;
    job.degrees.pp = 2;
    ProgramSet set = replaying(Gemm{10, 20, 30, 1}, Category::Compute, 1);
    set.programs.push_back(set.programs.front());
    CHECK(executed_flops(job, set).value == 2.0 * 10 * 20 * 30 * 4 * 2);
}

TEST_CASE("the bound is what the busiest stage executes, at the peak of each kernel's format") {
    Gpu gpu;
    gpu.peak = {{Dtype::Bf16, FlopRate(1000)}, {Dtype::Fp8, FlopRate(2000)}};
    ProgramSet set = replaying(Gemm{10, 10, 10, 1}, Category::Compute, 4);
    CHECK(seconds_at_fastest_rate(gpu, set) == doctest::Approx(4 * 2000.0 / 1000));
    set.programs.push_back(set.programs.front());
    set.programs.back().items.resize(9);
    CHECK(seconds_at_fastest_rate(gpu, set) == doctest::Approx(9 * 2000.0 / 1000));
    Gemm fp8{10, 10, 10, 1};
    fp8.dtype = Dtype::Fp8;
    CHECK(seconds_at_fastest_rate(gpu, replaying(fp8, Category::Compute, 1)) ==
          doctest::Approx(2000.0 / 2000));
    // 32 of 64 scores are executed.
    CHECK(seconds_at_fastest_rate(gpu, replaying(small_attention(0), Category::Compute, 1)) ==
          doctest::Approx(2.0 * 32 * (4 + 4) / 1000));
}

TEST_CASE("a stated duration and a format without a peak bound nothing") {
    Gpu gpu;
    gpu.peak = {{Dtype::Bf16, FlopRate(1000)}};
    const Measured measured{.duration = Duration(1), .flops = Flops(1e30)};
    CHECK(seconds_at_fastest_rate(gpu, replaying(measured, Category::Compute, 1)) == 0);
    Gemm fp8{10, 10, 10, 1};
    fp8.dtype = Dtype::Fp8;
    CHECK(seconds_at_fastest_rate(gpu, replaying(fp8, Category::Compute, 1)) == 0);
    CHECK(seconds_at_fastest_rate(gpu, {}) == 0);
}

TEST_CASE(
    "the fastest rate is the data sheet's peak, or that of the kernel laws where it is higher") {
    Gpu gpu;
    gpu.peak = {{Dtype::Bf16, FlopRate(1000)}};
    CHECK(fastest_rate(gpu, Dtype::Bf16).value == 1000);
    CHECK(fastest_rate(gpu, Dtype::Fp8).value == 0);
    gpu.gemm[Dtype::Bf16].burst = FlopRate(900);
    CHECK(fastest_rate(gpu, Dtype::Bf16).value == 1000);
    gpu.gemm_roles.input_gradient = 0.75;
    CHECK(fastest_rate(gpu, Dtype::Bf16).value == 1200);
    gpu.attention_forward[Dtype::Bf16].matrix = FlopRate(1300);
    CHECK(fastest_rate(gpu, Dtype::Bf16).value == 1300);
}
