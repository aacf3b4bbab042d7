#include "sim/parallel/recompute.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/model/build.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

RankLayer layer() {
    return shard_layer(tiny_trace(1).kinds[1], {.tp = 1});
}

std::int64_t left_after(const LayerPass& pass) {
    std::int64_t sum = 0;
    for (const TensorEvent& event : pass.memory) {
        sum += event.bytes;
    }
    return sum;
}

std::vector<std::string> names(const RankLayer& l, const LayerPass& pass, bool replayed) {
    std::vector<std::string> result;
    for (const PassOp& op : pass.ops) {
        if (op.replay == replayed) {
            result.push_back(op.forward_list ? l.forward[op.op].name : l.backward[op.op].name);
        }
    }
    return result;
}

// x 1, normed 1, u 4, act 4 boundaries; all saved without recomputation.
constexpr std::int64_t kSaved = 10 * kBoundary;

}  // namespace

TEST_CASE("without recomputation everything saved lives until backward") {
    const RankLayer l = layer();
    const LayerPasses passes = layer_passes(l, {});
    CHECK(left_after(passes.forward) == kSaved);
    CHECK(left_after(passes.backward) == -kSaved);
    CHECK(names(l, passes.backward, true).empty());
}

TEST_CASE("full recomputation keeps the layer's input and replays the whole forward first") {
    const RankLayer l = layer();
    const LayerPasses passes = layer_passes(l, {.kind = RecomputeKind::Full});
    CHECK(left_after(passes.forward) == kBoundary);
    CHECK(left_after(passes.backward) == -kBoundary);
    CHECK(names(l, passes.backward, true) == std::vector<std::string>{"norm", "up", "act", "down"});
    CHECK(passes.backward.ops.front().replay);
    for (const TensorEvent& event : passes.backward.memory) {
        const RankTensor& tensor = l.tensors[event.tensor];
        if (tensor.saved) {
            CHECK(event.memory ==
                  (tensor.input ? TensorClass::Activations : TensorClass::Recompute));
        }
    }
}

TEST_CASE("an input that backward does not need is still kept by full recomputation") {
    LayerTrace trace = tiny_trace(1).kinds[1];
    trace.tensors[0].saved = false;
    trace.forward[0].op->frees = {0};
    std::erase(trace.backward.back().op->frees, std::uint16_t{0});
    const RankLayer l = shard_layer(trace, {.tp = 1});
    CHECK(left_after(layer_passes(l, {}).forward) == kSaved - kBoundary);
    const LayerPasses full = layer_passes(l, {.kind = RecomputeKind::Full});
    CHECK(left_after(full.forward) == kBoundary);
    CHECK(left_after(full.backward) == -kBoundary);
}

TEST_CASE("selective recomputation drops and replays the named module only") {
    const RankLayer l = layer();
    const LayerPasses mlp =
        layer_passes(l, {.kind = RecomputeKind::Selective, .modules = {RecomputeModule::Mlp}});
    CHECK(left_after(mlp.forward) == 2 * kBoundary);
    CHECK(left_after(mlp.backward) == -2 * kBoundary);
    CHECK(names(l, mlp.backward, true) == std::vector<std::string>{"up", "act", "down"});

    const LayerPasses norm =
        layer_passes(l, {.kind = RecomputeKind::Selective, .modules = {RecomputeModule::Norm}});
    CHECK(left_after(norm.forward) == 9 * kBoundary);
    CHECK(names(l, norm.backward, true) == std::vector<std::string>{"norm"});
    // The remade output is there before the weight gradient that uses it.
    const auto replay = std::find_if(norm.backward.ops.begin(),
                                     norm.backward.ops.end(),
                                     [](const PassOp& op) { return op.replay; });
    const auto user =
        std::find_if(norm.backward.ops.begin(), norm.backward.ops.end(), [&](const PassOp& op) {
            return !op.forward_list && l.backward[op.op].name == "up wgrad";
        });
    CHECK(replay < user);
}

TEST_CASE("a module that the layer lacks changes nothing") {
    const RankLayer l = layer();
    const LayerPasses passes = layer_passes(
        l, {.kind = RecomputeKind::Selective, .modules = {RecomputeModule::AttentionCore}});
    CHECK(left_after(passes.forward) == kSaved);
    CHECK(names(l, passes.backward, true).empty());
    CHECK(left_after(layer_passes(l, {.kind = RecomputeKind::Selective}).forward) == kSaved);
}

