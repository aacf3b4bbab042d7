#include "sim/parallel/context.h"

#include <cmath>

#include <doctest/doctest.h>

#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "tests/model/models.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

constexpr std::int64_t kSequence = 4096;
constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kKvHeads = 4;
constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kWidth = kHeads * kHeadDim;
constexpr std::int64_t kLayers = 2;

Stack fused_stack() {
    Stack stack;
    stack.kernels.attention = AttentionImplementation::Flash2;
    return stack;
}

WorkloadTrace llama_trace() {
    return build_trace(memwall::testing::llama({kLayers, kWidth, kHeads, kKvHeads, 1408, 1024}),
                       fused_stack(),
                       {.micro_batch = 1, .sequence = kSequence});
}

Job job_of(int cp, ContextKind kind, RecomputeKind recompute = RecomputeKind::None) {
    Job job = tiny_job({.m = 2, .layers_per_chunk = kLayers});
    job.degrees.cp = cp;
    job.parallel.cp_kind = kind;
    job.training.recompute = recompute;
    job.training.recompute_modules = {RecomputeModule::AttentionCore};
    return job;
}

std::int64_t moved(const Totals& t, CollectiveKind kind) {
    const auto known = t.collective_bytes.find({GroupRole::Cp, kind});
    return known == t.collective_bytes.end() ? 0 : known->second;
}

constexpr ContextKind kKinds[] = {ContextKind::Ring, ContextKind::AllToAll, ContextKind::AllGather};

}  // namespace

TEST_CASE("cp 1 changes nothing") {
    for (const LayerTrace& layer : llama_trace().kinds) {
        const RankLayer plain = shard_layer(layer, {.tp = 2});
        const RankLayer same =
            exchange_context(shard_layer(divide_tokens(layer, 1), {.tp = 2}), {.cp = 1});
        REQUIRE(plain.forward.size() == same.forward.size());
        REQUIRE(plain.backward.size() == same.backward.size());
        REQUIRE(plain.tensors.size() == same.tensors.size());
        for (std::size_t i = 0; i < plain.forward.size(); ++i) {
            CHECK(plain.forward[i].kernel == same.forward[i].kernel);
        }
        for (std::size_t i = 0; i < plain.tensors.size(); ++i) {
            CHECK(plain.tensors[i].bytes == same.tensors[i].bytes);
        }
    }
}

TEST_CASE("the exchanges move what their closed forms say") {
    // Per rank and layer, e = 2: K V blocks of kv = 2 x 2 x T x kv_heads x d bytes, T = s / cp.
    const WorkloadTrace trace = llama_trace();
    for (const int cp : {2, 4}) {
        const std::int64_t tokens = kSequence / cp;
        const std::int64_t kv = 2 * 2 * tokens * kKvHeads * kHeadDim;
        const std::int64_t q = 2 * tokens * kWidth;
        const std::int64_t passes = kLayers * 2;  // two micro-batches
        const Totals ring = totals(lower(job_of(cp, ContextKind::Ring), trace));
        // (cp - 1) kv forward; backward the same for keys and values, and for their gradients.
        CHECK(moved(ring, CollectiveKind::Shift) == passes * 3 * (cp - 1) * kv);
        const Totals swapped = totals(lower(job_of(cp, ContextKind::AllToAll), trace));
        // q, k, v and o, each pass: S of an all-to-all is what a rank holds.
        CHECK(moved(swapped, CollectiveKind::AllToAll) == passes * 2 * (q + kv + q));
        const Totals gathered = totals(lower(job_of(cp, ContextKind::AllGather), trace));
        CHECK(moved(gathered, CollectiveKind::AllGather) == passes * 2 * cp * kv);
        CHECK(moved(gathered, CollectiveKind::ReduceScatter) == passes * cp * kv);
    }
}

