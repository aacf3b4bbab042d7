// Low-precision linear layers, recomputation by operators, and transfers in parts: from the model to a rank's programs.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "sim/parallel/recompute.h"
#include "tests/model/models.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

constexpr std::int64_t kSequence = 2048;
constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kKeys = 256;  // 4 kv heads of 64
constexpr std::int64_t kFfn = 1408;
constexpr std::int64_t kQueryHeads = 8;
constexpr std::int64_t kLayers = 4;
// Of one layer: qkv, proj, gate and up, down.
constexpr std::int64_t kWeights =
    kWidth * (kWidth + 2 * kKeys) + kWidth * kWidth + 3 * kWidth * kFfn;

Stack stack_of(bool fused) {
    Stack stack;
    stack.kernels.attention = AttentionImplementation::Flash2;
    stack.kernels.fused_projections = fused;
    return stack;
}

WorkloadTrace trace_of(Recipe recipe, const Stack& stack, bool gathered = false, int skips = 0) {
    return build_trace(memwall::testing::llama({kLayers, kWidth, 8, 4, kFfn, 1024}),
                       stack,
                       {.micro_batch = 1,
                        .sequence = kSequence,
                        .recipe = recipe,
                        .recipe_skips_first = skips,
                        .recipe_skips_last = skips,
                        .quantises_weights = gathered});
}

std::int64_t cast_bytes(const std::vector<TraceItem>& items) {
    std::int64_t bytes = 0;
    for (const TraceItem& item : items) {
        const auto* memory = item.op ? std::get_if<MemoryBound>(&item.op->kernel) : nullptr;
        bytes += memory != nullptr && memory->kind == MemoryKind::Cast ? memory->bytes.value : 0;
    }
    return bytes;
}

int products_in(const LayerTrace& layer, Dtype dtype) {
    int count = 0;
    for (const auto* items : {&layer.forward, &layer.backward}) {
        for (const TraceItem& item : *items) {
            const auto* gemm = item.op ? std::get_if<Gemm>(&item.op->kernel) : nullptr;
            count += gemm != nullptr && gemm->dtype == dtype ? 1 : 0;
        }
    }
    return count;
}

Job job_of(const Stack& stack, Recipe recipe, int tp = 1) {
    Job job = tiny_job({.tp = tp, .m = 2, .layers_per_chunk = kLayers});
    job.parallel.sequence_parallel = tp > 1;
    job.training.recipe = recipe;
    job.stack = stack;
    return job;
}

std::int64_t moved(const Totals& t, GroupRole role, CollectiveKind kind) {
    const auto known = t.collective_bytes.find({role, kind});
    return known == t.collective_bytes.end() ? 0 : known->second;
}

}  // namespace

TEST_CASE("the products of a layer compute in the format of the recipe, the head's do not") {
    for (const auto& [recipe, dtype] : {std::pair{Recipe::Fp8Delayed, Dtype::Fp8},
                                        {Recipe::Fp8Tensorwise, Dtype::Fp8},
                                        {Recipe::MxFp8, Dtype::MxFp8},
                                        {Recipe::NvFp4, Dtype::NvFp4}}) {
        const WorkloadTrace trace = trace_of(recipe, stack_of(true));
        const LayerTrace& layer = trace.kinds[trace.layers[0]];
        CHECK(products_in(layer, dtype) == 4 * 3);
        CHECK(products_in(layer, Dtype::Bf16) == 0);
        CHECK(products_in(trace.kinds[trace.head], Dtype::Bf16) == 3);
    }
}

TEST_CASE("the first and last layers can stay in 16 bits") {
    const WorkloadTrace trace = trace_of(Recipe::MxFp8, stack_of(true), false, 1);
    CHECK(trace.layers[0] == trace.layers[3]);
    CHECK(trace.layers[1] == trace.layers[2]);
    CHECK(products_in(trace.kinds[trace.layers[0]], Dtype::MxFp8) == 0);
    CHECK(products_in(trace.kinds[trace.layers[1]], Dtype::MxFp8) == 12);
}

TEST_CASE("casts move 4 bytes per element of inputs and of output gradients in fp8") {
    // Forward: inputs of qkv, proj, fc1 and fc2, T (3h + f); backward: gradients, T (q + k + v + 2h + 2f).
    const std::int64_t inputs = kSequence * (3 * kWidth + kFfn);
    const std::int64_t outputs = kSequence * (kWidth + 2 * kKeys + 2 * kWidth + 2 * kFfn);
    const WorkloadTrace kept = trace_of(Recipe::Fp8Delayed, stack_of(true));
    const LayerTrace& layer = kept.kinds[kept.layers[0]];
    CHECK(cast_bytes(layer.forward) == 4 * inputs);
    CHECK(cast_bytes(layer.backward) == 4 * outputs);
    // A stack that keeps 16-bit inputs makes one copy in forward and the other, from them, in backward.
    Stack again = stack_of(true);
    again.kernels.keeps_quantised = false;
    const WorkloadTrace remade = trace_of(Recipe::Fp8Delayed, again);
    const LayerTrace& other = remade.kinds[remade.layers[0]];
    CHECK(cast_bytes(other.forward) == 3 * inputs);
    CHECK(cast_bytes(other.backward) == 4 * outputs + 3 * inputs);
}

