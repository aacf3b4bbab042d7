#include "sim/network/topo.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/core.h>

#include "sim/core/quantity.h"
#include "sim/network/bisection.h"
#include "sim/network/graph.h"
#include "sim/spec/nvlink.h"

namespace memwall {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

double limit_of(Bandwidth rate) {
    return rate.value > 0 ? rate.value : kUnlimited;
}

// ---- Tiers

// Adds the links [first, last) of the fabric, of which every second is the other direction, as one tier for each capacity.
void add_tier(std::vector<TopoTier>& tiers,
              const std::vector<Link>& links,
              std::size_t first,
              std::size_t last,
              std::int64_t copies,
              const TopoTier& like) {
    const std::size_t begin = tiers.size();
    for (std::size_t l = first; l < last; l += 2) {
        const Bandwidth each = links[l].capacity;
        auto it = std::find_if(tiers.begin() + static_cast<std::ptrdiff_t>(begin),
                               tiers.end(),
                               [&](const TopoTier& t) { return t.each == each; });
        if (it == tiers.end()) {
            it = tiers.insert(tiers.end(), like);
            it->tier = links[l].tier;
            it->each = each;
        }
        it->links += copies;
        it->total += each * static_cast<double>(copies);
        it->binding = it->binding || links[l].binding;
    }
}

std::vector<TopoTier> tiers_of(const Fabric& fabric) {
    const FabricSpec& spec = fabric.machine().cluster.fabric;
    const NodeLinks& node = fabric.node_links();
    const bool ecmp = fabric.machine().routing == Routing::Ecmp;
    std::vector<TopoTier> tiers;
    // `from_below` / `capacity`: what can enter a full switch, over what leaves it.
    const auto in_nodes =
        [&](const char* name, int first, int last, double from_below, double capacity) {
            TopoTier like;
            like.name = name;
            like.oversubscription = capacity > 0 ? std::max(1.0, from_below / capacity) : 1;
            add_tier(tiers,
                     node.links,
                     static_cast<std::size_t>(first),
                     static_cast<std::size_t>(last),
                     fabric.nodes(),
                     like);
        };
    const Node& n = fabric.machine().cluster.node;
    in_nodes(n.intra == IntraNode::Mesh ? "NVLink between two GPUs" : "GPU to NVSwitch",
             node.nvlink_base,
             node.pcie_base,
             0,
             0);
    if (node.has_pcie) {
        const double ports = n.gpu.pcie.value * n.gpus_per_pcie_switch;
        in_nodes("GPU to PCIe switch", node.pcie_base, node.uplink_base, 0, 0);
        in_nodes("PCIe switch to root port",
                 node.uplink_base,
                 node.bridge_base,
                 ports,
                 n.pcie_switch_uplink.value);
        in_nodes("host bridge, between GPUs",
                 node.bridge_base,
                 node.socket_base,
                 ports,
                 n.peer_rate.value);
        in_nodes("socket to socket", node.socket_base, node.nic_base, 0, 0);
    }
    in_nodes("NIC to network", node.nic_base, node.count(), 0, 0);
    const FabricTiers& above = fabric.tiers();
    TopoTier leaf;
    leaf.name = ecmp ? "leaf to spine" : "leaf to spine, bundle of a leaf";
    leaf.oversubscription = spec.oversubscription;
    TopoTier pod;
    pod.name = ecmp ? "spine to core" : "spine to core, bundle of a pod";
    pod.oversubscription = spec.pod_oversubscription;
    const std::size_t pods_at =
        fabric.links().size() -
        2 * static_cast<std::size_t>(above.pods) * static_cast<std::size_t>(above.pod_lanes);
    const std::size_t leaves_at = pods_at - 2 * static_cast<std::size_t>(above.leaves) *
                                                static_cast<std::size_t>(above.leaf_lanes);
    add_tier(tiers, fabric.links(), leaves_at, pods_at, 1, leaf);
    add_tier(tiers, fabric.links(), pods_at, fabric.links().size(), 1, pod);
    return tiers;
}

// ---- Bisection

struct Cut {
    double rate = 0;
    const char* limit = "";
};

// What limits above the NICs in the cut between the first `half` nodes and the rest.
enum class Above : std::uint8_t { Nothing, Pods, LeavesAndPods };

double network_cut(const Fabric& fabric, int half, Above above) {
    const FabricTiers& tiers = fabric.tiers();
    const auto capacity = [&](LinkId link) { return fabric.links()[link.index].capacity.value; };
    std::vector<HalfFlow> leaves(static_cast<std::size_t>(std::max(1, tiers.leaves)));
    for (int n = 0; n < fabric.nodes(); ++n) {
        for (int k = 0; k < fabric.nics(); ++k) {
            const double rate = limit_of(fabric.nic_rate());
            leaves[static_cast<std::size_t>(std::max(0, fabric.place_of(n, k).leaf))] +=
                n < half ? HalfFlow{rate, 0} : HalfFlow{0, rate};
        }
    }
    double crossing = 0;
    std::vector<HalfFlow> pods(static_cast<std::size_t>(std::max(1, tiers.pods)));
    for (std::size_t l = 0; l < leaves.size(); ++l) {
        const int leaf = static_cast<int>(l);
        const double up = above == Above::LeavesAndPods && tiers.leaves > 0
                              ? capacity(fabric.leaf_link(leaf, 0, true)) * tiers.leaf_lanes
                              : kUnlimited;
        pods[static_cast<std::size_t>(tiers.pods > 0 ? leaf / tiers.leaves_per_pod : 0)] +=
            cross(leaves[l], up, crossing);
    }
    HalfFlow core;
    for (std::size_t p = 0; p < pods.size(); ++p) {
        const double up =
            above != Above::Nothing && tiers.pods > 0
                ? capacity(fabric.pod_link(static_cast<int>(p), 0, true)) * tiers.pod_lanes
                : kUnlimited;
        core += cross(pods[p], up, crossing);
    }
    cross(core, 0, crossing);
    return crossing;
}

Cut cut_of_network(const Fabric& fabric, int half) {
    const double nics = network_cut(fabric, half, Above::Nothing);
    const double pods = network_cut(fabric, half, Above::Pods);
    const double all = network_cut(fabric, half, Above::LeavesAndPods);
    constexpr double kRounding = 1 - 1e-9;
    return {all,
            all >= nics * kRounding   ? "NICs"
            : all >= pods * kRounding ? "pods to core"
                                      : "leaves to spine"};
}

// Halves of one node: its PCIe switches under their sockets.
Cut cut_of_pcie(const Fabric& fabric, int half) {
    const NodeLinks& node = fabric.node_links();
    const Node& spec = fabric.machine().cluster.node;
    std::vector<HalfFlow> switches(static_cast<std::size_t>(node.switches));
    for (int g = 0; g < node.gpus; ++g) {
        const double rate = limit_of(spec.gpu.pcie);
        switches[static_cast<std::size_t>(node.switch_of_gpu[static_cast<std::size_t>(g)])] +=
            g < half ? HalfFlow{rate, 0} : HalfFlow{0, rate};
    }
    double crossing = 0;
    std::vector<HalfFlow> sockets(static_cast<std::size_t>(node.sockets));
    for (std::size_t s = 0; s < switches.size(); ++s) {
        const double up = std::min(limit_of(spec.pcie_switch_uplink), limit_of(spec.peer_rate));
        sockets[static_cast<std::size_t>(node.socket_of_switch[s])] +=
            cross(switches[s], up, crossing);
    }
    HalfFlow between;
    HalfFlow unlimited;
    for (const HalfFlow& socket : sockets) {
        double here = 0;
        unlimited += cross(socket, kUnlimited, here);
        between += cross(socket, limit_of(spec.socket_link), crossing);
    }
    cross(between, 0, crossing);
    const bool socket_limits =
        std::min(between.send, between.take) < std::min(unlimited.send, unlimited.take);
    return {crossing, socket_limits ? "socket to socket" : "host bridges"};
}

Cut cut_in_domain(const Fabric& fabric) {
    const Node& spec = fabric.machine().cluster.node;
    const int half = static_cast<int>(fabric.devices() / 2);
    switch (spec.intra) {
    case IntraNode::NvSwitch:
        return {spec.gpu.link_rate.value * spec.gpu.links * half, "NVLink ports"};
    case IntraNode::Mesh: {
        double crossing = 0;
        for (const MeshLink& m : spec.mesh) {
            const bool crosses = (m.a < half) != (m.b < half);
            crossing += crosses ? spec.gpu.link_rate.value * m.links : 0;
        }
        return crossing > 0 ? Cut{crossing, "NVLink mesh"} : cut_of_pcie(fabric, half);
    }
    case IntraNode::PcieTree:
        return cut_of_pcie(fabric, half);
    }
    return {};
}

const char* color_of(VertexKind kind) {
    switch (kind) {
    case VertexKind::Gpu:
        return "#c7e9c0";
    case VertexKind::NvSwitch:
        return "#74c476";
    case VertexKind::PcieSwitch:
    case VertexKind::Socket:
        return "#d9d9d9";
    case VertexKind::Nic:
        return "#fdd0a2";
    case VertexKind::Leaf:
        return "#c6dbef";
    case VertexKind::Spine:
        return "#9ecae1";
    case VertexKind::Core:
        return "#6baed6";
    }
    return "";
}

// A name in a Graphviz string.
std::string quoted(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result;
}

TopoLink topo_link(const Fabric& fabric, LinkId id) {
    const Link& link = fabric.links()[id.index];
    return {fabric.link_name(id), link.tier, link.capacity, link.left, link.binding};
}

}  // namespace

