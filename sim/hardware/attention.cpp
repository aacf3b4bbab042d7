#include "sim/hardware/attention.h"

#include <algorithm>
#include <bit>

#include "sim/core/check.h"
#include "sim/hardware/law.h"
#include "sim/hardware/rates.h"

namespace memwall {
namespace {

constexpr std::int64_t kQueryTile = 128;  // rows
constexpr double kTail = 0.75;            // mean share of a tile by which the last SM ends later
constexpr double kReactionUs = 1000;      // of the power controller, in burst sweeps
constexpr std::int64_t kWideHead = 128;   // above it kernels need smaller tiles

void check(const Gpu& gpu, const Attention& a, const KernelConditions& conditions) {
    MW_CHECK(a.batch > 0, "attention: batch must be positive");
    MW_CHECK(a.heads > 0, "attention: heads must be positive");
    MW_CHECK(a.kv_heads > 0, "attention: kv heads must be positive");
    MW_CHECK(a.queries > 0, "attention: queries must be positive");
    MW_CHECK(a.keys > 0, "attention: keys must be positive");
    MW_CHECK(a.head_dim_qk > 0, "attention: head dimension of q and k must be positive");
    MW_CHECK(a.head_dim_v > 0, "attention: head dimension of v must be positive");
    MW_CHECK(a.window >= 0, "attention: window must not be negative");
    MW_CHECK(conditions.blocks >= 0, "attention: communication blocks must not be negative");
    MW_CHECK(conditions.blocks < gpu.sms,
             "attention: communication blocks must leave an SM of " + gpu.name);
}

// Mean number of keys that a query tile reads, masked ones of partly masked tiles included.
double mean_keys(const Attention& a, double query_tiles) {
    const auto keys = static_cast<double>(a.keys);
    const auto tile = static_cast<double>(kQueryTile);
    double mean = keys;
    if (a.causal) {
        // The last query sees the last key; with fewer queries than keys (a cache, a later chunk) the rest is all seen.
        const double before = std::max(keys - static_cast<double>(a.queries), 0.0);
        mean = before + tile * (query_tiles + 1) / 2;
    }
    if (a.window > 0) {
        const auto window = static_cast<double>(a.window);
        mean = std::min(mean, (a.causal ? window : 2 * window) + tile);
    }
    return mean;
}

}  // namespace

KernelBreakdown attention_time(const Gpu& gpu,
                               const Attention& a,
                               const KernelConditions& conditions) {
    check(gpu, a, conditions);
    const auto chosen =
        attention_rates(gpu, {.kind = a.kind, .backward = a.backward, .dtype = a.dtype});
    MW_CHECK(chosen.has_value(),
             "attention: no kernel of this dtype on " + gpu.name + "; ask unsupported() first");
    const AttentionRates& rates = chosen->rates;
    const auto sms = static_cast<double>(gpu.sms);
    const auto free_sms = static_cast<double>(gpu.sms - conditions.blocks);
    const auto padded = [&](std::int64_t dim) {
        return static_cast<double>(rates.padded_heads
                                       ? std::bit_ceil(static_cast<std::uint64_t>(dim))
                                       : static_cast<std::uint64_t>(dim));
    };
    const double dq = padded(a.head_dim_qk);
    const double dv = padded(a.head_dim_v);

    // Step 1. Time of one score element on one SM.
    const double flop_per_element = 2 * (a.backward ? 3 * dq + 2 * dv : dq + dv);
    double element = flop_per_element * sms / per_us(rates.matrix);
    if (rates.exponentials > 0) {
        element += sms / (rates.exponentials * 1e-6);
    }
    if (a.head_dim_qk > kWideHead) {
        element *= rates.wide_head_penalty;
    }

    // Step 2. All query tiles, and the longest one.
    const std::int64_t tiles_of_head = (a.queries - 1) / kQueryTile + 1;
    const auto query_tiles = static_cast<double>(tiles_of_head);
    const double keys = mean_keys(a, query_tiles);
    const double longest = a.window > 0 ? keys : std::max(static_cast<double>(a.keys), keys);
    const double tiles = static_cast<double>(a.batch) * static_cast<double>(a.heads) * query_tiles;
    const double overhead = us_of(rates.tile_overhead);
    const double work = tiles * (kQueryTile * keys * element + overhead) / free_sms;
    const double tile = kQueryTile * longest * element + overhead;
    const ClockDrop clock{.drop = rates.clock_drop,
                          .reaction_us = kReactionUs,
                          .burst = conditions.clock == ClockState::Burst};
    const double compute = clock.applied_to(std::max(work + kTail * tile, tile));

    // Step 3. Tensors read and written: q, k, v and o; backward also their gradients and q, k, v again.
    const double rows = static_cast<double>(a.batch) *
                        (static_cast<double>(a.queries) * static_cast<double>(a.heads) +
                         static_cast<double>(a.keys) * static_cast<double>(a.kv_heads));
    const double bytes = (a.backward ? 3 : 1) * bytes_per_element(a.dtype) * rows * (dq + dv);
    const double memory = bytes / per_us(rates.memory);
    const double fixed = us_of(rates.fixed);
    const double total = norm4(compute, memory) + fixed;

    const auto peak = gpu.peak.find(chosen->dtype);
    const double flops = tiles * kQueryTile * keys * flop_per_element;
    return {.duration = duration_from_us(total),
            .limit = compute >= memory ? (compute >= fixed ? "compute" : "fixed")
                                       : (memory >= fixed ? "memory" : "fixed"),
            .compute = duration_from_us(compute),
            .memory = duration_from_us(memory),
            .fixed = duration_from_us(fixed),
            .tile_m = static_cast<int>(kQueryTile),
            .waves = tiles / free_sms,
            .efficiency = peak == gpu.peak.end() ? 0.0 : flops / (total * per_us(peak->second)),
            .rates_dtype = chosen->dtype};
}

}  // namespace memwall
