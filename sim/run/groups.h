#pragma once
// The process groups of a job under the order of ranks tp, cp, dp, pp, innermost first.
#include <algorithm>
#include <cstdint>

#include "sim/spec/collective.h"
#include "sim/spec/plan.h"

namespace memwall {

struct JobRanks {
    std::uint32_t first = 0;
    std::uint32_t tp = 1;
    std::uint32_t cp = 1;
    std::uint32_t dp = 1;
    std::uint32_t pp = 1;
    // d counts over dp x cp, cp innermost
    [[nodiscard]] std::uint32_t at(std::uint32_t t, std::uint32_t d, std::uint32_t s) const {
        return first + t + tp * (d + cp * dp * s);
    }
};

[[nodiscard]] inline JobRanks ranks_of(const Degrees& d, std::uint32_t first) {
    const auto count = [](int degree) { return static_cast<std::uint32_t>(degree); };
    return {first, count(d.tp), count(d.cp), count(d.dp), count(d.pp)};
}

// Ranks `from`, `from + step`, ...: n of them.
struct GroupRanks {
    GroupRole role = GroupRole::Tp;
    std::uint32_t from = 0;
    std::uint32_t n = 1;
    std::uint32_t step = 1;
};

// f(GroupRanks) for every group of the tp role, and of each role for which used(role).
template <class Used, class F>
void for_each_group(const JobRanks& ranks, const Degrees& degrees, Used used, F f) {
    const auto [first, tp, cp, dp, pp] = ranks;
    const std::uint32_t data = cp * dp;
    const auto shard = std::clamp(static_cast<std::uint32_t>(std::max(1, degrees.shard)), 1U, data);
    const auto ep = std::clamp(static_cast<std::uint32_t>(std::max(1, degrees.ep)), 1U, data);
    const auto group =
        [&](GroupRole role, std::uint32_t from, std::uint32_t n, std::uint32_t step) {
            f(GroupRanks{role, from, n, step});
        };
    for (std::uint32_t s = 0; s < pp; ++s) {
        for (std::uint32_t d = 0; d < data; ++d) {
            group(GroupRole::Tp, ranks.at(0, d, s), tp, 1);
        }
        for (std::uint32_t t = 0; t < tp; ++t) {
            for (std::uint32_t d = 0; d < data && used(GroupRole::Cp); d += cp) {
                group(GroupRole::Cp, ranks.at(t, d, s), cp, tp);
            }
            if (used(GroupRole::Dp)) {
                group(GroupRole::Dp, ranks.at(t, 0, s), data, tp);
            }
            for (std::uint32_t d = 0; d < data && used(GroupRole::Shard); d += shard) {
                group(GroupRole::Shard, ranks.at(t, d, s), shard, tp);
            }
            for (std::uint32_t d = 0; d < shard && used(GroupRole::Replicate); ++d) {
                group(GroupRole::Replicate, ranks.at(t, d, s), data / shard, tp * shard);
            }
            for (std::uint32_t d = 0; d < data && used(GroupRole::Ep); d += ep) {
                group(GroupRole::Ep, ranks.at(t, d, s), ep, tp);
            }
        }
    }
    for (std::uint32_t d = 0; d < data; ++d) {
        for (std::uint32_t t = 0; t < tp; ++t) {
            if (used(GroupRole::Pp)) {
                group(GroupRole::Pp, ranks.at(t, d, 0), pp, tp * data);
            }
            if (used(GroupRole::Embedding)) {
                group(
                    GroupRole::Embedding, ranks.at(t, d, 0), pp > 1 ? 2 : 1, tp * data * (pp - 1));
            }
        }
    }
    if (used(GroupRole::World)) {
        group(GroupRole::World, first, tp * data * pp, 1);
    }
}

}  // namespace memwall
