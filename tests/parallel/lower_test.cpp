#include "sim/parallel/lower.h"

#include <array>
#include <string>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/memory/states.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

std::vector<Shape> small_shapes() {
    std::vector<Shape> result;
    for (const int tp : {1, 4}) {
        for (const int pp : {1, 2, 3, 4}) {
            for (const int vpp : {1, 3}) {
                for (const int dp : {1, 3}) {
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
                                   ShardingKind::Fsdp};

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
                    job.training.recompute = recompute;
                    job.training.recompute_modules = {RecomputeModule::Mlp, RecomputeModule::Norm};
                    const bool overlap = (bits & 1) != 0;
                    job.parallel.sequence_parallel = (bits & 2) != 0;
                    job.stack.overlap = {
                        .tp_backward_all_reduce = overlap,
                        .gradient_reduce = overlap,
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
