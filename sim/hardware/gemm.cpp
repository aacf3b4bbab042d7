#include "sim/hardware/gemm.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "sim/core/check.h"
#include "sim/hardware/law.h"
#include "sim/hardware/rates.h"

namespace memwall {
namespace {

struct Tile {
    int m = 0;
    int n = 0;
};
constexpr std::array<Tile, 7> kTiles{
    {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {256, 256}}};
constexpr std::size_t kOneCtaTiles = 6;  // the last one needs two cooperating CTAs
constexpr std::array<int, 4> kSplits{1, 2, 4, 8};
constexpr std::int64_t kDepthStep = 64;       // k is walked in steps of 64 elements
constexpr std::int64_t kSplitDepthMin = 128;  // a part of k is at least this deep
constexpr double kFullTile =
    256.0 * 128.0 / (256.0 + 128.0);    // 85.33: products per operand element of a full tile
constexpr double kPartialSumBytes = 8;  // an fp32 partial sum is written and read

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

// A choice of tile and split with its time before the power limit.
struct Tiling {
    double us = std::numeric_limits<double>::infinity();
    double waves = 0;
    Tile tile;
    int split = 1;
};

struct Device {
    double sms = 0;       // all: the rate P is spread over them
    double free_sms = 0;  // those that compute kernels may use
};

Tiling best_tiling(const GemmTiling& law, const GemmRates& rates, const Gemm& g, Device device) {
    Tiling best;
    const double products =
        static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.batch);
    const double partial_us = products * kPartialSumBytes / per_us(rates.memory);
    const double full_efficiency = 1 + law.tile_starvation / kFullTile;
    const std::size_t tiles = law.two_cta_tile ? kTiles.size() : kOneCtaTiles;
    for (std::size_t i = 0; i < tiles; ++i) {
        const Tile tile = kTiles[i];
        const double area = static_cast<double>(tile.m) * tile.n;
        const double e = full_efficiency / (1 + law.tile_starvation * (tile.m + tile.n) / area);
        const double us_per_depth = 2 * area * device.sms / (per_us(rates.burst) * e);
        const double count = static_cast<double>(ceil_div(g.m, tile.m)) *
                             static_cast<double>(ceil_div(g.n, tile.n)) *
                             static_cast<double>(g.batch);
        for (const int s : kSplits) {
            if (s > 1 && g.k / s < kSplitDepthMin) {
                break;
            }
            const double w = count * s / device.free_sms;
            const double weff = law.wave_hardness * std::max(std::ceil(w), 1.0) +
                                (1 - law.wave_hardness) * std::max(w, 1.0);
            const double depth =
                static_cast<double>(kDepthStep * ceil_div(g.k, kDepthStep * s)) + rates.prologue_k;
            const double us = weff * us_per_depth * depth + (s > 1 ? s * partial_us : 0.0);
            if (us < best.us) {
                best = {.us = us, .waves = w, .tile = tile, .split = s};
            }
        }
    }
    return best;
}

double memory_us(const Gpu& gpu, const GemmRates& rates, const Gemm& g) {
    const double eb = bytes_per_element(g.dtype);
    const auto m = static_cast<double>(g.m);
    const auto n = static_cast<double>(g.n);
    const auto k = static_cast<double>(g.k);
    const auto nb = static_cast<double>(g.batch);
    const double weights = nb * n * k * eb;
    const double activations = nb * (m * k * eb + m * n * g.output_bytes);
    const auto l2 = static_cast<double>(gpu.l2.value);
    const double window =
        l2 > 0 ? std::clamp((1.2 * l2 - weights - activations) / (0.4 * l2), 0.0, 1.0) : 0.0;
    const double hit = gpu.gemm_tiling.l2_hit * window;
    return (weights + activations * (1 - hit)) / per_us(rates.memory);
}

double role_factor(const GemmRoleFactors& factors, GemmRole role) {
    switch (role) {
    case GemmRole::Forward:
        return factors.forward;
    case GemmRole::InputGradient:
        return factors.input_gradient;
    case GemmRole::WeightGradient:
        return factors.weight_gradient;
    }
    return 1;
}

// Of rows that vector loads cannot read, and of rows that fill no whole tile. Known of batched products alone.
double alignment_factor(const GemmTiling& law, const Gemm& g) {
    const auto off = [&](std::int64_t multiple) {
        return g.n % multiple != 0 || g.k % multiple != 0;
    };
    if (g.batch == 1) {
        return 1;
    }
    return off(8) ? law.batched_unaligned : off(64) ? law.batched_off_64 : 1;
}

void check(const Gpu& gpu, const Gemm& g, const KernelConditions& conditions) {
    MW_CHECK(g.m > 0, "gemm: m must be positive");
    MW_CHECK(g.n > 0, "gemm: n must be positive");
    MW_CHECK(g.k > 0, "gemm: k must be positive");
    MW_CHECK(g.batch > 0, "gemm: batch must be positive");
    MW_CHECK(g.output_bytes > 0, "gemm: output bytes must be positive");
    MW_CHECK(conditions.blocks >= 0, "gemm: communication blocks must not be negative");
    MW_CHECK(conditions.blocks < gpu.sms,
             "gemm: communication blocks must leave an SM of " + gpu.name);
}

}  // namespace

