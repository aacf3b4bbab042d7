// NVLS all-reduce: the NVLink switch adds. Each of n heads reads its share of all buffers, summed by the switch, and
// writes the sum to all at once: a GPU sends its S bytes to the heads and the S/n it has reduced.
//   t = 2 a + S (1 + 1/n) / B
// Across nodes a double binary tree joins the switches (NVLSTree): 1 + 1/p in the node, the tree's load on the NICs.
// Source: NVIDIA/nccl src/transport/nvls.cc @5067397; the traffic: model of the in-switch reduction (multimem instructions).
#include "sim/collectives/algorithms/algorithms.h"
#include "sim/core/check.h"

namespace memwall {

namespace {

bool serves(CollectiveKind kind) {
    return reduces_all(kind);
}

std::string obstacle(const GroupShape& shape) {
    if (!shape.nvls) {
        return "nvls needs an NVLink switch";
    }
    return shape.nodes == 1 ? std::string{}
                            : "nvls across nodes has no law in steps; use law: nccl";
}

int pieces(const GroupShape&, const HopRates&, CollectiveKind, double) {
    return 1;
}

StepsTime time(const GroupShape& shape, const HopRates& rates, CollectiveKind, double bytes) {
    const double flow = bytes * (1 + 1.0 / shape.ranks) / rates.port;
    return {.total = (2 * rates.latency_in) + flow, .flow = flow};
}

// What moves, as messages between GPUs: chunk c to its head, and from there to all. The switch adds and copies on the
// way, so the bytes on a port are those of the statement above, not the sum of these messages.
ChunkSchedule schedule(const Layout& layout, CollectiveKind kind, int) {
    MW_CHECK(serves(kind), "nvls serves all-reduce only");
    const int n = layout.ranks;
    if (n == 1) {
        return {};
    }
    ChunkStep reduce;
    ChunkStep multicast;
    for (int head = 0; head < n; ++head) {
        for (int rank = 0; rank < n; ++rank) {
            if (rank != head) {
                reduce.push_back({.from = rank,
                                  .to = head,
                                  .via = rank,
                                  .first_chunk = head,
                                  .chunks = 1,
                                  .reduce = true});
                multicast.push_back({.from = head,
                                     .to = rank,
                                     .via = head,
                                     .first_chunk = head,
                                     .chunks = 1,
                                     .reduce = false});
            }
        }
    }
    ChunkSchedule result = listed({reduce, multicast});
    result.chunks = n;
    result.chunks_per_message = n;
    return result;
}

double load(const GroupShape& shape, CollectiveKind) {
    return shape.nodes == 1 ? 1 + 1.0 / shape.ranks : tree_load(shape.nodes) / shape.lanes;
}

void use(UsageBuilder& builder, const Layout& layout, CollectiveKind) {
    for (int node = 0; node < layout.nodes(); ++node) {
        const int p = layout.ranks_in(node);
        for (int step = 0; step < p && p > 1; ++step) {
            const double bytes = 1 + 1.0 / p;
            builder.add_port(layout.member(node, 0, step), bytes, bytes);
        }
    }
    if (layout.nodes() > 1) {
        add_trees_across(builder, layout);
    }
}

}  // namespace

AlgorithmEntry nvls_entry() {
    return {.algorithm = Algorithm::Nvls,
            .serves = serves,
            .obstacle = obstacle,
            .schedule = schedule,
            .time = time,
            .pieces = pieces,
            .load = load,
            .use = use};
}

}  // namespace memwall
