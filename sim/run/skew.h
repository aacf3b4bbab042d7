#pragma once
// What a step adds to a collective that was measured alone, back to back on ranks in step with each other.
//   t = t_alone + s ceil(log2 n)          s: StackHost::collective_skew, n: ranks of the group
// The members come at different instants and all wait for the last: the largest of n independent delays grows as log n.
// Neglects: the kind of call, and that one late rank makes all of its groups late. Fidelity stepwise plays messages alone and
// has no skew.
#include <bit>

#include "sim/collectives/transfer.h"
#include "sim/spec/plan.h"

namespace memwall {

// Of a group; an ideal network knows none.
[[nodiscard]] inline Duration skew_of(const Machine& machine, const Stack& stack, int ranks) {
    return machine.fidelity == Fidelity::Ideal
               ? Duration{}
               : stack.host.collective_skew * std::bit_width(static_cast<unsigned>(ranks - 1));
}

// Calls that move nothing have no skew.
[[nodiscard]] inline CollectiveTime in_step(CollectiveTime time,
                                            const Machine& machine,
                                            const Stack& stack,
                                            int ranks) {
    if (time.variant.algorithm != Algorithm::None) {
        const Duration skew = skew_of(machine, stack, ranks);
        time.delay += skew;
        time.alone += skew;
    }
    return time;
}

}  // namespace memwall
