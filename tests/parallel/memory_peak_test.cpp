#include <algorithm>

#include <doctest/doctest.h>

#include "sim/model/build.h"
#include "sim/parallel/lower.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

namespace {

Model llama(std::int64_t layers,
            std::int64_t hidden,
            std::int64_t ffn,
            std::int64_t heads,
            std::int64_t kv_heads) {
    Model model;
    model.name = "llama3";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = kv_heads;
    model.head_dim = 128;
    model.ffn = ffn;
    model.vocabulary = 128256;
    model.gated = true;
    model.norm = NormKind::RmsNorm;
    model.position = PositionKind::Rotary;
    return model;
}

void even_stages(Job& job) {
    const auto per_stage = static_cast<int>(job.model.layers) / job.degrees.pp;
    for (int stage = 0; stage < job.degrees.pp; ++stage) {
        job.stages.push_back({{.first_layer = stage * per_stage,
                               .layers = per_stage,
                               .embedding = stage == 0,
                               .head = stage == job.degrees.pp - 1}});
    }
}

double peak_gib(const Job& job) {
    const ProgramSet set = lower(job, build_trace(job.model, job.stack, trace_shape(job)));
    const MemoryWalk walk = walk_memory(set);
    CHECK(walk.errors.empty());
    std::int64_t peak = 0;
    for (std::size_t stage = 0; stage < set.programs.size(); ++stage) {
        std::int64_t resident = 0;
        for (const MemoryEvent& event : set.programs[stage].resident) {
            resident += event.memory == TensorClass::Context ? 0 : event.bytes;
        }
        peak = std::max(peak, resident + walk.peak[stage]);
    }
    return static_cast<double>(peak) / (1 << 30);
}

}  // namespace

// Megatron-LM with Transformer Engine on B200, sequence 4096, distributed optimizer, fused loss, no recomputation. Peaks of
// torch's max_memory_allocated, maximum over ranks: MooreThreads/SimuMax docs/b200/b200_release_v1.2_summary.json at
// 4dcaae513b. Workspaces of 85 MB are the one fitted number (all dense rows of that table, 0.02 % mean).
TEST_CASE("allocated peaks of Megatron on B200 are met to a tenth of a percent") {
    struct Row {
        Model model;
        int tp, pp, dp, micro_batches;
        double measured_gib;
    };
    for (const Row& row : {Row{llama(12, 8192, 28672, 64, 8), 8, 1, 1, 4, 28.29},
                           Row{llama(12, 8192, 28672, 64, 8), 1, 2, 4, 8, 66.55},
                           Row{llama(12, 8192, 28672, 64, 8), 4, 1, 2, 8, 39.07},
                           Row{llama(4, 16384, 53248, 128, 16), 4, 1, 2, 32, 52.89}}) {
        Job job;
        job.model = row.model;
        job.sequence = 4096;
        job.padded_vocabulary = 128256;
        job.micro_batches = row.micro_batches;
        job.degrees.tp = row.tp;
        job.degrees.pp = row.pp;
        job.degrees.dp = row.dp;
        job.degrees.shard = row.dp;
        job.parallel.sharding.kind = ShardingKind::Zero1;
        job.parallel.sequence_parallel = true;
        job.stack.kernels.attention = AttentionImplementation::Cudnn;
        job.stack.kernels.loss = LossImplementation::Fused;
        job.stack.kernels.fused_projections = true;
        job.stack.memory.dummy_weight_gradients = true;
        job.training.precision.gradient_bytes = 4;
        job.stack.memory.workspaces = Bytes(85'000'000);
        even_stages(job);
        INFO("tp " << row.tp << " pp " << row.pp);
        CHECK(peak_gib(job) == doctest::Approx(row.measured_gib).epsilon(1e-3));
    }
}

// torchtitan prints reserved memory: 83.9 GiB for Llama-3 8B, sequence 32768, full recomputation, FSDP2 over 8 H100
// (pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md, table 2, cp 1). What is allocated lies 1 to 5 % below:
// the loss is not compiled, 14 bytes per logit decide.
TEST_CASE(
    "the allocated peak of FSDP with an eager loss lies just below the reserved one that "
    "torchtitan prints") {
    Job job;
    job.model = llama(32, 4096, 14336, 32, 8);
    job.sequence = 32768;
    job.padded_vocabulary = 128256;
    job.micro_batches = 1;
    job.degrees.dp = 8;
    job.degrees.shard = 8;
    job.parallel.sharding.kind = ShardingKind::Fsdp;
    job.training.recompute = RecomputeKind::Full;
    job.training.precision.weight_bytes = 4;
    job.training.precision.gradient_bytes = 4;
    job.training.precision.master_bytes = 0;
    job.stack.kernels.attention = AttentionImplementation::Flash2;
    job.stack.kernels.loss = LossImplementation::Unfused;
    job.stack.kernels.loss_in_place = false;
    job.stack.kernels.fused_projections = false;
    job.stack.overlap.parameter_gather = true;
    job.stack.overlap.gradient_reduce = true;
    even_stages(job);
    const double peak = peak_gib(job);
    CHECK(peak < 83.9 * 0.99);
    CHECK(peak > 83.9 * 0.95);
}
