#include "sim/parallel/segment.h"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/parallel/slots.h"

using namespace memwall;

namespace {

constexpr std::uint16_t kEntry = 77;

RankOp kernel(const char* name, Pass pass) {
    RankOp op;
    op.name = name;
    op.kernel = MemoryBound{.kind = MemoryKind::Elementwise, .bytes = Bytes(8)};
    op.pass = pass;
    return op;
}

RankOp collective(BoundaryKind kind) {
    RankOp op;
    op.name = "collective";
    op.collective = CollectiveCall{.kind = CollectiveKind::AllGather, .bytes = Bytes(8)};
    op.boundary = kind;
    op.pass = Pass::InputGradient;
    return op;
}

// The backward ops of one layer as a segment.
Segment backward(const std::vector<RankOp>& ops, bool overlap) {
    RankLayer layer;
    layer.kind = "layer";
    layer.backward = ops;
    LayerPass pass;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        pass.ops.push_back(
            {.op = static_cast<std::uint32_t>(i), .forward_list = false, .replay = false});
    }
    ProgramBuilder programs;
    const std::uint16_t entry[] = {kEntry};
    SegmentBuilder builder(programs,
                           {.backward_launch = Duration(3),
                            .collective_launch = Duration(5),
                            .tensor_parallel = true,
                            .overlap_input_gradient = overlap},
                           entry);
    builder.add(layer, pass, "L0", 0);
    (void)builder.finish("segment", false);
    return programs.take().segments.at(0);
}

bool waits_for(const Op& op, std::uint16_t slot) {
    return std::find(op.waits.begin(), op.waits.end(), slot) != op.waits.end();
}

// gather again, input gradient, reduce, weight gradient, norm
const std::vector<RankOp> kLinear = {collective(BoundaryKind::GatherAgain),
                                     kernel("dgrad", Pass::InputGradient),
                                     collective(BoundaryKind::ColumnInput),
                                     kernel("wgrad", Pass::WeightGradient),
                                     kernel("norm", Pass::InputGradient)};

}  // namespace

TEST_CASE("without overlap every kernel waits for the collective before it") {
    const Segment s = backward(kLinear, false);
    CHECK(waits_for(s.ops[1], kSlotTp));
    CHECK(waits_for(s.ops[2], kSlotCompute));
    CHECK(waits_for(s.ops[3], kSlotTp));
    CHECK_FALSE(waits_for(s.ops[4], kSlotTp));
    CHECK(s.ops[1].records == kSlotCompute);
}

TEST_CASE(
    "with overlap the weight gradient waits for the gathered input but not for the reduction") {
    const Segment s = backward(kLinear, true);
    CHECK(s.ops[0].records == kSlotTpGather);
    CHECK_FALSE(waits_for(s.ops[1], kSlotTpGather));
    CHECK(waits_for(s.ops[3], kSlotTpGather));
    CHECK_FALSE(waits_for(s.ops[3], kSlotTp));
    CHECK(waits_for(s.ops[4], kSlotTp));
}

TEST_CASE(
    "what happened outside is waited for by the first op, and by the first kernel behind a leading "
    "collective") {
    const Segment s = backward(kLinear, true);
    CHECK(waits_for(s.ops[0], kEntry));
    CHECK(waits_for(s.ops[1], kEntry));
    for (std::size_t i = 2; i < s.ops.size(); ++i) {
        CHECK_FALSE(waits_for(s.ops[i], kEntry));
    }
}

TEST_CASE(
    "the last kernel is recorded for whoever comes after, also when a collective ends the "
    "segment") {
    CHECK(backward(kLinear, true).ops.back().records == kSlotCompute);
    const Segment ends = backward(
        {kernel("dgrad", Pass::InputGradient), collective(BoundaryKind::ColumnInput)}, false);
    CHECK(ends.ops[0].records == kSlotCompute);
    CHECK(ends.ops[1].records == kSlotTp);
}

TEST_CASE("the host pays each launch of a kernel and one of a collective") {
    std::vector<RankOp> ops = kLinear;
    ops[1].launches = 4;
    const Segment s = backward(ops, false);
    CHECK(s.ops[0].host == Duration(5));
    CHECK(s.ops[1].host == Duration(12));
    CHECK(s.ops[3].host == Duration(3));
}

TEST_CASE("a launch costs what its pass costs: forward, recomputation, backward") {
    RankLayer layer;
    layer.kind = "transformer";
    layer.forward = {kernel("forward", Pass::Forward)};
    layer.backward = {kernel("dgrad", Pass::InputGradient)};
    layer.backward[0].launches = 2;
    LayerPass pass;
    pass.ops = {{.op = 0, .forward_list = true, .replay = false},
                {.op = 0, .forward_list = true, .replay = true},
                {.op = 0, .forward_list = false, .replay = false}};
    ProgramBuilder programs;
    SegmentBuilder builder(programs,
                           {.kernel_launch = Duration(3),
                            .recompute_launch = Duration(5),
                            .backward_launch = Duration(7)},
                           {});
    builder.add(layer, pass, "L0", 0);
    (void)builder.finish("segment", false);
    const Segment s = programs.take().segments.at(0);
    CHECK(s.ops[0].host == Duration(3));
    CHECK(s.ops[1].host == Duration(5));
    CHECK(s.ops[2].host == Duration(14));
}

TEST_CASE("a segment without ops, and a tensor-parallel collective at tp 1, are our bugs") {
    ProgramBuilder programs;
    SegmentBuilder empty(programs, {}, {});
    CHECK_THROWS_AS((void)empty.finish("empty", false), BugError);
    SegmentBuilder alone(programs, {}, {});
    CHECK_THROWS_AS(
        alone.add_collective({.kind = CollectiveKind::AllReduce, .bytes = Bytes(8)}, "all-reduce"),
        BugError);
}

TEST_CASE("an op names at most four slots, each once") {
    Op op;
    for (const std::uint16_t slot : std::array<std::uint16_t, 6>{1, 2, 2, 3, 4, kNoSlot}) {
        add_wait(op, slot);
    }
    CHECK(op.waits == std::array<std::uint16_t, kWaits>{1, 2, 3, 4});
    CHECK_THROWS_AS(add_wait(op, 5), BugError);
}
