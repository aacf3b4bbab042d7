#include "sim/hardware/memory_bound.h"

#include <tuple>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "tests/hardware/gpus.h"

using namespace memwall;
using namespace memwall::tests;

namespace {

KernelBreakdown time_of(const Gpu& gpu, MemoryKind kind, std::int64_t bytes, int blocks = 0) {
    return memory_bound_time(gpu, {.kind = kind, .bytes = Bytes(bytes)}, {.blocks = blocks});
}

}  // namespace

// 2 us + 800e6 B / (1000 GB/s x 0.8) = 1002 us.
TEST_CASE("a streaming kernel takes its fixed part and its bytes at the reached rate") {
    const auto t = time_of(round_gpu(), MemoryKind::Elementwise, 800'000'000);
    CHECK(t.duration == us(1002));
    CHECK(std::string(t.limit) == "memory");
    CHECK(t.efficiency == doctest::Approx(0.8 * 1000 / 1002).epsilon(1e-9));
}

TEST_CASE("a small streaming kernel is its fixed part") {
    const auto t = time_of(round_gpu(), MemoryKind::Elementwise, 1);
    CHECK(t.duration > us(2));
    CHECK(t.duration < us(2.001));
    CHECK(std::string(t.limit) == "fixed");
}

TEST_CASE("kinds have their own constants and else those of elementwise kernels") {
    CHECK(time_of(round_gpu(), MemoryKind::Softmax, 500'000'000).duration == us(1003));
    for (const MemoryKind kind : {MemoryKind::Norm,
                                  MemoryKind::NormBackward,
                                  MemoryKind::Reduction,
                                  MemoryKind::Embedding,
                                  MemoryKind::CrossEntropy,
                                  MemoryKind::Optimizer,
                                  MemoryKind::Cast}) {
        CHECK(time_of(round_gpu(), kind, 800'000'000).duration == us(1002));
    }
}

TEST_CASE("more bytes never take less time") {
    Duration before{};
    for (std::int64_t bytes = 1; bytes < (1LL << 40); bytes = bytes * 3 + 1) {
        const Duration t = time_of(a100(), MemoryKind::Elementwise, bytes).duration;
        CHECK(t > before);
        before = t;
    }
}

TEST_CASE("without an occupancy table the rate falls with the SMs lost") {
    // 75 of 100 SMs: 1000 us of streaming become 1333.3.
    CHECK(in_us(time_of(round_gpu(), MemoryKind::Elementwise, 800'000'000, 25).duration) ==
          doctest::Approx(2 + 1000 / 0.75).epsilon(1e-9));
}

// Rows of te42kyfo/gpu-benches gpu-stream, A100-80G: 0.592 at a quarter of the threads, 0.969 at three quarters.
TEST_CASE("the occupancy table is met at its points and interpolated between them") {
    const auto table = a100().occupancy;
    CHECK(occupancy_rate(table, 0.25) == doctest::Approx(0.592));
    CHECK(occupancy_rate(table, 0.75) == doctest::Approx(0.969));
    CHECK(occupancy_rate(table, 0.625) == doctest::Approx((0.911 + 0.969) / 2));
    CHECK(occupancy_rate(table, 0.125) == doctest::Approx(0.592 / 2));
    CHECK(occupancy_rate(table, 0) == 0);
    CHECK(occupancy_rate(table, 1) == doctest::Approx(1));
    CHECK(occupancy_rate({}, 0.3) == doctest::Approx(0.3));
    CHECK(occupancy_rate({{.threads = 0.2, .rate = 1}}, 0.6) == doctest::Approx(1));
    CHECK(occupancy_rate({{.threads = 1, .rate = 1}}, 1) == doctest::Approx(1));
}

TEST_CASE("an A100 keeps 97 % of its memory rate beside 24 communication blocks") {
    const double alone = in_us(time_of(a100(), MemoryKind::Elementwise, 1 << 30).memory);
    CHECK(in_us(time_of(a100(), MemoryKind::Elementwise, 1 << 30, 24).memory) ==
          doctest::Approx(alone / 0.9721).epsilon(0.001));
}

TEST_CASE("SMs held by communication never make a streaming kernel faster") {
    for (const Gpu& gpu : {a100(), round_gpu()}) {
        Duration before{};
        for (int blocks = 0; blocks < gpu.sms; ++blocks) {
            const Duration t = time_of(gpu, MemoryKind::Elementwise, 1 << 26, blocks).duration;
            CHECK(t >= before);
            before = t;
        }
    }
}

// NVIDIA/cudnn-frontend benchmark/norms, H200, cuDNN RMSNorm, 16384 x 4096 bf16: 268 MB forward in 70-72 us, 403 MB backward
// in 106-118 us; 168 MB forward in 45 us.
TEST_CASE("published norms on H200 are met within the spread of their rows") {
    CHECK(in_us(time_of(h200(), MemoryKind::Norm, 268'435'456).duration) ==
          doctest::Approx(71).epsilon(0.05));
    CHECK(in_us(time_of(h200(), MemoryKind::Norm, 167'772'160).duration) ==
          doctest::Approx(45).epsilon(0.05));
    CHECK(in_us(time_of(h200(), MemoryKind::NormBackward, 402'653'184).duration) ==
          doctest::Approx(112).epsilon(0.06));
}

TEST_CASE("a streaming kernel without bytes or without constants is a bug of the caller") {
    CHECK_THROWS_AS(std::ignore = time_of(a100(), MemoryKind::Elementwise, 0), BugError);
    CHECK_THROWS_AS(std::ignore = time_of(a100(), MemoryKind::Elementwise, -4), BugError);
    CHECK_THROWS_AS(std::ignore = time_of(a100(), MemoryKind::Elementwise, 4, 108), BugError);
    CHECK_THROWS_AS(std::ignore = time_of(a100(), MemoryKind::Elementwise, 4, -1), BugError);
    Gpu gpu = a100();
    gpu.memory_kernels.clear();
    CHECK_THROWS_AS(std::ignore = time_of(gpu, MemoryKind::Elementwise, 4), BugError);
    gpu = a100();
    gpu.hbm = Bandwidth(0);
    CHECK_THROWS_AS(std::ignore = time_of(gpu, MemoryKind::Elementwise, 4), BugError);
}
