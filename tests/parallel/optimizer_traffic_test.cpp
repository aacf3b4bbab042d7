#include "sim/parallel/optimizer_traffic.h"

#include <doctest/doctest.h>

#include "sim/spec/precision.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

// Megatron's optimizers: copy, unscale and clip in passes of their own, weights cast from the master copy.
StackKernels megatron() {
    StackKernels kernels;
    kernels.optimizer = {
        .gradients_to_fp32 = true, .unscale = true, .clip = true, .weights_apart = true};
    return kernels;
}

Training training(const char* precision, OptimizerKind kind) {
    Training t;
    t.precision = *find_precision(precision);
    t.optimizer = kind;
    if (kind == OptimizerKind::Sgd) {
        t.precision.moment_bytes = 4;
    }
    return t;
}

double bytes(const StackKernels& kernels, const char* precision, OptimizerKind kind) {
    return optimizer_bytes_per_parameter(training(precision, kind), kernels);
}

Duration host_of_optimizer(const Job& job, const Shape& shape) {
    const ProgramSet set = lower(job, trace_of(shape));
    for (const Op& op : set.ops) {
        if (set.labels[op.label] == "optimizer") {
            return op.host;
        }
    }
    return {};
}

std::int64_t optimizer_traffic(const Job& job, const Shape& shape) {
    const ProgramSet set = lower(job, trace_of(shape));
    std::int64_t sum = 0;
    for (const Item& item : set.programs.front().items) {
        if (item.kind == Item::Kind::Op && set.labels[set.ops[item.index].label] == "optimizer") {
            sum += hbm_bytes_of(set.kernels[set.ops[item.index].work]).value;
        }
    }
    return sum;
}

}  // namespace

// The counted passes of topologies/stacks: 28 Adam + 8 clipping + 6 cast = 42; fp16: + 6 copy + 8 unscaling = 56.
TEST_CASE("Megatron's Adam moves 42 bytes per parameter, 56 with loss-scaled fp16 gradients") {
    for (const OptimizerKind kind :
         {OptimizerKind::Adam, OptimizerKind::AdamW, OptimizerKind::AdamWFused}) {
        CHECK(bytes(megatron(), "bf16_mixed_fp32_gradients", kind) == 28 + 8 + 6);
        CHECK(bytes(megatron(), "fp16_mixed", kind) == 6 + 8 + 8 + 28 + 6);
    }
    // bf16 needs no loss scale; fp32 gradients need no copy.
    CHECK(bytes(megatron(), "bf16_mixed", OptimizerKind::Adam) == 6 + 8 + 28 + 6);
    CHECK(bytes(megatron(), "fp16_mixed_fp32_gradients", OptimizerKind::Adam) == 8 + 8 + 28 + 6);
}

TEST_CASE("SGD has one moment less to read and to write") {
    CHECK(bytes(megatron(), "bf16_mixed_fp32_gradients", OptimizerKind::Sgd) == 42 - 8);
    CHECK(bytes(megatron(), "fp16_mixed", OptimizerKind::Sgd) == 56 - 8);
}

TEST_CASE("one fused kernel reads the gradient and reads and writes parameter and moments") {
    const StackKernels fused;
    CHECK(bytes(fused, "bf16_mixed", OptimizerKind::AdamW) == 2 + 8 + 16 + 2);
    // Without a master copy the weights themselves are updated.
    CHECK(bytes(fused, "bf16_params_fp32_states", OptimizerKind::AdamW) == 4 + 8 + 16);
    CHECK(bytes(fused, "bf16", OptimizerKind::AdamW) == 2 + 4 + 8);
    CHECK(bytes(fused, "bf16_params_fp32_states", OptimizerKind::Sgd) == 4 + 8 + 8);
}

// In fp32, operand by operand: AdamW 2 + 3 + 2 + 3 + 2 + 2 + 2 + 4 = 20 (mul, lerp, mul, addcmul, sqrt, div, add, addcdiv), Adam
// without the first; SGD 2 + 3 + 3 (mul, add, add).
TEST_CASE("kernel by kernel every temporary is traffic") {
    StackKernels apart;
    apart.fused_optimizer = false;
    CHECK(bytes(apart, "fp32", OptimizerKind::AdamW) == 4 * 20);
    CHECK(bytes(apart, "fp32", OptimizerKind::Adam) == 4 * 18);
    CHECK(bytes(apart, "fp32", OptimizerKind::Sgd) == 4 * 8);
    CHECK(update_accesses(OptimizerKind::AdamW, false).kernels == 8);
    CHECK(update_accesses(OptimizerKind::Adam, false).kernels == 7);
    CHECK(update_accesses(OptimizerKind::Sgd, false).kernels == 3);
    // An optimizer that is fused by name is fused on any stack.
    CHECK(bytes(apart, "fp32", OptimizerKind::AdamWFused) == 4 * 7);
}

TEST_CASE("the optimizer of a program moves its bytes for each parameter of the stage") {
    const Shape shape{.dp = 2, .m = 2};
    Job job = tiny_job(shape);
    job.stack.kernels.optimizer = megatron().optimizer;
    const std::int64_t parameters = lower(job, trace_of(shape)).programs.front().parameters;
    job.training = training("bf16_mixed_fp32_gradients", OptimizerKind::Adam);
    CHECK(optimizer_traffic(job, shape) == 42 * parameters);
    job.training = training("bf16_mixed_fp32_gradients", OptimizerKind::Sgd);
    CHECK(optimizer_traffic(job, shape) == 34 * parameters);
}

TEST_CASE("an unfused optimizer launches its kernels for each tensor") {
    const Shape shape{};
    Job job = tiny_job(shape);
    job.stack.host.kernel_launch = Duration(1000);
    job.stack.kernels.fused_optimizer = false;
    job.training.optimizer = OptimizerKind::AdamW;
    const Duration adamw = host_of_optimizer(job, shape);
    CHECK(adamw.count() % (8 * 1000) == 0);
    CHECK(adamw.count() > 8 * 1000);
    job.training.optimizer = OptimizerKind::Sgd;
    CHECK(host_of_optimizer(job, shape) == adamw / 8 * 3);
    job.training.optimizer = OptimizerKind::AdamWFused;
    CHECK(host_of_optimizer(job, shape) == Duration(1000));
}