TEST_CASE("gathered weights are quantised in each pass, or transposed when gathered quantised") {
    const std::int64_t inputs = kSequence * (3 * kWidth + kFfn);
    const std::int64_t outputs = kSequence * (kWidth + 2 * kKeys + 2 * kWidth + 2 * kFfn);
    Stack stack = stack_of(true);
    const WorkloadTrace wide = trace_of(Recipe::Fp8Delayed, stack, true);
    CHECK(cast_bytes(wide.kinds[wide.layers[0]].forward) == 4 * inputs + 3 * kWeights);
    CHECK(cast_bytes(wide.kinds[wide.layers[0]].backward) == 4 * outputs + 3 * kWeights);
    stack.kernels.quantised_gather = true;
    const WorkloadTrace narrow = trace_of(Recipe::Fp8Delayed, stack, true);
    CHECK(cast_bytes(narrow.kinds[narrow.layers[0]].forward) == 4 * inputs);
    CHECK(cast_bytes(narrow.kinds[narrow.layers[0]].backward) == 4 * outputs + 2 * kWeights);
}

TEST_CASE("a rank keeps two quantised copies of its weights, and FSDP gathers one byte of each") {
    const auto parameters = [](const ProgramSet& set) {
        std::int64_t bytes = 0;
        for (const MemoryEvent& event : set.programs[0].resident) {
            bytes += event.memory == TensorClass::Parameters ? event.bytes : 0;
        }
        return bytes;
    };
    const Stack stack = stack_of(true);
    const ProgramSet low =
        lower(job_of(stack, Recipe::Fp8Delayed), trace_of(Recipe::Fp8Delayed, stack));
    const ProgramSet wide = lower(job_of(stack, Recipe::None), trace_of(Recipe::None, stack));
    CHECK(parameters(low) - parameters(wide) == 2 * kLayers * kWeights);

    const auto gathered = [](bool quantised) {
        Stack fsdp = stack_of(true);
        fsdp.kernels.quantised_gather = quantised;
        Job job = job_of(fsdp, Recipe::Fp8Tensorwise);
        job.degrees.dp = 2;
        job.degrees.shard = 2;
        job.parallel.sharding.kind = ShardingKind::Fsdp;
        return moved(totals(lower(job, trace_of(Recipe::Fp8Tensorwise, fsdp, true))),
                     GroupRole::Shard,
                     CollectiveKind::AllGather);
    };
    // Two micro-batches, forward and backward.
    CHECK(gathered(false) - gathered(true) == 2 * 2 * kLayers * kWeights);
}

TEST_CASE("sequence parallelism gathers quantised tensors, and reduces in 16 bits") {
    const Stack stack = stack_of(true);
    const auto of = [&](Recipe recipe) {
        return totals(lower(job_of(stack, recipe, 2), trace_of(recipe, stack)));
    };
    const Totals wide = of(Recipe::None);
    const Totals low = of(Recipe::Fp8Delayed);
    // Per layer and micro-batch: two gathers forward, four backward, of T h elements, a byte instead of two.
    CHECK(moved(wide, GroupRole::Tp, CollectiveKind::AllGather) -
              moved(low, GroupRole::Tp, CollectiveKind::AllGather) ==
          2 * kLayers * 6 * kSequence * kWidth);
    CHECK(moved(wide, GroupRole::Tp, CollectiveKind::ReduceScatter) ==
          moved(low, GroupRole::Tp, CollectiveKind::ReduceScatter));
}

TEST_CASE("transfers in parts move the same bytes beside their products") {
    Stack stack = stack_of(true);
    const WorkloadTrace trace = trace_of(Recipe::Fp8Delayed, stack);
    const auto program = [&](bool pipelined) {
        stack.overlap.tp_pipelined = pipelined;
        return lower(job_of(stack, Recipe::Fp8Delayed, 4), trace);
    };
    const ProgramSet whole = program(false);
    const ProgramSet parts = program(true);
    for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
        CHECK(moved(totals(whole), GroupRole::Tp, kind) ==
              moved(totals(parts), GroupRole::Tp, kind));
    }
    CHECK(walk_memory(parts).errors.empty());
    CHECK(walk_memory(parts).peak == walk_memory(whole).peak);
    CHECK(play(parts, 10, 7).errors.empty());
    // A part costs as much as a whole there: of each pair one hides behind the product.
    CHECK(play(parts, 10, 7).step_time <= play(whole, 10, 7).step_time);
}

TEST_CASE("recomputation by operators keeps products 1, 3, 5, 7 and attention") {
    // memory: x, wq, wv, w1, w2 outputs, attention output and its statistics: e T (4h + k + f) + 4 T a, k of v alone.
    const WorkloadTrace trace = trace_of(Recipe::None, stack_of(false));
    const RankLayer layer = shard_layer(trace.kinds[trace.layers[0]], {});
    const LayerPasses passes = layer_passes(layer, {.kind = RecomputeKind::Operators});
    std::int64_t kept = 0;
    for (const TensorEvent& event : passes.forward.memory) {
        kept += event.bytes;
    }
    CHECK(kept == kSequence * (2 * (4 * kWidth + kKeys + kFfn) + 4 * kQueryHeads));
    int products = 0;
    int attention = 0;
    for (const PassOp& op : passes.backward.ops) {
        if (op.replay) {
            products += std::holds_alternative<Gemm>(layer.forward[op.op].kernel) ? 1 : 0;
            attention += std::holds_alternative<Attention>(layer.forward[op.op].kernel) ? 1 : 0;
        }
    }
    CHECK(products == 3);
    CHECK(attention == 0);
    for (const Recipe recipe : {Recipe::None, Recipe::Fp8Tensorwise}) {
        for (const int cp : {1, 2}) {
            Job job = job_of(stack_of(false), recipe);
            job.degrees.cp = cp;
            job.training.recompute = RecomputeKind::Operators;
            const MemoryWalk walk = walk_memory(lower(job, trace_of(recipe, stack_of(false))));
            CHECK(walk.errors.empty());
            CHECK(walk.left == std::vector<std::int64_t>{0});
        }
    }
}
