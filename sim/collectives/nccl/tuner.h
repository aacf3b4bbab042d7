#pragma once
// The library's own estimate of a variant's time. It decides which variant runs, and is never a time: it is 14 - 35 %
// off. Across nodes with NVLS in them the least modelled time is taken: the rows there are met by it, and the table is not
// known for the tree between switches.
#include <vector>

#include "sim/collectives/nccl/laws.h"

namespace memwall {

struct NcclCandidate {
    Variant variant;
    double nominal_us = 0;  // 0: no nominal formula, or a single candidate
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
