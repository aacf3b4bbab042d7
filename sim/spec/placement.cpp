// Where jobs sit on the machine, and what refers to ranks: nodes, background jobs, events, ranks of a trace.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/spec/legality.h"

namespace memwall {
namespace {

// The item of a list in the composed scenario; the list itself when it is not there.
const DocNode& item_of(const DocNode& composed, std::string_view list, std::size_t index) {
    const DocNode* node = composed.at(list);
    if (node == nullptr) {
        return composed;
    }
    return index < node->items.size() ? node->items[index] : *node;
}

std::int64_t world_of(const Plan& plan) {
    return product(plan.jobs.front().nodes, plan.machine.cluster.node.gpus);
}

void check_nodes(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    const Cluster& cluster = plan.machine.cluster;
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
        const Job& job = plan.jobs[j];
        const DocNode& document = j == 0 ? composed : item_of(composed, "background", j - 1);
        const Place place = place_at(document, j == 0 ? "machine.nodes" : "nodes");
        const std::int64_t end = std::int64_t{job.first_node} + job.nodes;
        if (end > cluster.nodes_max) {
            const std::string text =
                j == 0 ? fmt::format("{} nodes", job.nodes) : fmt::format("node {}", end - 1);
            Diagnostic& error = diagnostics.error(
                "E0327",
                place,
                fmt::format(
                    "{}: cluster '{}' has only {} nodes", text, cluster.name, cluster.nodes_max));
            error.notes.push_back(
                {place_at(composed, "machine.cluster.nodes_max"), "nodes_max is given here"});
            error.hint =
                j == 0
                    ? fmt::format("at most {}; raise it with `--set machine.cluster.nodes_max={}`",
                                  cluster.nodes_max,
                                  end)
                    : fmt::format("nodes count from 0: at most {}", cluster.nodes_max - 1);
        }
        for (std::size_t other = 0; other < j; ++other) {
            const Job& before = plan.jobs[other];
            if (job.first_node < before.first_node + before.nodes &&
                before.first_node < job.first_node + job.nodes) {
                Diagnostic& error = diagnostics.error(
                    "E0328",
                    place,
                    fmt::format("nodes {}..{} are taken by {}",
                                job.first_node,
                                end - 1,
                                other == 0 ? "the measured job" : "another background job"));
                error.notes.push_back(
                    {other == 0 ? place_at(composed, "machine.nodes")
                                : place_at(item_of(composed, "background", other - 1), "nodes"),
                     fmt::format("nodes {}..{} are taken here",
                                 before.first_node,
                                 before.first_node + before.nodes - 1)});
                error.hint = "jobs share links, not nodes";
            }
        }
    }
}

void check_machine(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    const Cluster& cluster = plan.machine.cluster;
    const Node& node = cluster.node;
    if (plan.machine.nodes > 1 && (cluster.fabric.kind == FabricKind::None || node.nics == 0)) {
        const bool none = cluster.fabric.kind == FabricKind::None;
        Diagnostic& error = diagnostics.error(
            "E0402",
            place_at(composed, "machine.nodes"),
            fmt::format(
                "nothing joins the {} nodes of cluster '{}'", plan.machine.nodes, cluster.name));
        error.notes.push_back(
            {place_at(composed, none ? "machine.cluster.fabric.kind" : "machine.cluster.node.nics"),
             none ? "the fabric is of kind none" : "a node has no NIC"});
        error.hint = "say `nodes: 1`, or choose a cluster with a fabric";
    }
    if (plan.machine.nodes > 1 && node.nics > 0 && !(node.nic_rate.value > 0)) {
        diagnostics
            .error("E0402",
                   place_at(composed, "machine.cluster.node.nic_rate"),
                   "nic_rate is missing or 0, but the nodes are joined by NICs")
            .hint = "say for example `nic_rate: 400Gbps`";
    }
    if (node.intra != IntraNode::PcieTree && node.gpus > 1 &&
        (node.gpu.links == 0 || !(node.gpu.link_rate.value > 0))) {
        Diagnostic& error = diagnostics.error(
            "E0404",
            place_at(composed, "machine.cluster.node.intra"),
            fmt::format("gpu '{}' has no NVLink, which this node is wired with", node.gpu.name));
        error.notes.push_back({place_at(composed, "machine.cluster.node.gpu.links"),
                               "links and link_rate of the gpu"});
        error.hint = "say `intra: pcie_tree`, or choose a gpu with links";
    }
    if (node.gpu.usable > node.gpu.memory) {
        Diagnostic& error =
            diagnostics.error("E0406",
                              place_at(composed, "machine.cluster.node.gpu.usable"),
                              fmt::format("usable {} exceeds the {} of memory of gpu '{}'",
                                          to_text(node.gpu.usable),
                                          to_text(node.gpu.memory),
                                          node.gpu.name));
        error.notes.push_back(
            {place_at(composed, "machine.cluster.node.gpu.memory"), "memory is given here"});
        error.hint = "override memory alone: usable follows it in proportion";
    }
    for (std::size_t i = 0; i < node.mesh.size(); ++i) {
        const MeshLink& link = node.mesh[i];
        if (link.a >= node.gpus || link.b >= node.gpus || link.a == link.b) {
            diagnostics
                .error("E0403",
                       item_of(composed, "machine.cluster.node.mesh", i).place,
                       fmt::format("mesh link {}-{} does not join two of the {} GPUs",
                                   link.a,
                                   link.b,
                                   node.gpus))
                .hint = fmt::format("GPUs count from 0 to {}", node.gpus - 1);
        }
    }
}

void check_rank_order(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    std::vector<RankAxis> sorted = plan.machine.rank_order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != std::vector<RankAxis>{RankAxis::Tp, RankAxis::Cp, RankAxis::Dp, RankAxis::Pp}) {
        diagnostics
            .error("E0326",
                   place_at(composed, "machine.placement.order"),
                   "order must name each of tp, cp, dp, pp once")
            .hint = "innermost first: [tp, cp, dp, pp]";
    }
}

