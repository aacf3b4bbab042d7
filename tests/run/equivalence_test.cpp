// The plain engine plays every op of every rank as an event. Pieces played at one go, and classes of ranks played as one,
// must give the same picoseconds.
#include <algorithm>

#include <doctest/doctest.h>

#include "sim/run/engine.h"
#include "sim/run/fold.h"
#include "tests/run/same_run.h"
#include "tests/run/synthetic.h"

using namespace memwall;
using namespace memwall::testing;

TEST_CASE("coalesced, folded and plain runs of random programs are equal to the picosecond") {
    std::uint64_t plain_events = 0;
    std::uint64_t coalesced_events = 0;
    std::size_t ranks = 0;
    std::size_t classes = 0;
    std::size_t leading = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        CAPTURE(seed);
        const SyntheticCase c = random_case(seed);
        Folded plain = unfolded(bind_synthetic(c, false));
        Folded coalesced = unfolded(bind_synthetic(c, true));
        Folded folded = fold(bind_synthetic(c, false));
        Folded both = fold(bind_synthetic(c, true));
        const Played reference = play(plain.bound);
        check_sums(reference);
        const Played a = play(coalesced.bound);
        const Played b = play(folded.bound);
        const Played d = play(both.bound);
        check_equal(reference, a, coalesced.class_of);
        check_equal(reference, b, folded.class_of);
        check_equal(reference, d, both.class_of);
        CHECK(reference.ops == a.ops);
        CHECK(b.ops == d.ops);
        CHECK(reference.link_bytes == a.link_bytes);
        plain_events += reference.events;
        coalesced_events += a.events;
        const auto& pieces = both.bound.code.pieces;
        leading += static_cast<std::size_t>(std::count_if(
            pieces.begin(), pieces.end(), [](const Piece& p) { return p.leading_tp; }));
        ranks += plain.bound.ranks.size();
        classes += folded.bound.ranks.size();
    }
    // The cases are not all of one kind: a third of the events is saved, and half of the ranks.
    CHECK(coalesced_events * 3 < plain_events * 2);
    CHECK(classes * 2 < ranks);
    CHECK(leading > 100);
}
