// Double binary tree all-reduce: two complementary binary trees carry half of the message each, up (reduce) and down
// (broadcast), pipelined in P pieces. An inner node of one tree is a leaf of the other, so the busiest node sends 2 S
// (S with two nodes). Inside a node the ranks form a chain that ends at the lane's NIC.
//   2 D + P - 1 steps, D: depth; each takes its longest latency plus the bytes of its busiest port or NIC.
// Sources: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35(12), 2009; the shape of the trees: NVIDIA/nccl src/graph/trees.cc @5067397.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/collectives/algorithms/algorithms.h"
#include "sim/core/check.h"

namespace memwall {

namespace {

// In-order binary tree over 0 .. n - 1 with root 0: a rank's parent is found at its lowest set bit.
int in_order_parent(int rank, int n) {
    if (rank == 0) {
        return -1;
    }
    const int bit = rank & -rank;
    const int up = (rank ^ bit) | (bit << 1);
    return up < n ? up : rank ^ bit;
}

bool serves(CollectiveKind kind) {
    return reduces_all(kind);
}

std::string obstacle(const GroupShape&) {
    return {};
}

// One lane's tree over all members.
struct RankTree {
    std::vector<int> parent;  // -1: root
    std::vector<int> via;     // who sends for a member towards its parent
    std::vector<int> depth;
};

void set_depths(RankTree& tree) {
    const auto n = tree.parent.size();
    tree.depth.assign(n, 0);
    for (std::size_t r = 0; r < n; ++r) {
        for (int up = tree.parent[r]; up >= 0; up = tree.parent[static_cast<std::size_t>(up)]) {
            ++tree.depth[r];
        }
    }
}

RankTree rank_tree(const Layout& layout, int lane, int tree) {
    RankTree result;
    result.parent.assign(static_cast<std::size_t>(layout.ranks), -1);
    if (layout.nodes() == 1) {
        const std::vector<int> up = tree_parents(layout.ranks, tree);
        const std::vector<int> ring = layout.ring(lane);
        for (std::size_t q = 0; q < ring.size(); ++q) {
            result.parent[static_cast<std::size_t>(ring[q])] =
                up[q] < 0 ? -1 : ring[static_cast<std::size_t>(up[q])];
        }
    } else {
        const std::vector<int> up = tree_parents(layout.nodes(), tree);
        for (int node = 0; node < layout.nodes(); ++node) {
            const int above = up[static_cast<std::size_t>(node)];
            result.parent[static_cast<std::size_t>(layout.gate_member(node, lane))] =
                above < 0 ? -1 : layout.gate_member(above, lane);
            for (int step = 1; step < layout.ranks_in(node); ++step) {
                result.parent[static_cast<std::size_t>(layout.member(node, lane, step))] =
                    layout.member(node, lane, step - 1);
            }
        }
    }
    set_depths(result);
    return result;
}

ChunkSchedule schedule(const Layout& layout, CollectiveKind kind, int pieces) {
    MW_CHECK(serves(kind), "the double binary tree serves all-reduce only");
    if (layout.ranks == 1) {
        return {};
    }
    std::vector<RankTree> trees;
    int depth = 0;
    for (int lane = 0; lane < layout.lanes; ++lane) {
        for (int tree = 0; tree < 2; ++tree) {
            trees.push_back(rank_tree(layout, lane, tree));
            depth = std::max(
                depth, *std::max_element(trees.back().depth.begin(), trees.back().depth.end()));
        }
    }
    const int count = (2 * depth) + pieces - 1;
    std::vector<ChunkStep> steps(static_cast<std::size_t>(count));
    for (std::size_t t = 0; t < trees.size(); ++t) {
        for (int rank = 0; rank < layout.ranks; ++rank) {
            const int up = trees[t].parent[static_cast<std::size_t>(rank)];
            if (up < 0) {
                continue;
            }
            const int level = trees[t].depth[static_cast<std::size_t>(rank)];
            // A piece climbs from the deepest level one level per step, then descends.
            auto climb = steps.begin() + depth - level;
            auto descend = steps.begin() + depth + level - 1;
            for (int piece = 0; piece < pieces; ++piece) {
                const int chunk = (static_cast<int>(t) * pieces) + piece;
                (climb++)->push_back({.from = rank,
                                      .to = up,
                                      .via = rank,
                                      .first_chunk = chunk,
                                      .chunks = 1,
                                      .reduce = true});
                (descend++)->push_back({.from = up,
                                        .to = rank,
                                        .via = up,
                                        .first_chunk = chunk,
                                        .chunks = 1,
                                        .reduce = false});
            }
        }
    }
    ChunkSchedule result = listed(std::move(steps));
    result.chunks = static_cast<int>(trees.size()) * pieces;
    result.chunks_per_message = result.chunks;
    return result;
}

int depth_of(int nodes) {
    int depth = 0;
    for (int tree = 0; tree < 2; ++tree) {
        const std::vector<int> up = tree_parents(nodes, tree);
        for (int node = 0; node < nodes; ++node) {
            int d = 0;
            for (int at = node; up[static_cast<std::size_t>(at)] >= 0;
                 at = up[static_cast<std::size_t>(at)]) {
                ++d;
            }
            depth = std::max(depth, d);
        }
    }
    return depth;
}

// Seconds at the busiest port or NIC.
double flow_seconds(const GroupShape& shape, const HopRates& rates, double bytes) {
    if (shape.nodes == 1) {
        return bytes * tree_load(shape.ranks) / rates.port;
    }
    const double p = shape.ranks_per_node;
    return std::max(bytes * 2 * (p - 1) / p / rates.port,
                    bytes * tree_load(shape.nodes) / (shape.lanes * rates.lane));
}

int pieces(const GroupShape& shape, const HopRates& rates, CollectiveKind, double bytes) {
    const int depth =
        shape.nodes == 1 ? depth_of(shape.ranks) : depth_of(shape.nodes) + shape.ranks_per_node - 1;
    return best_pieces(
        {2 * depth, longest_latency(shape, rates), flow_seconds(shape, rates, bytes)});
}

StepsTime time(const GroupShape& shape, const HopRates& rates, CollectiveKind kind, double bytes) {
    const Layout layout = layout_of(EvenLayout{
        .nodes = shape.nodes, .ranks_per_node = shape.ranks_per_node, .lanes = shape.lanes});
    const double total = schedule_seconds(
        schedule(layout, kind, pieces(shape, rates, kind, bytes)), layout, rates, bytes);
    return {.total = total, .flow = std::min(total, flow_seconds(shape, rates, bytes))};
}

double load(const GroupShape& shape, CollectiveKind) {
    return shape.nodes == 1 ? tree_load(shape.ranks) : tree_load(shape.nodes) / shape.lanes;
}

void use(UsageBuilder& builder, const Layout& layout, CollectiveKind) {
    if (layout.nodes() == 1) {
        for (int tree = 0; tree < 2; ++tree) {
            const RankTree ranks = rank_tree(layout, 0, tree);
            for (int rank = 0; rank < layout.ranks; ++rank) {
                const int up = ranks.parent[static_cast<std::size_t>(rank)];
                if (up >= 0) {
                    builder.add_hop(rank, up, 0.5);
                    builder.add_hop(up, rank, 0.5);
                }
            }
        }
        return;
    }
    for (int node = 0; node < layout.nodes(); ++node) {
        const double p = layout.ranks_in(node);
        builder.spread(layout, node, 2 * (p - 1) / p);
    }
    add_trees_across(builder, layout);
}

}  // namespace

std::vector<int> tree_parents(int nodes, int tree) {
    std::vector<int> parents(static_cast<std::size_t>(nodes));
    for (int node = 0; node < nodes; ++node) {
        if (tree == 0) {
            parents[static_cast<std::size_t>(node)] = in_order_parent(node, nodes);
            continue;
        }
        // The second tree: mirrored when the number of nodes is even, shifted by one when it is odd.
        const bool even = nodes % 2 == 0;
        const int up = in_order_parent(even ? nodes - 1 - node : (node - 1 + nodes) % nodes, nodes);
        parents[static_cast<std::size_t>(node)] =
            up < 0 ? -1 : (even ? nodes - 1 - up : (up + 1) % nodes);
    }
    return parents;
}

double tree_load(int nodes) {
    // From here on some node has two children and a parent in one tree and is a leaf of the other: 1.5 + 0.5.
    constexpr int kFull = 16;
    if (nodes > kFull) {
        return 2;
    }
    std::vector<double> out(static_cast<std::size_t>(nodes));
    for (int tree = 0; tree < 2; ++tree) {
        const std::vector<int> up = tree_parents(nodes, tree);
        for (std::size_t node = 0; node < out.size(); ++node) {
            if (up[node] >= 0) {
                out[node] += 0.5;
                out[static_cast<std::size_t>(up[node])] += 0.5;
            }
        }
    }
    return *std::max_element(out.begin(), out.end());
}

void add_trees_across(UsageBuilder& builder, const Layout& layout) {
    for (int tree = 0; tree < 2; ++tree) {
        const std::vector<int> up = tree_parents(layout.nodes(), tree);
        for (int node = 0; node < layout.nodes(); ++node) {
            const int above = up[static_cast<std::size_t>(node)];
            for (int lane = 0; lane < layout.lanes && above >= 0; ++lane) {
                const int from = layout.gate_member(node, lane);
                const int to = layout.gate_member(above, lane);
                builder.add_route(from, to, 0.5 / layout.lanes);
                builder.add_route(to, from, 0.5 / layout.lanes);
            }
        }
    }
}

AlgorithmEntry tree_entry() {
    return {.algorithm = Algorithm::Tree,
            .serves = serves,
            .obstacle = obstacle,
            .schedule = schedule,
            .time = time,
            .pieces = pieces,
            .load = load,
            .use = use};
}

}  // namespace memwall
