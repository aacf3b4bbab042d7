#include <algorithm>

#include <doctest/doctest.h>

#include "sim/memory/states.h"
#include "sim/parallel/lower.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

constexpr std::int64_t kLayerParameters = kHidden + 2 * 4 * kHidden * kHidden;
constexpr std::int64_t kTable = kVocabulary * kHidden;

// One stage of `layers` layers with embedding and tied head.
Shape single(int layers, int dp, int m) {
    return {.dp = dp, .m = m, .layers_per_chunk = layers};
}

Job job_of(const Shape& shape, ShardingKind kind, bool overlap = false) {
    Job job = tiny_job(shape);
    job.parallel.sharding.kind = kind;
    job.parallel.gradients.reduce_dtype = Dtype::Bf16;
    job.stack.overlap.gradient_reduce = overlap;
    job.stack.overlap.parameter_gather = overlap;
    return job;
}

Totals totals_of(const Job& job, const Shape& shape) {
    return totals(lower(job, trace_of(shape)));
}

std::int64_t bytes(const Totals& t, GroupRole role, CollectiveKind kind) {
    const auto known = t.collective_bytes.find({role, kind});
    return known == t.collective_bytes.end() ? 0 : known->second;
}
int calls(const Totals& t, GroupRole role, CollectiveKind kind) {
    const auto known = t.collective_calls.find({role, kind});
    return known == t.collective_calls.end() ? 0 : known->second;
}

// Highest sum of live bytes of one class over a program.
std::int64_t class_peak(const ProgramSet& set, TensorClass memory) {
    std::int64_t now = 0;
    std::int64_t peak = 0;
    const auto move = [&](const MemoryEvent& event) {
        now += event.memory == memory ? event.bytes : 0;
        peak = std::max(peak, now);
    };
    for (const Item& item : set.programs[0].items) {
        if (item.kind == Item::Kind::Op) {
            std::for_each(
                set.memory.begin() + item.memory_begin, set.memory.begin() + item.memory_end, move);
        } else {
            const auto& events = set.segments[item.index].memory;
            std::for_each(events.begin(), events.end(), move);
        }
    }
    return peak;
}

}  // namespace

