// Time of one kernel-time query without memoisation: a plan asks once per distinct kernel.
#include <benchmark/benchmark.h>

#include "sim/hardware/kernel_time.h"
#include "tests/hardware/gpus.h"

namespace {

using namespace memwall;
using namespace memwall::tests;

void gemm(benchmark::State& state, const Gpu& gpu) {
    std::int64_t k = 0;
    for (auto _ : state) {
        k = k % 4096 + 64;
        benchmark::DoNotOptimize(kernel_time(gpu, Gemm{.m = 8192, .n = 12288, .k = 4096 + k}));
    }
}
BENCHMARK_CAPTURE(gemm, one_cta_tiles, a100());
BENCHMARK_CAPTURE(gemm, two_cta_tiles, h100());

void attention(benchmark::State& state) {
    const Gpu gpu = h200();
    std::int64_t length = 0;
    for (auto _ : state) {
        length = length % 4096 + 128;
        benchmark::DoNotOptimize(kernel_time(gpu,
                                             Attention{.batch = 1,
                                                       .heads = 32,
                                                       .kv_heads = 8,
                                                       .queries = length,
                                                       .keys = length,
                                                       .head_dim_qk = 128,
                                                       .head_dim_v = 128,
                                                       .kind = AttentionKind::Cudnn}));
    }
}
BENCHMARK(attention);

void memory_bound(benchmark::State& state) {
    const Gpu gpu = a100();
    std::int64_t bytes = 0;
    for (auto _ : state) {
        bytes = bytes % (1 << 28) + 4096;
        benchmark::DoNotOptimize(kernel_time(gpu, MemoryBound{.bytes = Bytes(bytes)}, 24));
    }
}
BENCHMARK(memory_bound);

}  // namespace
