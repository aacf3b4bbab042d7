#pragma once
// The library's own estimate of a variant's time. It decides which variant runs inside one node, and is never a time:
// it is 14 - 35 % off. Across nodes its table is untested against measurements, so the least modelled time is taken.
#include <vector>

#include "sim/collectives/nccl/laws.h"

namespace memwall {

struct NcclCandidate {
    Variant variant;
    double nominal_us = 0;  // 0: no nominal formula, single candidate or several nodes
    LawTime time;
};

// Ring in one protocol, or NVLS; one node.
[[nodiscard]] double nominal_us(const NcclView& view,
                                CollectiveKind kind,
                                Variant variant,
                                double bytes);

// All variants that can run `kind` on this group, or only those of `named` (None: all that the library considers).
[[nodiscard]] std::vector<NcclCandidate> nccl_candidates(const NcclView& view,
                                                         CollectiveKind kind,
                                                         Algorithm named,
                                                         double bytes);
// Index of the one that runs.
[[nodiscard]] std::size_t nccl_choice(const std::vector<NcclCandidate>& candidates);

}  // namespace memwall
