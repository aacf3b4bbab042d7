// Lowering, from job and trace to programs: GPT-3 175B (tp 8, pp 8, vpp 6, m 96), Llama-3.1 405B (tp 8, pp 16, vpp 8, m 16)
// and Llama-3 70B under FSDP (a segment per layer and pass).
#include <benchmark/benchmark.h>

#include "sim/model/build.h"
#include "sim/parallel/lower.h"

namespace {

using namespace memwall;

struct Case {
    Model model;
    Degrees degrees;
    std::int64_t micro_batches = 1;
    std::int64_t sequence = 2048;
};

Model model_of(
    std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn, bool gated) {
    Model m;
    m.layers = layers;
    m.hidden = hidden;
    m.heads = heads;
    m.kv_heads = gated ? 8 : heads;
    m.head_dim = hidden / heads;
    m.ffn = ffn;
    m.vocabulary = gated ? 128256 : 51200;
    m.gated = gated;
    m.norm = gated ? NormKind::RmsNorm : NormKind::LayerNorm;
    m.position = gated ? PositionKind::Rotary : PositionKind::Learned;
    return m;
}

Job job_of(const Case& c) {
    Job job;
    job.model = c.model;
    job.sequence = c.sequence;
    job.padded_vocabulary = c.model.vocabulary;
    job.micro_batches = c.micro_batches;
    job.degrees = c.degrees;
    job.parallel.schedule =
        c.degrees.vpp > 1 ? Schedule::Interleaved : Schedule::OneForwardOneBackward;
    const int chunks = c.degrees.pp * c.degrees.vpp;
    // Layers as even as they go; the first chunks take one more.
    std::vector<ChunkLayout> flat;
    const auto layers = static_cast<int>(c.model.layers);
    for (int i = 0, at = 0; i < chunks; ++i) {
        const int count = layers / chunks + (i < layers % chunks ? 1 : 0);
        flat.push_back(
            {.first_layer = at, .layers = count, .embedding = i == 0, .head = i == chunks - 1});
        at += count;
    }
    job.stages.resize(static_cast<std::size_t>(c.degrees.pp));
    for (int i = 0; i < chunks; ++i) {
        job.stages[static_cast<std::size_t>(i % c.degrees.pp)].push_back(
            flat[static_cast<std::size_t>(i)]);
    }
    return job;
}

void run(benchmark::State& state, const Job& job) {
    const WorkloadTrace trace = build_trace(job.model, job.stack, trace_shape(job));
    for (auto _ : state) {
        benchmark::DoNotOptimize(lower(job, trace));
    }
}

void lower_gpt3_175b(benchmark::State& state) {
    Job job = job_of({.model = model_of(96, 12288, 96, 49152, false),
                      .degrees = {.tp = 8, .pp = 8, .vpp = 6, .dp = 16},
                      .micro_batches = 96});
    job.training.recompute = RecomputeKind::Full;
    run(state, job);
}
BENCHMARK(lower_gpt3_175b)->Unit(benchmark::kMillisecond);

void lower_llama_405b(benchmark::State& state) {
    Job job = job_of({.model = model_of(126, 16384, 128, 53248, true),
                      .degrees = {.tp = 8, .pp = 16, .vpp = 7, .dp = 128, .shard = 128},
                      .micro_batches = 16,
                      .sequence = 8192});
    job.parallel.sharding.kind = ShardingKind::Zero1;
    run(state, job);
}
BENCHMARK(lower_llama_405b)->Unit(benchmark::kMillisecond);

void lower_llama_70b_fsdp(benchmark::State& state) {
    Job job = job_of({.model = model_of(80, 8192, 64, 28672, true),
                      .degrees = {.dp = 64, .shard = 64},
                      .micro_batches = 2,
                      .sequence = 8192});
    job.parallel.sharding.kind = ShardingKind::Fsdp;
    job.stack.overlap.parameter_gather = true;
    run(state, job);
}
BENCHMARK(lower_llama_70b_fsdp)->Unit(benchmark::kMillisecond);

}  // namespace
