// Ring: reduce-scatter in n - 1 steps of S/n, all-gather likewise; all-reduce is one after the other.
//   t = N (a + S / (n B))      N = 2 (n - 1) all-reduce, n - 1 all-gather and reduce-scatter
//   a: latency of the longest hop, B: bandwidth of the slowest hop
// Across nodes each lane is a ring of its own with 1/lanes of the message: it enters and leaves a node through one NIC.
// Broadcast is a chain from rank 0 in P pieces: (n - 2 + P)(a + S / (P B)).
// Source: Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
#include <algorithm>
#include <cstddef>

#include "sim/collectives/algorithms/algorithms.h"

namespace memwall {

namespace {

bool serves(CollectiveKind kind) {
    return kind != CollectiveKind::AllToAll;
}

std::string obstacle(const GroupShape&) {
    return {};
}

int steps_of(CollectiveKind kind, int n) {
    return reduces_all(kind) ? 2 * (n - 1) : n - 1;
}

// Seconds of one hop of all lanes together, for a message part of `bytes` that each member passes on.
double hop_seconds(const GroupShape& shape, const HopRates& rates, double bytes) {
    if (shape.nodes == 1) {
        return bytes / rates.port;
    }
    // A member that is the exit of one lane sends that lane's part by NIC; without a lane each, some members are no exit.
    const double p = shape.ranks_per_node;
    const double inside =
        shape.ranks_per_node == 1 ? 0 : (shape.lanes == shape.ranks_per_node ? (p - 1) / p : 1);
    return std::max(bytes * inside / rates.port, bytes / (shape.lanes * rates.lane));
}

int pieces(const GroupShape& shape, const HopRates& rates, CollectiveKind kind, double bytes) {
    if (kind != CollectiveKind::Broadcast) {
        return 1;
    }
    return best_pieces(
        {shape.ranks - 1, longest_latency(shape, rates), hop_seconds(shape, rates, bytes)});
}

StepsTime time(const GroupShape& shape, const HopRates& rates, CollectiveKind kind, double bytes) {
    const double a = longest_latency(shape, rates);
    if (kind == CollectiveKind::Broadcast) {
        const double parts = pieces(shape, rates, kind, bytes);
        const double hop = hop_seconds(shape, rates, bytes);
        return {.total = (shape.ranks - 2 + parts) * (a + hop / parts), .flow = hop};
    }
    const double steps = steps_of(kind, shape.ranks);
    const double flow = steps * hop_seconds(shape, rates, bytes) / shape.ranks;
    return {.total = (steps * a) + flow, .flow = flow};
}

// One lane's ring with what a step needs: who is where, and through which NIC a hop leaves its node.
struct LaneRing {
    std::vector<int> ring;
    std::vector<int> via;
};

// A broadcast starts at rank 0, wherever the lane's gate is: the first node's part is turned to begin there.
LaneRing lane_ring(const Layout& layout, int lane, bool from_rank_0) {
    LaneRing result;
    result.ring = layout.ring(lane);
    if (from_rank_0) {
        const auto end = result.ring.begin() + layout.ranks_in(0);
        std::rotate(result.ring.begin(), std::find(result.ring.begin(), end, 0), end);
    }
    result.via = result.ring;
    std::size_t last = 0;
    for (int node = 0; node < layout.nodes() && layout.nodes() > 1; ++node) {
        last += static_cast<std::size_t>(layout.ranks_in(node));
        result.via[last - 1] = layout.gate_member(node, lane);
    }
    return result;
}

// Position q sends the chunk that is the own chunk of the member `back` positions behind it; `chunk_of` names it.
struct Turn {
    int back = 0;
    bool reduce = false;
};

template <class ChunkOf>
void add_turn(ChunkStep& step, const LaneRing& lane, Turn turn, ChunkOf chunk_of) {
    const int n = static_cast<int>(lane.ring.size());
    for (int q = 0; q < n; ++q) {
        const int owner = ((q - turn.back) % n + n) % n;
        step.push_back({.from = lane.ring[static_cast<std::size_t>(q)],
                        .to = lane.ring[static_cast<std::size_t>((q + 1) % n)],
                        .via = lane.via[static_cast<std::size_t>(q)],
                        .first_chunk = chunk_of(lane.ring[static_cast<std::size_t>(owner)]),
                        .chunks = 1,
                        .reduce = turn.reduce});
    }
}

ChunkSchedule broadcast(const Layout& layout, int pieces) {
    ChunkSchedule schedule;
    const int n = layout.ranks;
    schedule.chunks = pieces * layout.lanes;
    schedule.chunks_per_message = schedule.chunks;
    schedule.steps.resize(static_cast<std::size_t>(n - 2 + pieces));
    for (int l = 0; l < layout.lanes; ++l) {
        const LaneRing lane = lane_ring(layout, l, true);
        for (int piece = 0; piece < pieces; ++piece) {
            for (int q = 0; q + 1 < n; ++q) {
                schedule.steps[static_cast<std::size_t>(q + piece)].push_back(
                    {.from = lane.ring[static_cast<std::size_t>(q)],
                     .to = lane.ring[static_cast<std::size_t>(q) + 1],
                     .via = lane.via[static_cast<std::size_t>(q)],
                     .first_chunk = (l * pieces) + piece,
                     .chunks = 1});
            }
        }
    }
    return schedule;
}

ChunkSchedule schedule(const Layout& layout, CollectiveKind kind, int pieces) {
    const int n = layout.ranks;
    if (n == 1) {
        return {};
    }
    if (kind == CollectiveKind::Broadcast) {
        return broadcast(layout, pieces);
    }
    ChunkSchedule result;
    result.chunks = n * layout.lanes;
    result.chunks_per_message = result.chunks;
    result.steps.resize(static_cast<std::size_t>(steps_of(kind, n)));
    for (int l = 0; l < layout.lanes; ++l) {
        const LaneRing lane = lane_ring(layout, l, false);
        const auto chunk_of = [&](int member) { return (member * layout.lanes) + l; };
        std::size_t at = 0;
        // Reduce-scatter: a chunk starts behind its owner and has gathered all contributions when it reaches it.
        for (int t = 0; t < n - 1 && kind != CollectiveKind::AllGather; ++t) {
            add_turn(result.steps[at++], lane, {.back = t + 1, .reduce = true}, chunk_of);
        }
        for (int t = 0; t < n - 1 && kind != CollectiveKind::ReduceScatter; ++t) {
            add_turn(result.steps[at++], lane, {.back = t, .reduce = false}, chunk_of);
        }
    }
    return result;
}

double load(const GroupShape& shape, CollectiveKind kind) {
    const double bytes = kind == CollectiveKind::Broadcast
                             ? 1
                             : static_cast<double>(steps_of(kind, shape.ranks)) / shape.ranks;
    return bytes / shape.lanes;
}

void use(UsageBuilder& builder, const Layout& layout, CollectiveKind kind) {
    const double n = layout.ranks;
    const bool chain = kind == CollectiveKind::Broadcast;
    const double bytes = chain ? 1 : static_cast<double>(steps_of(kind, layout.ranks)) / n;
    if (layout.nodes() == 1) {
        if (!chain) {
            builder.spread(layout, 0, bytes);
            return;
        }
        for (int q = 0; q + 1 < layout.ranks; ++q) {
            builder.add_hop(layout.member(0, 0, q), layout.member(0, 0, q + 1), bytes);
        }
        return;
    }
    for (int node = 0; node < layout.nodes(); ++node) {
        const double p = layout.ranks_in(node);
        builder.spread(layout, node, bytes * (p - 1) / p);
        if (chain && node + 1 == layout.nodes()) {
            continue;
        }
        for (int lane = 0; lane < layout.lanes; ++lane) {
            const int next = (node + 1) % layout.nodes();
            builder.add_route(layout.gate_member(node, lane),
                              layout.gate_member(next, lane),
                              bytes / layout.lanes);
        }
    }
}

}  // namespace

AlgorithmEntry ring_entry() {
    return {.algorithm = Algorithm::Ring,
            .serves = serves,
            .obstacle = obstacle,
            .schedule = schedule,
            .time = time,
            .pieces = pieces,
            .load = load,
            .use = use};
}

}  // namespace memwall
