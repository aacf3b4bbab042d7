#include "sim/parallel/lower.h"

#include <array>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/memory/states.h"
#include "sim/parallel/chunk.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

std::vector<Shape> small_shapes() {
    std::vector<Shape> result;
    for (const int tp : {1, 4}) {
        for (const int pp : {1, 2, 3, 4}) {
            for (const int vpp : {1, 3}) {
                for (const int dp : {1, 4}) {
                    for (const int rounds : {1, 2}) {
                        if (pp > 1 || vpp == 1) {
                            result.push_back({.tp = tp,
                                              .pp = pp,
                                              .vpp = vpp,
                                              .dp = dp,
                                              .m = pp * rounds,
                                              .layers_per_chunk = 2});
                        }
                    }
                }
            }
        }
    }
    return result;
}

std::string text(const Shape& s) {
    return "tp " + std::to_string(s.tp) + " pp " + std::to_string(s.pp) + " vpp " +
           std::to_string(s.vpp) + " dp " + std::to_string(s.dp) + " m " + std::to_string(s.m);
}

constexpr std::array kShardings = {ShardingKind::None,
                                   ShardingKind::Zero1,
                                   ShardingKind::Zero2,
                                   ShardingKind::Zero3,
                                   ShardingKind::Fsdp,
                                   ShardingKind::Hsdp};

