#pragma once
// Turns a time law into a delay and a rate cap, in whole picoseconds.
#include "sim/collectives/transfer.h"

namespace memwall {

// Seconds: what the transfer takes alone, and the part of it during which bytes move.
struct LawSplit {
    double total = 0;
    double flow = 0;
};

// delay + ceil(bytes / cap) = alone: the cap is raised by 2^-44, far above the rounding of the division and below a
// quarter of a picosecond, so that ceil() ends on the picosecond it is meant to (exact for transfers below 1000 s).
void set_split(CollectiveTime& time, LawSplit law, Bytes bytes);

// Weight of an activity with `flows` channels on its busiest link, which carries `load` bytes per byte of message.
[[nodiscard]] std::int64_t weight_of(double flows, double load);

}  // namespace memwall
