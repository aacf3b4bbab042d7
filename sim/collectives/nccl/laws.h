#pragma once
// Times of NCCL collectives, by algorithm and protocol: the measured laws. Which variant the library picks is the
// tuner's business (tuner.h). Times in microseconds, bytes in the convention of CollectiveCall.
#include "sim/collectives/nccl/view.h"
#include "sim/collectives/transfer.h"

namespace memwall {

struct LawTime {
    double total = 0;
    double flow =
        0;  // the part during which bytes move; before it the kernel is there and the links are not used
};

// Inside one node (in_node.cpp).
[[nodiscard]] LawTime ring_in_node(const NcclView& view,
                                   CollectiveKind kind,
                                   Protocol protocol,
                                   double bytes);
[[nodiscard]] LawTime nvls_in_node(const NcclView& view, double bytes);
// Across nodes (across.cpp); tree_across also inside one node, with no network part.
[[nodiscard]] LawTime ring_across(const NcclView& view,
                                  CollectiveKind kind,
                                  Protocol protocol,
                                  double bytes);
[[nodiscard]] LawTime tree_across(const NcclView& view, Protocol protocol, bool nvls, double bytes);
// Broadcast (broadcast.cpp) and all-to-all (all_to_all.cpp), both.
[[nodiscard]] LawTime broadcast_law(const NcclView& view, Protocol protocol, double bytes);
[[nodiscard]] LawTime all_to_all_law(const NcclView& view, double bytes);
[[nodiscard]] Protocol all_to_all_protocol(const NcclView& view, double bytes);
// Shift (shift.cpp), both. Raw rates of the hops are in the shape.
[[nodiscard]] LawTime shift_law(const NcclView& view, const GroupShape& shape, double bytes);
[[nodiscard]] Protocol shift_protocol(const NcclView& view, double bytes);

// Ring steps: N.
[[nodiscard]] double ring_steps(CollectiveKind kind, double n);
// A smooth maximum of two regimes: (a^k + b^k)^(1/k).
[[nodiscard]] double smooth_max(double a, double b, double k);
// F (1 - exp(-rate w / F)): time lost while a pipeline fills, saturating at F.
[[nodiscard]] double filling(double fill, double rate, double work);

}  // namespace memwall
