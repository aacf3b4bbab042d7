// Hierarchical all-reduce: ring reduce-scatter in each node, then for each of the p shards a ring all-reduce across the m
// nodes, all shards at once, then ring all-gather in each node.
//   t = 2 (p - 1)(a_in + S / (p B)) + 2 (m - 1)(a_across + S / (p m b))      b: NIC rate of one rank
// Needs equally many ranks in every node.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/collectives/algorithms/algorithms.h"
#include "sim/core/check.h"

namespace memwall {

namespace {

bool serves(CollectiveKind kind) {
    return reduces_all(kind);
}

std::string obstacle(const GroupShape& shape) {
    return shape.ranks_per_node == shape.ranks_per_node_min
               ? std::string{}
               : "hierarchical needs equally many ranks of the group in every node";
}

int pieces(const GroupShape&, const HopRates&, CollectiveKind, double) {
    return 1;
}

StepsTime time(const GroupShape& shape, const HopRates& rates, CollectiveKind, double bytes) {
    const double p = shape.ranks_per_node;
    const double m = shape.nodes;
    const double inside = p > 1 ? 2 * (p - 1) * bytes / p / rates.port : 0;
    const int sharers =
        (shape.ranks_per_node + shape.lanes - 1) / shape.lanes;  // ranks on the fullest NIC
    const double across = m > 1 ? 2 * (m - 1) * bytes / (p * m) * sharers / rates.lane : 0;
    const double latency = (2 * (p - 1) * rates.latency_in) + (2 * (m - 1) * rates.latency_across);
    return {.total = latency + inside + across, .flow = std::max(inside, across)};
}

// The member `local` of each node: the same one in every phase, by rail.
int member_at(const Layout& layout, int node, int local) {
    return layout.member(node, 0, local);
}

// One step of a ring among the ranks of each node: local q passes on the shard whose owner is `back` positions behind.
ChunkStep node_step(const Layout& layout, int back, bool reduce) {
    ChunkStep step;
    const int m = layout.nodes();
    for (int node = 0; node < m; ++node) {
        const int p = layout.ranks_in(node);
        for (int q = 0; q < p; ++q) {
            const int from = member_at(layout, node, q);
            step.push_back({.from = from,
                            .to = member_at(layout, node, q + 1),
                            .via = from,
                            .first_chunk = (((q - back) % p + p) % p) * m,
                            .chunks = m,
                            .reduce = reduce});
        }
    }
    return step;
}

ChunkStep across_step(const Layout& layout, int back, bool reduce) {
    ChunkStep step;
    const int m = layout.nodes();
    for (int node = 0; node < m; ++node) {
        for (int q = 0; q < layout.ranks_in(node); ++q) {
            const int from = member_at(layout, node, q);
            step.push_back({.from = from,
                            .to = member_at(layout, (node + 1) % m, q),
                            .via = from,
                            .first_chunk = (q * m) + ((node - back) % m + m) % m,
                            .chunks = 1,
                            .reduce = reduce});
        }
    }
    return step;
}

ChunkSchedule schedule(const Layout& layout, CollectiveKind kind, int) {
    MW_CHECK(serves(kind), "hierarchical serves all-reduce only");
    const int m = layout.nodes();
    const int p = layout.ranks / m;
    std::vector<ChunkStep> steps;
    for (int t = 0; t + 1 < p; ++t) {
        steps.push_back(node_step(layout, t + 1, true));
    }
    for (int t = 0; t + 1 < m; ++t) {
        steps.push_back(across_step(layout, t + 1, true));
    }
    for (int t = 0; t + 1 < m; ++t) {
        steps.push_back(across_step(layout, t, false));
    }
    for (int t = 0; t + 1 < p; ++t) {
        steps.push_back(node_step(layout, t, false));
    }
    ChunkSchedule result = listed(std::move(steps));
    result.chunks = p * m;
    result.chunks_per_message = result.chunks;
    return result;
}

double load(const GroupShape& shape, CollectiveKind) {
    const double p = shape.ranks_per_node;
    const double m = shape.nodes;
    return shape.nodes == 1 ? 2 * (p - 1) / p : 2 * (m - 1) / m / shape.lanes;
}

void use(UsageBuilder& builder, const Layout& layout, CollectiveKind) {
    const double m = layout.nodes();
    for (int node = 0; node < layout.nodes(); ++node) {
        const double p = layout.ranks_in(node);
        builder.spread(layout, node, 2 * (p - 1) / p);
        for (int q = 0; q < layout.ranks_in(node) && layout.nodes() > 1; ++q) {
            builder.add_route(member_at(layout, node, q),
                              member_at(layout, (node + 1) % layout.nodes(), q),
                              2 * (m - 1) / m / p);
        }
    }
}

}  // namespace

AlgorithmEntry hierarchical_entry() {
    return {.algorithm = Algorithm::Hierarchical,
            .serves = serves,
            .obstacle = obstacle,
            .schedule = schedule,
            .time = time,
            .pieces = pieces,
            .load = load,
            .use = use};
}

}  // namespace memwall