TopoReport describe(const Fabric& fabric) {
    const Cluster& cluster = fabric.machine().cluster;
    TopoReport report;
    report.cluster = cluster.name;
    report.node = cluster.node.name;
    report.fabric = cluster.fabric.name;
    report.kind = cluster.fabric.kind;
    report.intra = cluster.node.intra;
    report.nodes = fabric.nodes();
    report.gpus = fabric.devices();
    report.gpus_per_node = fabric.gpus_per_node();
    report.nics_per_node = fabric.nics();
    report.domains = fabric.domain_of(DeviceId{fabric.devices() - 1}) + 1;
    report.nvlink_gpus = nvlink_domain(cluster.node);
    report.leaves = fabric.tiers().leaves;
    report.pods = fabric.tiers().pods;
    report.tiers = tiers_of(fabric);
    for (std::size_t l = 0; l < fabric.links().size(); ++l) {
        if (fabric.links()[l].left < 1) {
            report.degraded.push_back(topo_link(fabric, LinkId{l}));
        }
    }
    report.nvlink_latency = cluster.node.nvlink_latency;
    report.pcie_latency = cluster.node.pcie_latency;
    report.hop_latency = cluster.fabric.hop_latency;
    if (fabric.devices() > 1) {
        const int domain_nodes = fabric.gpus_per_domain() / fabric.gpus_per_node();
        const int half = report.domains / 2 * domain_nodes;
        const Cut cut = report.domains > 1 ? cut_of_network(fabric, half) : cut_in_domain(fabric);
        const int senders =
            report.domains > 1 ? half * fabric.gpus_per_node() : static_cast<int>(report.gpus / 2);
        report.bisection = Bandwidth{cut.rate};
        report.bisection_per_gpu = Bandwidth{cut.rate / senders};
        report.bisection_limit = cut.limit;
    }
    return report;
}

