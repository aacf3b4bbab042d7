// The engine against a second one that was written from the definition of programs and nothing else.
#include <doctest/doctest.h>

#include "sim/run/engine.h"
#include "tests/run/naive.h"

using namespace memwall;
using namespace memwall::testing;

TEST_CASE("an engine written from the definition alone gives the same picoseconds") {
    for (std::uint64_t seed = 5001; seed <= 5120; ++seed) {
        CAPTURE(seed);
        const SyntheticCase c = random_case(seed);
        Bound bound = bind_synthetic(c, true);
        const NaiveResult naive = play_naively(c, bound);
        const Played played = play(bound);
        REQUIRE(!naive.deadlock);
        REQUIRE(played.step_ends.size() == 2);
        for (std::size_t s = 0; s < 2; ++s) {
            CHECK(played.step_ends[s].time_since_epoch().count() == naive.step_ends[s]);
        }
        for (std::size_t r = 0; r < played.ranks.size(); ++r) {
            const Breakdown& b = played.ranks[r].breakdown;
            CHECK((b.compute + b.recompute + b.optimizer).count() == naive.compute[r]);
            CHECK(played.ranks[r].finished.time_since_epoch().count() == naive.finished[r]);
        }
    }
}
