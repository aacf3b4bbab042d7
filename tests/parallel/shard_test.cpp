#include "sim/parallel/shard.h"

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

using Kind = CollectiveKind;

std::optional<Kind> plain(BoundaryKind kind, Pass pass) {
    return boundary_collective(kind, pass, {.tp = 4});
}
std::optional<Kind> sequence(BoundaryKind kind, Pass pass) {
    return boundary_collective(kind, pass, {.tp = 4, .sequence_parallel = true});
}

}  // namespace

// Shoeybi et al., figure 3: operator f (identity forward, all-reduce backward) before, g (the reverse) after each block.
TEST_CASE(
    "without sequence parallelism the output is reduced forward and the input gradient backward") {
    CHECK(plain(BoundaryKind::RowOutput, Pass::Forward) == Kind::AllReduce);
    CHECK(plain(BoundaryKind::ColumnInput, Pass::InputGradient) == Kind::AllReduce);
    CHECK(plain(BoundaryKind::Vocabulary, Pass::Forward) == Kind::AllReduce);
    CHECK(plain(BoundaryKind::Loss, Pass::Forward) == Kind::AllReduce);
    CHECK_FALSE(plain(BoundaryKind::ColumnInput, Pass::Forward));
    CHECK_FALSE(plain(BoundaryKind::RowOutput, Pass::InputGradient));
    CHECK_FALSE(plain(BoundaryKind::Vocabulary, Pass::WeightGradient));
    CHECK_FALSE(plain(BoundaryKind::GatherAgain, Pass::InputGradient));
}

// Korthikanti et al., figure 5: g gathers forward and scatters backward, g-bar the reverse; the input is gathered once more.
TEST_CASE("with sequence parallelism gathers and scatters take the place of the all-reduces") {
    CHECK(sequence(BoundaryKind::ColumnInput, Pass::Forward) == Kind::AllGather);
    CHECK(sequence(BoundaryKind::RowOutput, Pass::Forward) == Kind::ReduceScatter);
    CHECK(sequence(BoundaryKind::RowOutput, Pass::InputGradient) == Kind::AllGather);
    CHECK(sequence(BoundaryKind::GatherAgain, Pass::InputGradient) == Kind::AllGather);
    CHECK(sequence(BoundaryKind::ColumnInput, Pass::InputGradient) == Kind::ReduceScatter);
    CHECK(sequence(BoundaryKind::Loss, Pass::Forward) == Kind::AllReduce);
}

TEST_CASE("one rank has nobody to talk to") {
    for (const BoundaryKind kind : {BoundaryKind::ColumnInput,
                                    BoundaryKind::RowOutput,
                                    BoundaryKind::GatherAgain,
                                    BoundaryKind::Vocabulary,
                                    BoundaryKind::Loss}) {
        for (const Pass pass : {Pass::Forward, Pass::InputGradient, Pass::WeightGradient}) {
            CHECK_FALSE(boundary_collective(kind, pass, {.tp = 1, .sequence_parallel = true}));
        }
    }
}

TEST_CASE(
    "a product is divided in the dimension that tp or sequence parallelism names, rounded up") {
    const Gemm whole{.m = 100, .n = 30, .k = 7, .batch = 12};
    const KernelSplit split{
        .m = Split::Sequence, .n = Split::Tp, .k = Split::None, .batch = Split::Tp};
    const auto rank = std::get<Gemm>(shard_kernel(whole, split, {.tp = 4}));
    CHECK(rank == Gemm{.m = 100, .n = 8, .k = 7, .batch = 3});
    const auto with_sequence =
        std::get<Gemm>(shard_kernel(whole, split, {.tp = 4, .sequence_parallel = true}));
    CHECK(with_sequence == Gemm{.m = 25, .n = 8, .k = 7, .batch = 3});
}

TEST_CASE("fewer key-value heads than ranks leave one to each") {
    const Attention whole{.batch = 2, .heads = 32, .kv_heads = 2, .queries = 8, .keys = 8};
    const auto rank = std::get<Attention>(shard_kernel(whole, {.batch = Split::Tp}, {.tp = 8}));
    CHECK(rank.heads == 4);
    CHECK(rank.kv_heads == 1);
    CHECK(rank.batch == 2);
}

