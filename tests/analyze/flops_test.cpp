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
    Attention attention;
    attention.batch = 1;
    attention.heads = 1;
    attention.queries = 8;
    attention.keys = 8;
    attention.head_dim_qk = 4;
    attention.head_dim_v = 4;
    attention.causal = true;
    CHECK(recomputed_flops(Job{}, replaying(attention, Category::Recompute, 1)).value ==
          doctest::Approx(2.0 * 8 * 8 * (4 + 4)));
}