// Every combination of sharding, recomputation, overlap, sequence parallelism and kind of p2p over the small shapes.
template <class Visit>
void for_each_job(Visit visit) {
    for (const Shape& shape : small_shapes()) {
        for (const ShardingKind sharding : kShardings) {
            for (const RecomputeKind recompute :
                 {RecomputeKind::None, RecomputeKind::Selective, RecomputeKind::Full}) {
                for (int bits = 0; bits < 8; ++bits) {
                    Job job = tiny_job(shape);
                    job.parallel.sharding.kind = sharding;
                    if (sharding == ShardingKind::Hsdp && shape.dp > 1) {
                        job.degrees.shard = 2;
                        job.degrees.replicate = shape.dp / 2;
                    }
                    job.training.recompute = recompute;
                    job.training.recompute_modules = {RecomputeModule::Mlp, RecomputeModule::Norm};
                    const bool overlap = (bits & 1) != 0;
                    job.parallel.sequence_parallel = (bits & 2) != 0;
                    job.stack.overlap = {
                        .tp_backward_all_reduce = overlap,
                        .gradient_reduce = overlap,
                        .gradient_bucket = {},
                        .parameter_gather = overlap,
                        .p2p = (bits & 4) != 0 ? P2pKind::Overlapped : P2pKind::Batched,
                        .p2p_scatter_gather = !overlap};
                    job.parallel.gradients.bucket = Bytes(overlap ? 50'000 : 0);
                    job.parallel.sharding.reshard_after_forward = (bits & 4) == 0;
                    job.parallel.sharding.sync_every_micro_batch = (bits & 2) == 0;
                    visit(job, shape);
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("in every small combination memory returns to its base and no message waits for ever") {
    for_each_job([](const Job& job, const Shape& shape) {
        const ProgramSet set = lower(job, trace_of(shape));
        const std::string what = text(shape) + " sharding " +
                                 std::to_string(static_cast<int>(job.parallel.sharding.kind));
        INFO(what);
        const MemoryWalk walk = walk_memory(set);
        for (const std::string& error : walk.errors) {
            INFO(error);
            CHECK(false);
        }
        for (const std::int64_t left : walk.left) {
            CHECK(left == 0);
        }
        const Play played = play(set, 3, 1);
        for (const std::string& error : played.errors) {
            INFO(error);
            CHECK(false);
        }
        CHECK(played.step_time > 0);
    });
}

// tp divides every product; what a replay adds is stated: the forward of the layers (full), or of the MLP (selective).
TEST_CASE("the work of all ranks sums to the whole plus the stated recomputation") {
    for_each_job([](const Job& job, const Shape& shape) {
        const WorkloadTrace trace = trace_of(shape);
        const Totals sums = totals(lower(job, trace));
        const double layers = static_cast<double>(trace.layers.size());
        const double layer_forward = (forward_flops(trace) - forward_flops(tiny_trace(0))) / layers;
        // Both products of the layer are its MLP.
        const double replayed = job.training.recompute == RecomputeKind::None
                                    ? 0
                                    : layer_forward * layers * static_cast<double>(shape.m);
        CHECK(sums.flops * shape.tp == step_flops(trace, shape.m) + replayed);
        CHECK(sums.recompute_flops * shape.tp == replayed);
        CHECK(sums.sent == sums.received);
    });
}

namespace {

// Only the layers work: embedding and head have no kernels, so that all chunks take equal time.
WorkloadTrace equal_chunks(const Shape& shape) {
    WorkloadTrace trace = trace_of(shape);
    for (const std::uint32_t kind : {trace.embedding, trace.head}) {
        trace.kinds[kind].forward.clear();
        trace.kinds[kind].backward.clear();
        trace.kinds[kind].parameters.clear();
        trace.kinds[kind].tensors.clear();
    }
    return trace;
}

std::size_t count_items(const ProgramSet& set, std::size_t program, OpKind kind) {
    std::size_t count = 0;
    for (const Item& item : set.programs[program].items) {
        count += item.kind == Item::Kind::Op && set.ops[item.index].kind == kind ? 1U : 0U;
    }
    return count;
}

std::int64_t resident(const Program& program, TensorClass memory) {
    std::int64_t sum = 0;
    for (const MemoryEvent& event : program.resident) {
        sum += event.memory == memory ? event.bytes : 0;
    }
    return sum;
}

}  // namespace

// A layer has 4 kernels forward and 6 backward. Step = (m v + p-1) chunk passes of both, then norm, update, clearing: the
// pipelined part has a bubble of (p-1)/(m v + p-1).
TEST_CASE("equal stages without transfer time play the closed-form bubble of their schedule") {
    for (const Schedule schedule :
         {Schedule::GPipe, Schedule::OneForwardOneBackward, Schedule::Interleaved}) {
        for (const P2pKind p2p : {P2pKind::Blocking, P2pKind::Batched, P2pKind::Overlapped}) {
            for (const int pp : {1, 2, 4}) {
                for (const int rounds : {1, 3}) {
                    const bool interleaved = schedule == Schedule::Interleaved && pp > 1;
                    const Shape shape{.pp = pp, .vpp = interleaved ? 2 : 1, .m = pp * rounds};
                    Job job = tiny_job(shape);
                    job.parallel.schedule = schedule;
                    job.stack.overlap.p2p = p2p;
                    const std::int64_t passes = std::int64_t{shape.m} * shape.vpp + pp - 1;
                    INFO(text(shape) << " schedule " << static_cast<int>(schedule));
                    CHECK(play(lower(job, equal_chunks(shape)), 10, 0).step_time ==
                          passes * (4 + 6) * 10 + 3 * 10);
                }
            }
        }
    }
}

TEST_CASE(
    "blocking and batched exchanges take equal time where nothing else could run beside them") {
    for (const Shape& shape : {Shape{.tp = 2, .pp = 2, .m = 4},
                               Shape{.tp = 2, .pp = 4, .m = 3},
                               Shape{.tp = 4, .pp = 3, .vpp = 2, .m = 6}}) {
        for (const bool scatter : {false, true}) {
            Job job = tiny_job(shape);
            job.stack.overlap.p2p_scatter_gather = scatter;
            job.stack.overlap.p2p = P2pKind::Batched;
            const std::int64_t batched = play(lower(job, trace_of(shape)), 10, 4).step_time;
            job.stack.overlap.p2p = P2pKind::Blocking;
            INFO(text(shape));
            CHECK(play(lower(job, trace_of(shape)), 10, 4).step_time == batched);
        }
    }
}

TEST_CASE(
    "overlapped exchanges are never slower than batched ones when a pass outlasts a message") {
    for (const Shape& shape :
         {Shape{.pp = 2, .m = 4}, Shape{.pp = 4, .m = 8}, Shape{.pp = 4, .vpp = 2, .m = 8}}) {
        Job job = tiny_job(shape);
        const std::int64_t batched = play(lower(job, trace_of(shape)), 10, 4).step_time;
        job.stack.overlap.p2p = P2pKind::Overlapped;
        CHECK(play(lower(job, trace_of(shape)), 10, 4).step_time < batched);
    }
}

TEST_CASE("a stage of 1F1B holds min(m, p - stage) micro-batches in flight") {
    const Shape shape{.pp = 4, .m = 8};
    Job job = tiny_job(shape);
    job.training.recompute = RecomputeKind::Full;
    const MemoryWalk walk = walk_memory(lower(job, equal_chunks(shape)));
    for (std::size_t stage = 0; stage + 1 < 4; ++stage) {
        // One input kept per micro-batch in flight; the backward of the first replays and works on the same layer everywhere.
        CHECK(walk.peak[stage] - walk.peak[stage + 1] == kBoundary);
    }
}

TEST_CASE(
    "a message is the boundary tensor, divided by tp with sequence parallelism or scatter/gather") {
    const Shape shape{.tp = 4, .pp = 2, .m = 3};
    const std::int64_t messages = 2 * 3;  // forward and backward
    Job job = tiny_job(shape);
    CHECK(totals(lower(job, trace_of(shape))).sent == messages * kBoundary);
    job.stack.overlap.p2p_scatter_gather = true;
    const Totals scattered = totals(lower(job, trace_of(shape)));
    CHECK(scattered.sent == messages * kBoundary / 4);
    // The receiver gathers; all other tensor-parallel traffic is all-reduces.
    CHECK(scattered.collective_bytes.at({GroupRole::Tp, CollectiveKind::AllGather}) ==
          messages * kBoundary);
    job.stack.overlap.p2p_scatter_gather = false;
    job.parallel.sequence_parallel = true;
    CHECK(totals(lower(job, trace_of(shape))).sent == messages * kBoundary / 4);
}

// Per layer: forward 1 all-reduce, backward 1. Embedding 1 forward. Head: 3 of the loss forward, 1 backward. Norm: 1.
TEST_CASE(
    "tensor parallelism has the all-reduces of its boundaries, and replays those of the layers") {
    const Shape shape{.tp = 2, .m = 2, .layers_per_chunk = 5};
    Job job = tiny_job(shape);
    const auto key = std::pair(GroupRole::Tp, CollectiveKind::AllReduce);
    CHECK(totals(lower(job, trace_of(shape))).collective_calls.at(key) ==
          2 * (5 * 2 + 1 + 3 + 1) + 1);
    job.training.recompute = RecomputeKind::Full;
    CHECK(totals(lower(job, trace_of(shape))).collective_calls.at(key) ==
          2 * (5 * 3 + 1 + 3 + 1) + 1);
    job.training.recompute_layers = 2;
    CHECK(totals(lower(job, trace_of(shape))).collective_calls.at(key) ==
          2 * (5 * 2 + 2 + 1 + 3 + 1) + 1);
}

// One collective of 4 behind one weight-gradient product of 10: hidden wholly, in each layer and in the head.
TEST_CASE(
    "the input gradient's all-reduce hides behind the weight gradient when the stack overlaps "
    "them") {
    const Shape shape{.tp = 2, .m = 2, .layers_per_chunk = 5};
    Job job = tiny_job(shape);
    const std::int64_t serial = play(lower(job, trace_of(shape)), 10, 4).step_time;
    job.stack.overlap.tp_backward_all_reduce = true;
    const std::int64_t overlapped = play(lower(job, trace_of(shape)), 10, 4).step_time;
    CHECK(serial - overlapped == 2 * (5 + 1) * 4);
    // A collective longer than the product shows the rest.
    const std::int64_t exposed = play(lower(job, trace_of(shape)), 10, 14).step_time;
    job.stack.overlap.tp_backward_all_reduce = false;
    CHECK(play(lower(job, trace_of(shape)), 10, 14).step_time - exposed == 2 * (5 + 1) * 10);
}

// Sequence parallelism: the second gather hides behind the input gradient, the reduce-scatter behind the weight gradient.
TEST_CASE(
    "with sequence parallelism gather and scatter of backward hide behind the two gradients") {
    const Shape shape{.tp = 2, .m = 1, .layers_per_chunk = 5};
    Job job = tiny_job(shape);
    job.parallel.sequence_parallel = true;
    const std::int64_t serial = play(lower(job, trace_of(shape)), 10, 4).step_time;
    job.stack.overlap.tp_backward_all_reduce = true;
    CHECK(serial - play(lower(job, trace_of(shape)), 10, 4).step_time == (5 * 2 + 1) * 4);
}

TEST_CASE(
    "tied embeddings on two stages sum their gradients once per step, and on one stage are one "
    "tensor") {
    const auto key = std::pair(GroupRole::Embedding, CollectiveKind::AllReduce);
    const Shape two{.tp = 2, .pp = 3, .m = 3};
    const ProgramSet set = lower(tiny_job(two), trace_of(two));
    CHECK(totals(set).collective_calls.at(key) == 2);  // first and last stage
    CHECK(totals(set).collective_bytes.at(key) == 2 * 2 * kVocabulary * kHidden / 2);
    CHECK(set.programs[0].parameters == set.programs[2].parameters);
    const Shape one{.tp = 2, .m = 3};
    const ProgramSet whole = lower(tiny_job(one), trace_of(one));
    CHECK_FALSE(totals(whole).collective_calls.contains(key));
    CHECK(whole.programs[0].parameters ==
          kHidden + (2 * 4 * kHidden * kHidden + kVocabulary * kHidden) / 2);
}

TEST_CASE("the host drains once per micro-batch and pays its step and micro-batch times") {
    const Shape shape{.pp = 2, .vpp = 2, .m = 4};
    Job job = tiny_job(shape);
    job.stack.host = {.kernel_launch = Duration(5),
                      .collective_launch = Duration(7),
                      .micro_batch = Duration(11),
                      .step = Duration(13),
                      .drain_each_micro_batch = true};
    const ProgramSet set = lower(job, trace_of(shape));
    for (std::size_t stage = 0; stage < 2; ++stage) {
        CHECK(count_items(set, stage, OpKind::Drain) == 4);
        CHECK(count_items(set, stage, OpKind::HostWork) == 1);
    }
    job.stack.host.drain_each_micro_batch = false;
    CHECK(count_items(lower(job, trace_of(shape)), 0, OpKind::HostWork) == 5);
    for (const Segment& segment : set.segments) {
        for (const Op& op : segment.ops) {
            CHECK(op.host == Duration(op.kind == OpKind::Compute ? 5 : 7));
        }
    }
}

TEST_CASE(
    "launches in recomputation and backward cost as in forward unless the stack tells them apart") {
    const Shape shape{.m = 1};
    Job job = tiny_job(shape);
    job.training.recompute = RecomputeKind::Full;
    job.stack.host.kernel_launch = Duration(5);
    const auto hosts = [&] {
        const ProgramSet set = lower(job, trace_of(shape));
        std::set<std::int64_t> all;
        for (const Segment& segment : set.segments) {
            for (const Op& op : segment.ops) {
                all.insert(op.host.count());
            }
        }
        return all;
    };
    CHECK(hosts() == std::set<std::int64_t>{5});
    job.stack.host.recompute_launch = Duration(3);
    job.stack.host.backward_launch = Duration(2);
    CHECK(hosts() == std::set<std::int64_t>{2, 3, 5});
}

// Each micro-batch passes the head once; the host pays once more than without.
TEST_CASE("the host pays for the head once per micro-batch, on the last stage alone") {
    const Shape shape{.pp = 2, .m = 4};
    Job job = tiny_job(shape);
    const auto host = [&](std::size_t stage) {
        const ProgramSet set = lower(job, trace_of(shape));
        std::int64_t sum = 0;
        for (const Item& item : set.programs[stage].items) {
            if (item.kind == Item::Kind::Op) {
                sum += set.ops[item.index].host.count();
                continue;
            }
            for (const Op& op : set.segments[item.index].ops) {
                sum += op.host.count();
            }
        }
        return sum;
    };
    const std::array before{host(0), host(1)};
    job.stack.host.head = Duration(1000);
    CHECK(host(0) == before[0]);
    CHECK(host(1) == before[1] + 4 * 1000);
}

TEST_CASE("resident memory is the model states, workspaces, and context with its communicators") {
    const Shape shape{.tp = 2, .pp = 2, .dp = 4, .m = 2};
    Job job = tiny_job(shape);
    job.stack.memory = {
        .workspaces = Bytes(100), .context = Bytes(1000), .nccl_per_communicator = Bytes(10)};
    job.parallel.sharding.kind = ShardingKind::Zero1;
    const ProgramSet set = lower(job, trace_of(shape));
    const std::int64_t parameters = set.programs[0].parameters;
    CHECK(resident(set.programs[0], TensorClass::Parameters) == 2 * parameters);
    CHECK(resident(set.programs[0], TensorClass::Gradients) == 2 * parameters);
    CHECK(resident(set.programs[0], TensorClass::OptimizerStates) == 8 * shard_of(parameters, 4));
    CHECK(resident(set.programs[0], TensorClass::Workspaces) == 100);
    // tp, pp, shard, embedding pair, and the norm over all 16 ranks.
    CHECK(resident(set.programs[0], TensorClass::Context) == 1000 + 5 * 10);
    job.training.precision.gradient_bytes = 4;
    job.stack.memory.dummy_weight_gradients = true;
    const ProgramSet wide = lower(job, trace_of(shape));
    CHECK(resident(wide.programs[0], TensorClass::Gradients) == 4 * parameters);
    // `up` and `down` have two shapes, each divided by tp.
    CHECK(resident(wide.programs[0], TensorClass::Workspaces) ==
          100 + 2 * 2 * 4 * kHidden * kHidden / 2);
}

TEST_CASE("equal chunks of all stages share their segments") {
    const Shape shape{.tp = 2, .pp = 4, .vpp = 6, .m = 8};
    const ProgramSet set = lower(tiny_job(shape), trace_of(shape));
    CHECK(set.segments.size() == 6);  // first, middle and last chunk, forward and backward
}

// A key is as long as its chunk: with the whole key in every segment, the memory of a stage would grow with the square of its
// layers.
TEST_CASE("chunks with equal keys have one number, others have their own") {
    const Shape shape{};
    const Job job = tiny_job(shape);
    const WorkloadTrace trace = trace_of(shape);
    ProgramBuilder programs;
    Lowering lowering(job, trace, programs);
    Stage stage;
    stage.chunks.resize(3);
    stage.chunks[0].key = {1, 2, 3};
    stage.chunks[1].key = {1, 2};
    stage.chunks[2].key = {1, 2, 3};
    number_keys(lowering, stage);
    CHECK(stage.chunks[0].key_number == stage.chunks[2].key_number);
    CHECK(stage.chunks[0].key_number != stage.chunks[1].key_number);
    Stage next;
    next.chunks.resize(1);
    next.chunks[0].key = {1, 2};
    number_keys(lowering, next);
    CHECK(next.chunks[0].key_number == stage.chunks[1].key_number);
}

TEST_CASE("what is not lowered is our bug to let through") {
    const Shape shape{.pp = 2, .m = 2};
    Job job = tiny_job(shape);
    job.degrees.ep = 2;
    CHECK_THROWS_AS((void)lower(job, trace_of(shape)), BugError);
    job = tiny_job(shape);
    job.micro_batches = 0;
    CHECK_THROWS_AS((void)lower(job, trace_of(shape)), BugError);
    job = tiny_job(shape);
    job.stages.pop_back();
    CHECK_THROWS_AS((void)lower(job, trace_of(shape)), BugError);
    job = tiny_job(shape);
    job.stages[1][0] = {};
    CHECK_THROWS_AS((void)lower(job, trace_of(shape)), BugError);
    job = tiny_job({.dp = 4});
    job.parallel.sharding.kind = ShardingKind::Hsdp;
    job.degrees.shard = 3;
    CHECK_THROWS_AS((void)lower(job, trace_of({})), BugError);
}
