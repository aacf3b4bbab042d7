#pragma once
// Two runs of the same case are equal to the picosecond.
#include <vector>

#include <doctest/doctest.h>

#include "sim/run/engine.h"

namespace memwall::testing {

inline void check_rank(const RankClass& a, const RankClass& b) {
    const Breakdown& x = a.breakdown;
    const Breakdown& y = b.breakdown;
    CHECK(x.compute == y.compute);
    CHECK(x.recompute == y.recompute);
    CHECK(x.optimizer == y.optimizer);
    CHECK(x.exposed == y.exposed);
    CHECK(x.bubble == y.bubble);
    CHECK(x.imbalance == y.imbalance);
    CHECK(x.host == y.host);
    CHECK(x.idle == y.idle);
    CHECK(x.interference == y.interference);
    CHECK(a.communication == b.communication);
    CHECK(a.finished == b.finished);
}

inline void check_sums(const Played& played) {
    REQUIRE(played.deadlock.empty());
    REQUIRE(played.step_ends.size() == 2);
    for (const RankClass& rank : played.ranks) {
        CHECK(rank.breakdown.sum() == played.step_ends[1] - played.step_ends[0]);
    }
}

// plain: of unfolded ranks. other: of the classes that `class_of` leads to.
inline void check_equal(const Played& plain,
                        const Played& other,
                        const std::vector<std::uint32_t>& class_of) {
    CHECK(plain.step_ends == other.step_ends);
    std::vector<std::uint64_t> members(other.ranks.size());
    for (std::size_t r = 0; r < plain.ranks.size(); ++r) {
        CAPTURE(r);
        check_rank(plain.ranks[r], other.ranks[class_of[r]]);
        ++members[class_of[r]];
    }
    for (std::size_t c = 0; c < members.size(); ++c) {
        CHECK(members[c] == other.ranks[c].multiplicity);
    }
}

}  // namespace memwall::testing