TEST_CASE("the ranks of a group together do the work of the whole sequence") {
    // Causal work counts s (s + 1) / 2 score elements; the pieces count their own diagonals, at most one part in s / 2cp.
    const WorkloadTrace trace = llama_trace();
    const double whole = totals(lower(job_of(1, ContextKind::Ring), trace)).flops;
    for (const ContextKind kind : kKinds) {
        for (const int cp : {2, 4}) {
            CAPTURE(static_cast<int>(kind));
            CAPTURE(cp);
            const Totals rank = totals(lower(job_of(cp, kind), trace));
            CHECK(rank.flops * cp == doctest::Approx(whole).epsilon(0.004));
        }
    }
    // Without balance the last rank sees (2 cp - 1) / cp times the mean of the attention.
    const LayerTrace& layer = trace.kinds[trace.layers[0]];
    const auto attention = [&](const ContextParallel& context) {
        double flops = 0;
        for (const RankOp& op :
             exchange_context(shard_layer(divide_tokens(layer, context.cp), {}), context).forward) {
            flops += std::holds_alternative<Attention>(op.kernel) ? flops_of(op.kernel).value : 0;
        }
        return flops;
    };
    for (const ContextKind kind : {ContextKind::Ring, ContextKind::AllGather}) {
        for (const int cp : {2, 8}) {
            CHECK(attention({.cp = cp, .kind = kind, .balanced = false}) /
                      attention({.cp = cp, .kind = kind}) ==
                  doctest::Approx((2.0 * cp - 1) / cp).epsilon(0.01));
        }
    }
}

TEST_CASE("what backward needs of each token is divided by cp") {
    // All-to-all keeps the attention output on both sides of its exchange; weights and their gradients stay whole.
    const LayerTrace layer = llama_trace().kinds[2];
    const auto saved = [&](const RankLayer& l) {
        std::int64_t bytes = 0;
        for (const RankTensor& t : l.tensors) {
            bytes += t.saved && !t.persistent ? t.bytes : 0;
        }
        return bytes;
    };
    const std::int64_t whole = saved(shard_layer(layer, {}));
    for (const ContextKind kind : kKinds) {
        for (const int cp : {2, 4}) {
            const RankLayer rank = exchange_context(shard_layer(divide_tokens(layer, cp), {}),
                                                    {.cp = cp, .kind = kind});
            const std::int64_t twice =
                kind == ContextKind::AllToAll ? 2 * kSequence / cp * kWidth : 0;
            CHECK(saved(rank) == whole / cp + twice);
        }
    }
}

TEST_CASE("memory of every kind and recomputation is freed as it was allocated, and programs end") {
    const WorkloadTrace trace = llama_trace();
    for (const ContextKind kind : kKinds) {
        for (const RecomputeKind recompute :
             {RecomputeKind::None, RecomputeKind::Selective, RecomputeKind::Full}) {
            for (const int cp : {2, 4}) {
                CAPTURE(static_cast<int>(kind));
                CAPTURE(static_cast<int>(recompute));
                CAPTURE(cp);
                const ProgramSet set = lower(job_of(cp, kind, recompute), trace);
                const MemoryWalk walk = walk_memory(set);
                CHECK(walk.errors.empty());
                CHECK(walk.left == std::vector<std::int64_t>{0});
                CHECK(play(set, 3, 5).errors.empty());
            }
        }
    }
}

TEST_CASE("a ring runs ahead of attention") {
    // One kernel a unit: with transfers as long as an attention block they hide, but for the first wait of each pass.
    const WorkloadTrace trace = llama_trace();
    const ProgramSet set = lower(job_of(4, ContextKind::Ring), trace);
    const std::int64_t hidden = play(set, 10, 10).step_time;
    const std::int64_t free = play(set, 10, 0).step_time;
    const std::int64_t all = play(set, 10, 10).step_time;
    CHECK(hidden == all);
    // 2 micro-batches x 2 layers x (3 + 4 shifts) of 10 would all be seen if they blocked.
    CHECK(hidden - free < 2 * 2 * (3 + 4) * 10 / 2);
}
