#pragma once
// Minimum cut between two halves of the endpoints of a tree of switches, by one pass from the leaves up.
//
// At each switch what the first half can still send and the second half can still take below it are matched first; what
// is left of the first goes up, at most the up-link; the second can take from above what is left of it, at most the
// down-link. Matching below first loses nothing: two units that cross at a switch, one up and one down, can be turned back
// there, which frees the links above and leaves their partners to each other. So the flow found is maximal, and equals the
// minimum cut (Ford & Fulkerson, 1956). Tested against Boost's push-relabel.
#include <algorithm>
#include <vector>

namespace memwall {

// Rates in bytes per second: what the first half can send into, and the second half take out of, one switch from below.
struct HalfFlow {
    double send = 0;
    double take = 0;
    HalfFlow& operator+=(const HalfFlow& o) {
        send += o.send;
        take += o.take;
        return *this;
    }
};

// Matches at one switch; adds to `crossing` and returns what is left for the switch above.
inline HalfFlow cross(HalfFlow below, double up, double& crossing) {
    const double here = std::min(below.send, below.take);
    crossing += here;
    return {std::min(below.send - here, up), std::min(below.take - here, up)};
}

}  // namespace memwall
