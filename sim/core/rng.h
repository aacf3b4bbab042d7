#pragma once
// Random numbers without state: a draw is a function of (seed, subject, index), so that one more consumer, another order
// or another number of threads never changes anybody's numbers.
//   draw = mix(key ^ mix(index + g)),  key = mix(mix(seed + g) + subject g)       mix: SplitMix64 finaliser, g: golden
// Why not Philox: ten rounds against a statistical adversary that a jitter model does not have. Why the inner mix: with
// key + index g two subjects would walk the same sequence at different offsets.
#include <cstdint>

#include "sim/core/hash.h"

namespace memwall {

// Who draws: keep subjects of different consumers apart by hashing a name in, e.g. Hasher().add("straggler").add(rank).
struct Draw {
    std::uint64_t seed = 0;
    std::uint64_t subject = 0;
    std::uint64_t index = 0;
};

constexpr std::uint64_t draw(Draw at) {
    const std::uint64_t key = mix64(mix64(at.seed + kGolden64) + at.subject * kGolden64);
    return mix64(key ^ mix64(at.index + kGolden64));
}

// In [0, 1), a multiple of 2^-53.
constexpr double draw_unit(Draw at) {
    return static_cast<double>(draw(at) >> 11U) * 0x1p-53;
}

// In [0, n), n > 0; the bias is below n / 2^32.
constexpr std::uint32_t draw_below(Draw at, std::uint32_t n) {
    return static_cast<std::uint32_t>(((draw(at) >> 32U) * n) >> 32U);
}

}  // namespace memwall
