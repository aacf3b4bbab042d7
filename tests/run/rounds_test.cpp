// Rounds that are passed over must not change a picosecond of anything, nor a byte on a link.

#include <doctest/doctest.h>

#include "sim/run/engine.h"
#include "sim/run/fold.h"
#include "tests/run/same_run.h"
#include "tests/run/synthetic.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

// How many cases have rounds, and how many of them end with fewer events than when every round is played.
struct Tally {
    int with_rounds = 0;
    int passed_over = 0;
    int drained = 0;
};

void compare(Folded run, Tally& tally) {
    const bool rounds = !run.bound.code.rounds.empty();
    const bool drained = rounds && run.bound.code.rounds.front().drains > 0;
    const Played fast = play(run.bound);
    run.bound.code.rounds.clear();
    const Played whole = play(run.bound);
    check_sums(whole);
    REQUIRE(fast.ranks.size() == whole.ranks.size());
    CHECK(fast.step_ends == whole.step_ends);
    for (std::size_t r = 0; r < whole.ranks.size(); ++r) {
        CAPTURE(r);
        check_rank(whole.ranks[r], fast.ranks[r]);
    }
    CHECK(fast.ops == whole.ops);
    CHECK(fast.link_bytes == whole.link_bytes);
    tally.with_rounds += rounds ? 1 : 0;
    tally.passed_over += fast.events < whole.events ? 1 : 0;
    tally.drained += drained && fast.events < whole.events ? 1 : 0;
}

}  // namespace

TEST_CASE("rounds that are passed over change nothing") {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        CAPTURE(seed);
        const SyntheticCase c = repeating_case(seed);
        compare(unfolded(bind_synthetic(c, true)), tally);
        compare(fold(bind_synthetic(c, true)), tally);
    }
    // The cases are not all of one kind: many have rounds, and many of those are passed over.
    MESSAGE(tally.with_rounds << " with rounds, " << tally.passed_over << " passed over, "
                              << tally.drained << " with drains");
    CHECK(tally.with_rounds > 1500);
    CHECK(tally.passed_over > 500);
    CHECK(tally.drained > 100);
}