std::vector<TopoLink> describe_links(const Fabric& fabric) {
    std::vector<TopoLink> links;
    links.reserve(fabric.links().size());
    for (std::size_t l = 0; l < fabric.links().size(); ++l) {
        links.push_back(topo_link(fabric, LinkId{l}));
    }
    return links;
}

TopoRoute describe_route(const Fabric& fabric, DeviceId from, DeviceId to) {
    const auto name = [&](DeviceId d) {
        return fmt::format("node{}/gpu{}", fabric.node_of(d), fabric.rail_of(d));
    };
    const Route route = fabric.route(from, to);
    TopoRoute result;
    result.from = name(from);
    result.to = name(to);
    result.latency = route.latency;
    result.switches = route.hops;
    result.crosses_nodes = route.crosses_nodes;
    double limit = kUnlimited;
    for (const LinkShare& s : route.links) {
        const Link& link = fabric.links()[s.link.index];
        const double share = static_cast<double>(s.share) / static_cast<double>(kUnit);
        limit = std::min(limit, limit_of(link.available()) / share);
        result.hops.push_back({topo_link(fabric, s.link), share});
    }
    result.limit = Bandwidth{limit < kUnlimited ? limit : 0};
    return result;
}

std::string to_dot(const Fabric& fabric, int nodes_shown) {
    const int shown = std::clamp(nodes_shown, 1, fabric.nodes());
    const FabricGraph drawn = build_graph(fabric, shown);
    std::string out = "graph memwall {\n";
    const auto line = std::back_inserter(out);
    fmt::format_to(line,
                   "  graph [rankdir=BT, fontname=sans, label=\"{}: {} of {} nodes\"];\n",
                   quoted(fabric.machine().cluster.name),
                   shown,
                   fabric.nodes());
    out +=
        "  node [shape=box, style=filled, fontname=sans];\n  edge [fontname=sans, fontsize=10];\n";
    for (std::size_t v = 0; v < drawn.vertices.size(); ++v) {
        fmt::format_to(line,
                       "  {} [label=\"{}\", fillcolor=\"{}\"];\n",
                       v,
                       drawn.vertices[v].name,
                       color_of(drawn.vertices[v].kind));
    }
    for (const GraphEdge& edge : drawn.edges) {
        if (edge.from > edge.to) {
            continue;  // both directions are drawn as one line
        }
        const double rate =
            edge.link.valid() ? fabric.links()[edge.link.index].available().value : 0;
        fmt::format_to(line, "  {} -- {}", edge.from, edge.to);
        if (rate > 0) {
            fmt::format_to(line, " [label=\"{}\"]", to_text(Bandwidth{rate}));
        }
        out += ";\n";
    }
    out += "}\n";
    return out;
}

}  // namespace memwall
