// All-to-all by pairwise exchange: in each of n - 1 steps every rank sends S/n to another one, all to different ones.
//   t = (n - 1)(a + S / (n B))                                          in one node
//   t = (p - 1)(a_in + S / (n B)) + (n - p)(a_across + S / (n b))       m nodes of p ranks, b: NIC rate of one rank
// Across nodes steps go by (node distance, local distance), so that a step is all inside or all across.
// Where there is an NVLink switch, a block first goes to the local GPU on the destination's rail (NCCL's PXN), and the
// NIC traffic stays on its rail; else every pair uses its own route.
#include <algorithm>
#include <cstddef>

#include "sim/collectives/algorithms/algorithms.h"
#include "sim/core/check.h"

namespace memwall {

namespace {

bool serves(CollectiveKind kind) {
    return kind == CollectiveKind::AllToAll;
}

std::string obstacle(const GroupShape&) {
    return {};
}

int pieces(const GroupShape&, const HopRates&, CollectiveKind, double) {
    return 1;
}

bool even(const GroupShape& shape) {
    return shape.ranks_per_node == shape.ranks_per_node_min;
}

StepsTime time(const GroupShape& shape, const HopRates& rates, CollectiveKind, double bytes) {
    const double n = shape.ranks;
    const double p = shape.ranks_per_node;
    const double block = bytes / n;
    const int sharers = (shape.ranks_per_node + shape.lanes - 1) / shape.lanes;  // on one NIC
    const double inside = p > 1 ? block / rates.port : 0;
    const double across = shape.nodes > 1 ? block * sharers / rates.lane : 0;
    if (even(shape)) {
        const double latency = ((p - 1) * rates.latency_in) + ((n - p) * rates.latency_across);
        return {.total = latency + ((p - 1) * inside) + ((n - p) * across),
                .flow = std::max((p - 1) * inside, (n - p) * across)};
    }
    const double flow = (n - 1) * std::max(inside, across);
    return {.total = ((n - 1) * longest_latency(shape, rates)) + flow, .flow = flow};
}

ChunkMessage block(int n, int from, int to, int via) {
    return {.from = from,
            .to = to,
            .via = via,
            .first_chunk = (from * n) + to,
            .chunks = 1,
            .reduce = false};
}

ChunkStep plain_step(int n, int shift) {
    ChunkStep step;
    for (int from = 0; from < n; ++from) {
        step.push_back(block(n, from, (from + shift) % n, from));
    }
    return step;
}

ChunkStep even_step(const Layout& layout, int far, int near) {
    ChunkStep step;
    const int n = layout.ranks;
    for (int node = 0; node < layout.nodes(); ++node) {
        for (int q = 0; q < layout.ranks_in(node); ++q) {
            const int from = layout.member(node, 0, q);
            const int to = layout.member((node + far) % layout.nodes(), 0, q + near);
            step.push_back(block(n, from, to, far == 0 ? from : layout.member(node, 0, q + near)));
        }
    }
    return step;
}

ChunkSchedule schedule(const Layout& layout, CollectiveKind kind, int) {
    MW_CHECK(serves(kind), "pairwise exchange serves all-to-all only");
    const int n = layout.ranks;
    const int p = layout.ranks_in(0);
    bool is_even = true;
    for (int node = 1; node < layout.nodes(); ++node) {
        is_even = is_even && layout.ranks_in(node) == p;
    }
    ChunkSchedule result;
    result.chunks = n * n;
    result.chunks_per_message = n;
    result.steps = n - 1;
    if (is_even) {
        result.step = [layout, p](int index) {
            return even_step(layout, (index + 1) / p, (index + 1) % p);
        };
    } else {
        result.step = [n](int index) { return plain_step(n, index + 1); };
    }
    return result;
}

void use_rails(UsageBuilder& builder, const Layout& layout) {
    const double n = layout.ranks;
    for (int node = 0; node < layout.nodes(); ++node) {
        const double p = layout.ranks_in(node);
        const double relay = layout.nodes() > 1 ? (n - p) / n * (p - 1) / p : 0;
        builder.spread(layout, node, ((p - 1) / n) + relay);
        for (int other = 0; other < layout.nodes(); ++other) {
            const double blocks = p * layout.ranks_in(other) / n;
            for (int lane = 0; lane < layout.lanes && other != node; ++lane) {
                builder.add_route(layout.gate_member(node, lane),
                                  layout.gate_member(other, lane),
                                  blocks / layout.lanes);
            }
        }
    }
}

double load(const GroupShape& shape, CollectiveKind) {
    const double n = shape.ranks;
    const double p = shape.ranks_per_node;
    return shape.nodes == 1 ? (n - 1) / n : p * (n - p) / n / shape.lanes;
}

void use(UsageBuilder& builder, const Layout& layout, CollectiveKind) {
    if (builder.switched()) {
        use_rails(builder, layout);
        return;
    }
    for (int from = 0; from < layout.ranks; ++from) {
        for (int to = 0; to < layout.ranks; ++to) {
            if (from != to) {
                builder.add_route(from, to, 1.0 / layout.ranks);
            }
        }
    }
}

}  // namespace

AlgorithmEntry pairwise_entry() {
    return {.algorithm = Algorithm::Pairwise,
            .serves = serves,
            .obstacle = obstacle,
            .schedule = schedule,
            .time = time,
            .pieces = pieces,
            .load = load,
            .use = use};
}

}  // namespace memwall