KernelBreakdown gemm_time(const Gpu& gpu, const Gemm& g, const KernelConditions& conditions) {
    check(gpu, g, conditions);
    const auto chosen = gemm_rates(gpu, g.dtype, conditions.clock);
    MW_CHECK(chosen.has_value(),
             "gemm: no arithmetic of this dtype on " + gpu.name + "; ask unsupported() first");
    const GemmRates& rates = chosen->rates;

    // Step 1. Tiles in waves on the SMs that communication leaves free.
    const Device device{.sms = static_cast<double>(gpu.sms),
                        .free_sms = static_cast<double>(gpu.sms - conditions.blocks)};
    const Tiling tiling = best_tiling(gpu.gemm_tiling, rates, g, device);

    // Step 2. The clock under power limit, and the cap on flops.
    const double flops = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
                         static_cast<double>(g.k) * static_cast<double>(g.batch);
    const ClockDrop clock{.drop = rates.clock_drop,
                          .reaction_us = us_of(rates.reaction),
                          .burst = conditions.clock == ClockState::Burst};
    const double cap = rates.sustained.value > 0 ? flops / per_us(rates.sustained) : 0.0;
    const double kept = conditions.clock == ClockState::Sustained ? rates.long_run : 1.0;
    const double compute = std::max(clock.applied_to(tiling.us), cap) / kept;

    // Step 3. Memory traffic and the fixed part.
    const double memory = memory_us(gpu, rates, g);
    double fixed = us_of(rates.fixed);
    if (conditions.quantise) {
        const double cast_bytes = static_cast<double>(g.m) * static_cast<double>(g.k) *
                                  static_cast<double>(g.batch) *
                                  (bytes_per_element(Dtype::Bf16) + bytes_per_element(g.dtype));
        fixed += us_of(rates.quantise_fixed) +
                 rates.quantise_traffic * cast_bytes / per_us(rates.memory);
    }
    const double role = role_factor(gpu.gemm_roles, g.role) * alignment_factor(gpu.gemm_tiling, g);
    const double total = role * (norm4(compute, memory) + fixed);

    const auto peak = gpu.peak.find(g.dtype);
    return {.duration = duration_from_us(total),
            .limit = compute >= memory ? (compute >= fixed ? "compute" : "fixed")
                                       : (memory >= fixed ? "memory" : "fixed"),
            .compute = duration_from_us(compute),
            .memory = duration_from_us(memory),
            .fixed = duration_from_us(fixed),
            .role = role,
            .tile_m = tiling.tile.m,
            .tile_n = tiling.tile.n,
            .split = tiling.split,
            .waves = tiling.waves,
            .efficiency = peak == gpu.peak.end() ? 0.0 : flops / (total * per_us(peak->second)),
            .rates_dtype = chosen->dtype,
            .rates_scaled = chosen->scaled};
}

}  // namespace memwall
