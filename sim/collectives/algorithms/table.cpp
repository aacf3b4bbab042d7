#include <algorithm>
#include <array>
#include <cmath>

#include "sim/collectives/algorithms/algorithms.h"
#include "sim/core/check.h"

namespace memwall {

std::span<const AlgorithmEntry> algorithms() {
    static const std::array<AlgorithmEntry, 6> table = {
        ring_entry(),
        tree_entry(),
        hierarchical_entry(),
        nvls_entry(),
        pairwise_entry(),
        shift_entry(),
    };
    return table;
}

const AlgorithmEntry& entry_of(Algorithm algorithm) {
    for (const AlgorithmEntry& entry : algorithms()) {
        if (entry.algorithm == algorithm) {
            return entry;
        }
    }
    bug(__FILE__, __LINE__, "no such collective algorithm in the table");
}

Algorithm default_algorithm(CollectiveKind kind) {
    return kind == CollectiveKind::AllToAll ? Algorithm::Pairwise
           : kind == CollectiveKind::Shift  ? Algorithm::PointToPoint
                                            : Algorithm::Ring;
}

int best_pieces(const Pipeline& pipeline) {
    constexpr double kMost = 64;
    if (pipeline.depth <= 1 || pipeline.bytes_seconds <= 0) {
        return 1;
    }
    if (pipeline.latency <= 0) {
        return static_cast<int>(kMost);
    }
    const double best = std::sqrt((pipeline.depth - 1) * pipeline.bytes_seconds / pipeline.latency);
    return static_cast<int>(std::clamp(std::round(best), 1.0, kMost));
}

double longest_latency(const GroupShape& shape, const HopRates& rates) {
    if (shape.nodes == 1) {
        return rates.latency_in;
    }
    return shape.ranks_per_node > 1 ? std::max(rates.latency_in, rates.latency_across)
                                    : rates.latency_across;
}

}  // namespace memwall
