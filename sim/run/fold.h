#pragma once
// Folds ranks that cannot be told apart: one rank per class is simulated (design.md section 8).
//
// Colours are refined over ranks, groups, transfers and links until no class splits: ranks by program, device kind, groups
// and peers; groups by their members; transfers by time and links; links by capacity and what they carry. That partition is
// equitable, which is enough: a rendezvous asks which classes have come, and progressive filling only sums what is on a link.
// On a link of a class, a folded transfer stands for all transfers of its class there: coefficients add up.
#include <cstdint>
#include <vector>

#include "sim/run/bound.h"

namespace memwall {

struct Folded {
    Bound bound;
    std::vector<std::uint32_t> class_of;  // rank of the original -> rank of `bound`
};

[[nodiscard]] Folded fold(Bound bound);
[[nodiscard]] Folded unfolded(Bound bound);

}  // namespace memwall