// One all-reduce of S = 2 bytes per parameter: 2 (n-1)/n S on each rank.
TEST_CASE(
    "data parallelism reduces each gradient once per step, however many micro-batches and "
    "buckets") {
    const Shape shape = single(4, 4, 3);
    const std::int64_t parameters = 4 * kLayerParameters + kTable;
    const Totals one = totals_of(job_of(shape, ShardingKind::None), shape);
    CHECK(bytes(one, GroupRole::Dp, CollectiveKind::AllReduce) == 2 * parameters);
    CHECK(calls(one, GroupRole::Dp, CollectiveKind::AllReduce) == 1);
    for (const bool overlap : {false, true}) {
        Job job = job_of(shape, ShardingKind::None, overlap);
        job.parallel.gradients.bucket = Bytes(30'000);
        const Totals many = totals_of(job, shape);
        CHECK(bytes(many, GroupRole::Dp, CollectiveKind::AllReduce) == 2 * parameters);
        CHECK(calls(many, GroupRole::Dp, CollectiveKind::AllReduce) ==
              (2 * parameters + 29'999) / 30'000);
    }
}

TEST_CASE(
    "a bucket of 0 bytes means one reduction after the last backward, also where the stack "
    "overlaps") {
    const Shape shape = single(4, 4, 2);
    CHECK(calls(totals_of(job_of(shape, ShardingKind::None, true), shape),
                GroupRole::Dp,
                CollectiveKind::AllReduce) == 1);
}

TEST_CASE("one data-parallel rank reduces and gathers nothing") {
    for (const ShardingKind kind : {ShardingKind::None,
                                    ShardingKind::Zero1,
                                    ShardingKind::Zero2,
                                    ShardingKind::Zero3,
                                    ShardingKind::Fsdp}) {
        const Shape shape = single(2, 1, 2);
        CHECK(totals_of(job_of(shape, kind, true), shape).collective_bytes.empty());
    }
}

// Reduce-scatter S + all-gather S: the volume of one all-reduce.
TEST_CASE("ZeRO-1 reduces into shards once per step and gathers the parameters once") {
    const Shape shape = single(4, 4, 3);
    const std::int64_t whole = padded(4 * kLayerParameters + kTable, 4);
    for (const bool overlap : {false, true}) {
        const Totals t = totals_of(job_of(shape, ShardingKind::Zero1, overlap), shape);
        CHECK(bytes(t, GroupRole::Shard, CollectiveKind::ReduceScatter) == 2 * whole);
        CHECK(bytes(t, GroupRole::Shard, CollectiveKind::AllGather) == 2 * whole);
        CHECK(bytes(t, GroupRole::Dp, CollectiveKind::AllReduce) == 0);
    }
}

TEST_CASE("ZeRO-2 reduces every micro-batch") {
    const Shape shape = single(4, 4, 3);
    const std::int64_t whole = padded(4 * kLayerParameters + kTable, 4);
    const Totals t = totals_of(job_of(shape, ShardingKind::Zero2), shape);
    CHECK(bytes(t, GroupRole::Shard, CollectiveKind::ReduceScatter) == 3 * 2 * whole);
    CHECK(bytes(t, GroupRole::Shard, CollectiveKind::AllGather) == 2 * whole);
}

// Rajbhandari et al.: 3 S against the 2 S of an all-reduce, for what is gathered again in backward; the root is gathered once.
TEST_CASE(
    "full sharding moves one and a half times the volume of data parallelism for its blocks") {
    const Shape shape = single(4, 4, 1);
    const std::int64_t blocks = 4 * padded(kLayerParameters, 4);
    const std::int64_t root = padded(kTable, 4);
    for (const ShardingKind kind : {ShardingKind::Zero3, ShardingKind::Fsdp}) {
        const Totals t = totals_of(job_of(shape, kind, true), shape);
        CHECK(bytes(t, GroupRole::Shard, CollectiveKind::AllGather) == 2 * (2 * blocks + root));
        CHECK(bytes(t, GroupRole::Shard, CollectiveKind::ReduceScatter) == 2 * (blocks + root));
        Job keeps = job_of(shape, kind, true);
        keeps.parallel.sharding.reshard_after_forward = false;
        CHECK(bytes(totals_of(keeps, shape), GroupRole::Shard, CollectiveKind::AllGather) ==
              2 * (blocks + root));
    }
}

TEST_CASE("without synchronisation gradients are reduced in the last micro-batch only") {
    const Shape shape = single(4, 4, 3);
    Job job = job_of(shape, ShardingKind::Fsdp, true);
    const std::int64_t each = 2 * (4 * padded(kLayerParameters, 4) + padded(kTable, 4));
    CHECK(bytes(totals_of(job, shape), GroupRole::Shard, CollectiveKind::ReduceScatter) ==
          3 * each);
    job.parallel.sharding.sync_every_micro_batch = false;
    CHECK(bytes(totals_of(job, shape), GroupRole::Shard, CollectiveKind::ReduceScatter) == each);
    job.parallel.sharding.reshard_after_forward = false;
    CHECK(bytes(totals_of(job, shape), GroupRole::Shard, CollectiveKind::AllGather) == each);
}

TEST_CASE("HSDP scatters in the shard group and reduces the shard over its replicas") {
    const Shape shape = single(4, 8, 1);
    Job job = job_of(shape, ShardingKind::Hsdp, true);
    job.degrees.shard = 4;
    job.degrees.replicate = 2;
    const Totals t = totals_of(job, shape);
    const std::int64_t scattered = bytes(t, GroupRole::Shard, CollectiveKind::ReduceScatter);
    CHECK(scattered == 2 * (4 * padded(kLayerParameters, 4) + padded(kTable, 4)));
    CHECK(bytes(t, GroupRole::Replicate, CollectiveKind::AllReduce) == scattered / 4);
}

TEST_CASE("no more than prefetch + 1 blocks are gathered at once, beside the root") {
    const Shape shape = single(6, 4, 2);
    for (int prefetch = 0; prefetch <= 7; ++prefetch) {
        Job job = job_of(shape, ShardingKind::Fsdp, true);
        job.parallel.sharding.prefetch = prefetch;
        const std::int64_t block = 2 * padded(kLayerParameters, 4);
        const std::int64_t root = 2 * padded(kTable, 4);
        const std::int64_t blocks = std::min(prefetch + 1, 6);
        CHECK(class_peak(lower(job, trace_of(shape)), TensorClass::GatheredShards) ==
              root + blocks * block);
    }
}

TEST_CASE("a stack without overlap gathers one block at a time whatever the prefetch") {
    const Shape shape = single(6, 4, 1);
    Job job = job_of(shape, ShardingKind::Fsdp, false);
    job.parallel.sharding.prefetch = 3;
    CHECK(class_peak(lower(job, trace_of(shape)), TensorClass::GatheredShards) ==
          2 * padded(kLayerParameters, 4) + 2 * padded(kTable, 4));
}

// Kernels of 100, transfers of 1: every bucket but the last hides behind backward; without overlap all of them are exposed.
TEST_CASE("overlapped buckets hide behind backward, and the last one cannot") {
    const Shape shape = single(4, 4, 2);
    Job job = job_of(shape, ShardingKind::None, false);
    job.parallel.gradients.bucket = Bytes(2 * kLayerParameters);
    const int buckets = calls(totals_of(job, shape), GroupRole::Dp, CollectiveKind::AllReduce);
    const std::int64_t serial = play(lower(job, trace_of(shape)), 100, 1).step_time;
    job.stack.overlap.gradient_reduce = true;
    const std::int64_t hidden = play(lower(job, trace_of(shape)), 100, 1).step_time;
    // What ends with the embedding's backward cannot hide: the table of 512 x 64 is one bucket here, cut in whole buckets.
    CHECK(buckets == 5);
    CHECK(serial - hidden == 4);
}

// Forward: gather root, gather block 0 (behind the embedding), then one gather beside each block. All but the first two
// and the first of backward hide behind kernels of 100.
TEST_CASE("prefetched gathers hide behind the blocks before them, and do not without overlap") {
    const Shape shape = single(6, 4, 1);
    Job job = job_of(shape, ShardingKind::Fsdp, true);
    const std::int64_t overlapped = play(lower(job, trace_of(shape)), 100, 1).step_time;
    job.stack.overlap.parameter_gather = false;
    job.stack.overlap.gradient_reduce = false;
    const std::int64_t serial = play(lower(job, trace_of(shape)), 100, 1).step_time;
    // Overlapped, exposed: the root's gather, its reduce-scatter, and the norm's all-reduce. Serial: root and 6 blocks,
    // 6 blocks again, 7 reductions, the norm; but the first reduction's successor also waits for it.
    const ProgramSet set = lower(job, trace_of(shape));
    int transfers = 0;
    for (const auto& [key, count] : totals(set).collective_calls) {
        transfers += count;
    }
    CHECK(transfers == 1 + 6 + 6 + 7 + 1);
    CHECK(serial - overlapped == transfers - 3);
}

TEST_CASE("layers without work or without parameters are no obstacle to any strategy") {
    const Shape shape = single(3, 4, 2);
    WorkloadTrace trace = trace_of(shape);
    trace.kinds[trace.embedding].backward.clear();
    trace.kinds[trace.embedding].tensors.clear();
    trace.kinds[trace.embedding].forward[0].op->allocates.clear();
    trace.kinds[1].parameters.clear();
    for (const ShardingKind kind : {ShardingKind::None,
                                    ShardingKind::Zero1,
                                    ShardingKind::Zero2,
                                    ShardingKind::Zero3,
                                    ShardingKind::Fsdp}) {
        for (const bool overlap : {false, true}) {
            Job job = job_of(shape, kind, overlap);
            job.parallel.gradients.bucket = Bytes(1000);
            const ProgramSet set = lower(job, trace);
            CHECK(walk_memory(set).errors.empty());
            CHECK(walk_memory(set).left[0] == 0);
            CHECK(play(set, 3, 1).errors.empty());
        }
    }
}

TEST_CASE("shards that do not divide evenly are padded in traffic") {
    const Shape shape = single(4, 7, 1);
    const std::int64_t blocks = 4 * padded(kLayerParameters, 7);
    CHECK(padded(kLayerParameters, 7) != kLayerParameters);
    const Totals full = totals_of(job_of(shape, ShardingKind::Fsdp), shape);
    CHECK(bytes(full, GroupRole::Shard, CollectiveKind::ReduceScatter) ==
          2 * (blocks + padded(kTable, 7)));
    const Totals zero1 = totals_of(job_of(shape, ShardingKind::Zero1), shape);
    const std::int64_t whole = padded(4 * kLayerParameters + kTable, 7);
    CHECK(bytes(zero1, GroupRole::Shard, CollectiveKind::ReduceScatter) == 2 * whole);
    CHECK(bytes(zero1, GroupRole::Shard, CollectiveKind::AllGather) == 2 * whole);
}

// Kernels of 1, transfers of 1000: what waits for a transfer shows it whole. ZeRO-1 exposes its reduce-scatter, the norm's
// all-reduce and its all-gather one after another, whether the gather ends the step or delays the first layer of the next.
TEST_CASE("the first forward pass waits for the parameters gathered after the optimizer") {
    const Shape shape = single(2, 4, 2);
    for (const bool overlap : {false, true}) {
        const Job job = job_of(shape, ShardingKind::Zero1, overlap);
        const std::int64_t with_gather = play(lower(job, trace_of(shape)), 1, 1000).step_time;
        const std::int64_t plain =
            play(lower(job_of(shape, ShardingKind::None), trace_of(shape)), 1, 1000).step_time;
        CHECK(with_gather - plain == 2 * 1000);  // the plain norm is local to one rank
    }
}

TEST_CASE("gathers in groups let the first layers start before the last are there") {
    const Shape shape = single(6, 4, 1);
    Job job = job_of(shape, ShardingKind::Zero1, true);
    job.parallel.gradients.bucket = Bytes(2 * kLayerParameters);
    const Totals t = totals_of(job, shape);
    CHECK(calls(t, GroupRole::Shard, CollectiveKind::AllGather) > 3);
    // Gathers of 1 hide behind layers of 4 x 100, all but the first.
    const std::int64_t grouped = play(lower(job, trace_of(shape)), 100, 1).step_time;
    job.stack.overlap.parameter_gather = false;
    const int serial_gathers =
        calls(totals_of(job, shape), GroupRole::Shard, CollectiveKind::AllGather);
    CHECK(play(lower(job, trace_of(shape)), 100, 1).step_time - grouped == serial_gathers - 1);
}

TEST_CASE("the gradient norm is summed over every rank that holds another part of the model") {
    const Shape shape{.tp = 2, .pp = 2, .dp = 4, .m = 2};
    const Totals plain = totals_of(job_of(shape, ShardingKind::None), shape);
    CHECK(calls(plain, GroupRole::Pp, CollectiveKind::AllReduce) == 2);
    CHECK(calls(plain, GroupRole::World, CollectiveKind::AllReduce) == 0);
    const Totals sharded = totals_of(job_of(shape, ShardingKind::Zero1), shape);
    CHECK(calls(sharded, GroupRole::Pp, CollectiveKind::AllReduce) == 0);
    CHECK(calls(sharded, GroupRole::World, CollectiveKind::AllReduce) == 2);
}

// Kernels of 100, transfers of 1: with a bucket per layer and no overlap each layer's reduction stands before the next layer.
TEST_CASE("ZeRO-2 shows its reductions unless the stack overlaps them") {
    const Shape shape = single(4, 4, 2);
    Job job = job_of(shape, ShardingKind::Zero2);
    job.parallel.gradients.bucket = Bytes(2 * kLayerParameters);
    const std::int64_t serial = play(lower(job, trace_of(shape)), 100, 1).step_time;
    job.stack.overlap.gradient_reduce = true;
    const std::int64_t overlapped = play(lower(job, trace_of(shape)), 100, 1).step_time;
    // All are exposed in turn, or all but the last of the step hide: also the last of the first micro-batch.
    const int buckets =
        calls(totals_of(job, shape), GroupRole::Shard, CollectiveKind::ReduceScatter);
    CHECK(buckets == 2 * 5);
    CHECK(serial - overlapped == buckets - 1);
}