TEST_CASE("a measured duration shrinks with its work and keeps the divided FLOPs") {
    LayerTrace layer;
    TraceOp op;
    op.kernel = Gemm{.m = 8, .n = 8, .k = 8};
    op.split = {.m = Split::Sequence, .n = Split::Tp};
    op.measured = Duration(1001);
    layer.forward.push_back({.op = op, .boundary = std::nullopt});
    const RankLayer rank = shard_layer(layer, {.tp = 2});
    CHECK(std::get<Measured>(rank.forward[0].kernel) ==
          Measured{.duration = Duration(501), .flops = Flops(512)});
    const RankLayer both = shard_layer(layer, {.tp = 2, .sequence_parallel = true});
    CHECK(std::get<Measured>(both.forward[0].kernel) ==
          Measured{.duration = Duration(251), .flops = Flops(256)});
    // On a GPU twice as fast: 1001 / 2 up, halved.
    layer.forward[0].op->measured_scale = 0.5;
    CHECK(std::get<Measured>(shard_layer(layer, {.tp = 2}).forward[0].kernel).duration ==
          Duration(251));
}

TEST_CASE(
    "ops chosen by the shard's shape appear only where their condition holds, with their tensors") {
    LayerTrace layer;
    layer.tensors = {{.name = "a", .bytes = Bytes(8)}, {.name = "b", .bytes = Bytes(8)}};
    for (const bool holds : {true, false}) {
        TraceOp op;
        op.name = holds ? "fused" : "fallback";
        op.condition = ShardCondition{.whole = 16, .multiple = 4, .holds = holds};
        op.allocates = {static_cast<std::uint16_t>(holds ? 0 : 1)};
        layer.forward.push_back({.op = op, .boundary = std::nullopt});
    }
    const RankLayer fused = shard_layer(layer, {.tp = 4});  // 16 / 4 = 4
    CHECK(fused.forward.size() == 1);
    CHECK(fused.forward[0].name == "fused");
    const RankLayer fallback = shard_layer(layer, {.tp = 8});  // 16 / 8 = 2
    CHECK(fallback.forward.size() == 1);
    CHECK(fallback.forward[0].name == "fallback");
    CHECK(fallback.forward[0].allocates == std::vector<std::uint16_t>{1});
}

TEST_CASE("full-width copies exist only where sequence parallelism gathers") {
    LayerTrace layer;
    layer.tensors = {{.name = "copy", .bytes = Bytes(8), .only_sequence_parallel = true}};
    TraceOp op;
    op.allocates = {0};
    op.frees = {0};
    layer.forward.push_back({.op = op, .boundary = std::nullopt});
    CHECK(shard_layer(layer, {.tp = 2}).forward[0].allocates.empty());
    CHECK(shard_layer(layer, {.tp = 1, .sequence_parallel = true}).forward[0].frees.empty());
    CHECK(shard_layer(layer, {.tp = 2, .sequence_parallel = true}).forward[0].allocates.size() ==
          1);
}

TEST_CASE("the last use of a tensor is found again behind inserted collectives") {
    // Items: norm, boundary (3 calls), product. With tp the product is op 4, without it op 1.
    LayerTrace layer;
    layer.tensors = {{.name = "x", .bytes = Bytes(8), .last_forward_item = 2}};
    TraceOp op;
    op.allocates = {0};
    layer.forward.push_back({.op = op, .boundary = std::nullopt});
    layer.forward.push_back(
        {.op = std::nullopt,
         .boundary = TraceBoundary{.kind = BoundaryKind::Loss, .bytes = Bytes(16), .calls = 3}});
    layer.forward.push_back({.op = TraceOp{}, .boundary = std::nullopt});
    CHECK(shard_layer(layer, {.tp = 1}).tensors[0].last_forward_op == 1);
    CHECK(shard_layer(layer, {.tp = 2}).tensors[0].last_forward_op == 4);
}

TEST_CASE("a trace that names tensors it does not have is caught") {
    LayerTrace layer;
    TraceOp op;
    op.frees = {0};
    layer.backward.push_back({.op = op, .boundary = std::nullopt});
    CHECK_THROWS_AS((void)shard_layer(layer, {.tp = 2}), BugError);
    CHECK_THROWS_AS((void)shard_layer(LayerTrace{}, {.tp = 0}), BugError);
    LayerTrace late;
    late.tensors = {{.name = "x", .bytes = Bytes(8), .last_forward_item = 3}};
    CHECK_THROWS_AS((void)shard_layer(late, {.tp = 1}), BugError);
}
