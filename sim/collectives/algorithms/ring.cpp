// Ring: reduce-scatter in n - 1 steps of S/n, all-gather likewise; all-reduce is one after the other.
//   t = N (a + S / (n B))      N = 2 (n - 1) all-reduce, n - 1 all-gather and reduce-scatter
//   a: latency of the longest hop, B: bandwidth of the slowest hop
// Across nodes each lane is a ring of its own with 1/lanes of the message: it enters and leaves a node through one NIC.
// Broadcast is a chain from rank 0 in P pieces: (n - 2 + P)(a + S / (P B)).
// Source: Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/collectives/algorithms/algorithms.h"

namespace memwall {

namespace {

bool serves(CollectiveKind kind) {
    return kind != CollectiveKind::AllToAll && kind != CollectiveKind::Shift;
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

// Position q sends the chunk that is the own chunk of the member `back` positions behind it.
struct Turn {
    int back = 0;
    bool reduce = false;
};

void add_turn(ChunkStep& step, const LaneRing& lane, Turn turn, int lanes, int lane_index) {
    const int n = static_cast<int>(lane.ring.size());
    int owner = ((-turn.back % n) + n) % n;
    for (int q = 0; q < n; ++q) {
        const auto at = static_cast<std::size_t>(q);
        const int member = lane.ring[static_cast<std::size_t>(owner)];
        step.push_back({.from = lane.ring[at],
                        .to = lane.ring[q + 1 < n ? at + 1 : 0],
                        .via = lane.via[at],
                        .first_chunk = (member * lanes) + lane_index,
                        .chunks = 1,
                        .reduce = turn.reduce});
        owner = owner + 1 < n ? owner + 1 : 0;
    }
}

ChunkSchedule broadcast(std::vector<LaneRing> lanes, int pieces) {
    const int n = static_cast<int>(lanes.front().ring.size());
    ChunkSchedule schedule;
    schedule.chunks = pieces * static_cast<int>(lanes.size());
    schedule.chunks_per_message = schedule.chunks;
    schedule.steps = n - 2 + pieces;
    schedule.step = [rings = std::move(lanes), n, pieces](int index) {
        ChunkStep step;
        for (std::size_t l = 0; l < rings.size(); ++l) {
            // Position q passes on piece index - q.
            for (int q = std::max(0, index - pieces + 1); q <= std::min(index, n - 2); ++q) {
                const auto at = static_cast<std::size_t>(q);
                step.push_back({.from = rings[l].ring[at],
                                .to = rings[l].ring[at + 1],
                                .via = rings[l].via[at],
                                .first_chunk = (static_cast<int>(l) * pieces) + index - q,
                                .chunks = 1});
            }
        }
        return step;
    };
    return schedule;
}

ChunkSchedule schedule(const Layout& layout, CollectiveKind kind, int pieces) {
    const int n = layout.ranks;
    if (n == 1) {
        return {};
    }
    std::vector<LaneRing> lanes;
    for (int l = 0; l < layout.lanes; ++l) {
        lanes.push_back(lane_ring(layout, l, kind == CollectiveKind::Broadcast));
    }
    if (kind == CollectiveKind::Broadcast) {
        return broadcast(std::move(lanes), pieces);
    }
    ChunkSchedule result;
    result.chunks = n * layout.lanes;
    result.chunks_per_message = result.chunks;
    result.steps = steps_of(kind, n);
    // Reduce-scatter: a chunk starts behind its owner and has gathered all contributions when it reaches it. All-gather
    // follows, or stands alone.
    const int reducing = kind == CollectiveKind::AllGather ? 0 : n - 1;
    result.step = [rings = std::move(lanes), reducing](int index) {
        const bool reduce = index < reducing;
        const Turn turn{.back = reduce ? index + 1 : index - reducing, .reduce = reduce};
        ChunkStep step;
        step.reserve(rings.size() * rings.front().ring.size());
        for (std::size_t l = 0; l < rings.size(); ++l) {
            add_turn(step, rings[l], turn, static_cast<int>(rings.size()), static_cast<int>(l));
        }
        return step;
    };
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
