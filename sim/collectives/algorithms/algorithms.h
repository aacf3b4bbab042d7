#pragma once
// The algorithms: one file each in this folder and one line each in the table (table.cpp).
// An algorithm returns data: its schedule, its closed form on raw rates (law: steps), and what it puts on links.
#include <span>
#include <string>
#include <vector>

#include "sim/collectives/schedule.h"
#include "sim/collectives/transfer.h"
#include "sim/collectives/usage.h"

namespace memwall {

// Seconds. total: what the schedule takes alone; flow: the message at the rate of the busiest port or NIC.
struct StepsTime {
    double total = 0;
    double flow = 0;
};

struct AlgorithmEntry {
    Algorithm algorithm = Algorithm::None;
    bool (*serves)(CollectiveKind kind) = nullptr;
    std::string (*obstacle)(const GroupShape& shape) =
        nullptr;  // why it cannot run under law: steps; empty = it can
    // pieces: how often the message is cut for pipelining; algorithms that do not pipeline ignore it.
    ChunkSchedule (*schedule)(const Layout& layout, CollectiveKind kind, int pieces) = nullptr;
    StepsTime (*time)(const GroupShape& shape,
                      const HopRates& rates,
                      CollectiveKind kind,
                      double bytes) = nullptr;
    int (*pieces)(const GroupShape& shape,
                  const HopRates& rates,
                  CollectiveKind kind,
                  double bytes) = nullptr;
    // Bytes on the busiest NIC (in one node: port) per byte of message.
    double (*load)(const GroupShape& shape, CollectiveKind kind) = nullptr;
    void (*use)(UsageBuilder& builder, const Layout& layout, CollectiveKind kind) = nullptr;
};

[[nodiscard]] std::span<const AlgorithmEntry> algorithms();
[[nodiscard]] const AlgorithmEntry& entry_of(Algorithm algorithm);
// What runs `kind` when nothing is named.
[[nodiscard]] Algorithm default_algorithm(CollectiveKind kind);

// The table's rows.
[[nodiscard]] AlgorithmEntry ring_entry();
[[nodiscard]] AlgorithmEntry tree_entry();
[[nodiscard]] AlgorithmEntry hierarchical_entry();
[[nodiscard]] AlgorithmEntry nvls_entry();
[[nodiscard]] AlgorithmEntry pairwise_entry();
[[nodiscard]] AlgorithmEntry shift_entry();

// Shared by them.

// D steps deep, C seconds of bytes: the number of pieces that minimises (D - 1 + P)(a + C / P), from 1 to 64.
struct Pipeline {
    int depth = 1;
    double latency = 0;
    double bytes_seconds = 0;
};
[[nodiscard]] int best_pieces(const Pipeline& pipeline);
// Of each step of a schedule in which some hops cross nodes.
[[nodiscard]] double longest_latency(const GroupShape& shape, const HopRates& rates);
// Adds the links of both trees between nodes: the message up and down (tree.cpp).
void add_trees_across(UsageBuilder& builder, const Layout& layout);
// Parents of all nodes in the two complementary binary trees; the root's parent is -1.
[[nodiscard]] std::vector<int> tree_parents(int nodes, int tree);
// Bytes that the busiest node sends per byte of message when both trees carry half each.
[[nodiscard]] double tree_load(int nodes);

[[nodiscard]] constexpr bool reduces_all(CollectiveKind kind) {
    return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Barrier;
}

}  // namespace memwall