TEST_CASE("a replay repeats the collectives of its ops") {
    const RankLayer l = shard_layer(tiny_trace(1).kinds[1], {.tp = 2, .sequence_parallel = true});
    const LayerPasses full = layer_passes(l, {.kind = RecomputeKind::Full});
    CHECK(names(l, full.backward, true) ==
          std::vector<std::string>{
              "norm", "tp all-gather", "up", "act", "down", "tp reduce-scatter"});
    // Selective: the gather in front of `up` belongs to the module, the reduction behind `down` does not.
    const LayerPasses mlp =
        layer_passes(l, {.kind = RecomputeKind::Selective, .modules = {RecomputeModule::Mlp}});
    CHECK(names(l, mlp.backward, true) ==
          std::vector<std::string>{"tp all-gather", "up", "act", "down"});
}

// Megatron's fused softmax needs micro-batch x heads / tp to be a multiple of 4. The fused kernel keeps the 16-bit softmax
// for backward, the fallback the fp32 one: 25 heads (GPT-2 XL) on one rank and 12 on 2 or 4 ranks, 8 heads on 2.
TEST_CASE("unfused attention with dropout frees every score tensor once, whatever is replayed") {
    struct Row {
        std::int64_t heads;
        int tp;
        bool fused;
    };
    for (const Row& row :
         {Row{25, 1, false}, Row{12, 2, false}, Row{12, 4, false}, Row{8, 2, true}}) {
        Model model;
        model.name = "gpt";
        model.layers = 1;
        model.hidden = 64 * row.heads;
        model.heads = row.heads;
        model.kv_heads = row.heads;
        model.head_dim = 64;
        model.ffn = 256 * row.heads;
        model.vocabulary = 1000;
        model.positions = 64;
        model.linear_bias = true;
        model.dropout = 0.1;
        Stack stack;
        stack.kernels.fused_gradient_accumulation = false;
        const WorkloadTrace trace = build_trace(model, stack, {.micro_batch = 1, .sequence = 64});
        const RankLayer l = shard_layer(trace.kinds[trace.layers[0]], {.tp = row.tp});
        const auto has = [&](const char* name) {
            return std::any_of(l.forward.begin(), l.forward.end(), [&](const RankOp& op) {
                return op.name == name;
            });
        };
        REQUIRE(has("fp32 softmax") != row.fused);
        for (const RecomputePolicy& policy :
             {RecomputePolicy{},
              RecomputePolicy{.kind = RecomputeKind::Full},
              RecomputePolicy{.kind = RecomputeKind::Selective,
                              .modules = {RecomputeModule::AttentionCore}}}) {
            CAPTURE(row.heads);
            CAPTURE(row.tp);
            std::vector<std::int64_t> live(l.tensors.size(), 0);
            const LayerPasses passes = layer_passes(l, policy);
            for (const LayerPass* pass : {&passes.forward, &passes.backward}) {
                for (const TensorEvent& event : pass->memory) {
                    live[event.tensor] += event.bytes;
                    CAPTURE(l.tensors[event.tensor].name);
                    CHECK(live[event.tensor] ==
                          (event.bytes > 0 ? l.tensors[event.tensor].bytes : 0));
                }
            }
            CHECK(std::all_of(live.begin(), live.end(), [](std::int64_t b) { return b == 0; }));
        }
    }
}

TEST_CASE("persistent buffers are no part of a pass") {
    LayerTrace trace = tiny_trace(1).kinds[1];
    trace.tensors[4].persistent = true;
    trace.forward[3].op->frees = {};
    const LayerPasses passes = layer_passes(shard_layer(trace, {.tp = 1}), {});
    for (const TensorEvent& event : passes.forward.memory) {
        CHECK(event.tensor != 4);
    }
}

TEST_CASE("a saved tensor that backward never frees is our bug and is caught") {
    LayerTrace trace = tiny_trace(1).kinds[1];
    for (TraceItem& item : trace.backward) {
        if (item.op) {
            item.op->frees.clear();
            item.op->module = TraceModule::Other;
        }
    }
    const RankLayer l = shard_layer(trace, {.tp = 1});
    CHECK_THROWS_AS((void)layer_passes(
                        l, {.kind = RecomputeKind::Selective, .modules = {RecomputeModule::Mlp}}),
                    BugError);
}
