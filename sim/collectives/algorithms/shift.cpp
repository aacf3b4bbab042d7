// Shift: every rank sends S to the next rank of its group and receives as much from the one before, all at once
// (sendrecv_perf of nccl-tests; the key-value ring of context parallelism).
//   t = a + S / B      a: latency of the longest hop, B: bandwidth of the slowest hop
// Ranks send in the order of the group, each through its own port or NIC.
#include <algorithm>

#include "sim/collectives/algorithms/algorithms.h"
#include "sim/core/check.h"

namespace memwall {

namespace {

bool serves(CollectiveKind kind) {
    return kind == CollectiveKind::Shift;
}

std::string obstacle(const GroupShape&) {
    return {};
}

int pieces(const GroupShape&, const HopRates&, CollectiveKind, double) {
    return 1;
}

StepsTime time(const GroupShape& shape, const HopRates& rates, CollectiveKind, double bytes) {
    const double inside = shape.ranks_per_node > 1 ? bytes / rates.port : 0;
    const double across = shape.nodes > 1 ? bytes / rates.lane : 0;
    const double flow = std::max(inside, across);
    return {.total = longest_latency(shape, rates) + flow, .flow = flow};
}

ChunkSchedule schedule(const Layout& layout, CollectiveKind kind, int) {
    MW_CHECK(serves(kind), "point-to-point messages to the next rank serve shifts only");
    const int n = layout.ranks;
    ChunkStep step;
    for (int from = 0; from < n && n > 1; ++from) {
        step.push_back({.from = from, .to = (from + 1) % n, .via = from, .first_chunk = from});
    }
    ChunkSchedule result = listed({std::move(step)});
    result.chunks = n;
    result.chunks_per_message = 1;
    return result;
}

double load(const GroupShape&, CollectiveKind) {
    return 1;
}

void use(UsageBuilder& builder, const Layout& layout, CollectiveKind) {
    const auto n = static_cast<std::size_t>(layout.ranks);
    std::vector<int> node(n);
    for (int at = 0; at < layout.nodes(); ++at) {
        for (int i = 0; i < layout.ranks_in(at); ++i) {
            node[static_cast<std::size_t>(layout.member(at, 0, i))] = at;
        }
    }
    for (std::size_t from = 0; from < n; ++from) {
        const std::size_t to = (from + 1) % n;
        if (node[from] == node[to]) {
            builder.add_hop(static_cast<int>(from), static_cast<int>(to), 1);
        } else {
            builder.add_route(static_cast<int>(from), static_cast<int>(to), 1);
        }
    }
}

}  // namespace

AlgorithmEntry shift_entry() {
    return {.algorithm = Algorithm::PointToPoint,
            .serves = serves,
            .obstacle = obstacle,
            .schedule = schedule,
            .time = time,
            .pieces = pieces,
            .load = load,
            .use = use};
}

}  // namespace memwall