void check_events(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    const std::int64_t world = world_of(plan);
    const Place list = place_at(composed, "machine.events");
    std::set<int> ranks;
    for (const Straggler& straggler : plan.machine.stragglers) {
        if (straggler.rank >= world) {
            Diagnostic& error = diagnostics.error(
                "E0329",
                list,
                fmt::format("straggler rank {} is not one of {} ranks", straggler.rank, world));
            error.notes.push_back(
                {place_at(composed, "machine.nodes"), "the number of nodes is given here"});
            error.hint = fmt::format("ranks count from 0 to {}", world - 1);
        }
        if (!ranks.insert(straggler.rank).second) {
            diagnostics
                .error(
                    "E0329", list, fmt::format("straggler rank {} is given twice", straggler.rank))
                .hint = "keep one of the two";
        }
    }
}

void check_trace_ranks(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    if (!plan.run.trace) {
        return;
    }
    const std::int64_t world = world_of(plan);
    for (std::size_t i = 0; i < plan.run.trace->ranks.size(); ++i) {
        const RankRange& range = plan.run.trace->ranks[i];
        if (range.last >= world) {
            Diagnostic& error =
                diagnostics.error("E0334",
                                  item_of(composed, "run.trace.ranks", i).place,
                                  fmt::format("rank {} is not one of {} ranks", range.last, world));
            error.notes.push_back(
                {place_at(composed, "machine.nodes"), "the number of nodes is given here"});
            error.hint = fmt::format("ranks count from 0 to {}", world - 1);
        }
    }
}

}  // namespace

void check_placement(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    check_rank_order(plan, composed, diagnostics);
    for (const char* part : {"machine.cluster",
                             "machine.cluster.node",
                             "machine.cluster.node.gpu",
                             "machine.cluster.fabric"}) {
        if (!is_known(composed, part)) {
            return;
        }
    }
    check_nodes(plan, composed, diagnostics);
    check_machine(plan, composed, diagnostics);
    check_events(plan, composed, diagnostics);
    check_trace_ranks(plan, composed, diagnostics);
}

}  // namespace memwall
