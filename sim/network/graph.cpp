#include "sim/network/graph.h"

#include <limits>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "sim/core/check.h"
#include "sim/network/paths.h"

namespace memwall {

namespace {

class GraphBuilder {
  public:
    GraphBuilder(const Fabric& fabric, int nodes)
        : fabric_(fabric), node_(fabric.node_links()), nodes_(nodes) {}

    FabricGraph build() {
        MW_CHECK(nodes_ <= fabric_.nodes(), "graph of more nodes than the machine has");
        for (int n = 0; n < nodes_; ++n) {
            add_node(n);
        }
        return std::move(out_);
    }

  private:
    int vertex(VertexKind kind, std::string name, int node) {
        out_.vertices.push_back({kind, std::move(name), node});
        return static_cast<int>(out_.vertices.size()) - 1;
    }
    // Switches above a node are made when the first node below them is.
    int shared(VertexKind kind, const std::string& name) {
        const auto [it, made] = shared_.try_emplace(name, 0);
        if (made) {
            it->second = vertex(kind, name, -1);
        }
        return it->second;
    }
    void connect(int a, int b, LinkId up, LinkId down, LinkId peer_up = {}, LinkId peer_down = {}) {
        out_.edges.push_back({a, b, up, peer_up});
        out_.edges.push_back({b, a, down, peer_down});
    }
    [[nodiscard]] LinkId link(int node, int offset) const {
        return LinkId{static_cast<std::size_t>(node) * node_.links.size() +
                      static_cast<std::size_t>(offset)};
    }

    void add_node(int n) {
        const Node& spec = fabric_.machine().cluster.node;
        std::vector<int> gpus;
        for (int g = 0; g < node_.gpus; ++g) {
            gpus.push_back(vertex(VertexKind::Gpu, fmt::format("node{}/gpu{}", n, g), n));
            out_.gpus.push_back(gpus.back());
        }
        if (spec.intra == IntraNode::NvSwitch) {
            const int domain = n * node_.gpus / fabric_.gpus_per_domain();
            const int nvswitch = shared(VertexKind::NvSwitch, fmt::format("nvswitch{}", domain));
            for (int g = 0; g < node_.gpus; ++g) {
                const int port = node_.nvlink_base + 2 * g;
                connect(
                    gpus[static_cast<std::size_t>(g)], nvswitch, link(n, port), link(n, port + 1));
            }
        }
        for (std::size_t m = 0; m < spec.mesh.size() && spec.intra == IntraNode::Mesh; ++m) {
            const int at = node_.nvlink_base + 2 * static_cast<int>(m);
            connect(gpus[static_cast<std::size_t>(spec.mesh[m].a)],
                    gpus[static_cast<std::size_t>(spec.mesh[m].b)],
                    link(n, at),
                    link(n, at + 1));
        }
        std::vector<int> nics;
        nics.reserve(static_cast<std::size_t>(node_.nics));
        for (int k = 0; k < node_.nics; ++k) {
            nics.push_back(vertex(VertexKind::Nic, fmt::format("node{}/nic{}", n, k), n));
            add_uplinks(n, k, nics.back());
        }
        if (node_.has_pcie) {
            add_pcie(n, gpus, nics);
        } else {
            for (int g = 0; g < node_.gpus && node_.nics > 0; ++g) {
                const int nic = node_.nic_of_gpu[static_cast<std::size_t>(g)];
                connect(
                    gpus[static_cast<std::size_t>(g)], nics[static_cast<std::size_t>(nic)], {}, {});
            }
        }
    }

    void add_pcie(int n, const std::vector<int>& gpus, const std::vector<int>& nics) {
        std::vector<int> sockets;
        for (int s = 0; s < node_.sockets; ++s) {
            sockets.push_back(vertex(VertexKind::Socket, fmt::format("node{}/socket{}", n, s), n));
        }
        std::vector<int> switches;
        for (int s = 0; s < node_.switches; ++s) {
            switches.push_back(
                vertex(VertexKind::PcieSwitch, fmt::format("node{}/pcie{}", n, s), n));
            const int up = node_.uplink_base + 2 * s;
            const int bridge = node_.bridge_base + 2 * s;
            connect(switches.back(),
                    sockets[static_cast<std::size_t>(
                        node_.socket_of_switch[static_cast<std::size_t>(s)])],
                    link(n, up),
                    link(n, up + 1),
                    link(n, bridge),
                    link(n, bridge + 1));
        }
        for (int g = 0; g < node_.gpus; ++g) {
            const int port = node_.pcie_base + 2 * g;
            const int at = node_.switch_of_gpu[static_cast<std::size_t>(g)];
            connect(gpus[static_cast<std::size_t>(g)],
                    switches[static_cast<std::size_t>(at)],
                    link(n, port),
                    link(n, port + 1));
        }
        int at = node_.socket_base;
        for (int a = 0; a < node_.sockets; ++a) {
            for (int b = 0; b < node_.sockets; ++b) {
                if (a != b) {
                    out_.edges.push_back({sockets[static_cast<std::size_t>(a)],
                                          sockets[static_cast<std::size_t>(b)],
                                          link(n, at++),
                                          {}});
                }
            }
        }
        for (int k = 0; k < node_.nics; ++k) {
            const auto nic = static_cast<std::size_t>(k);
            const int on = node_.switch_of_nic[nic];
            connect(nics[nic],
                    on >= 0 ? switches[static_cast<std::size_t>(on)]
                            : sockets[static_cast<std::size_t>(node_.socket_of_nic[nic])],
                    {},
                    {});
        }
    }

    // From a NIC to its leaf, and the leaf's own way up when it is the first time it is met.
    void add_uplinks(int n, int k, int nic) {
        const FabricTiers& tiers = fabric_.tiers();
        const NicPlace place = fabric_.place_of(n, k);
        const LinkId out = fabric_.nic_out(n, k);
        const LinkId in = fabric_.nic_in(n, k);
        if (place.leaf < 0) {
            if (fabric_.machine().cluster.fabric.kind != FabricKind::None) {
                connect(nic, shared(VertexKind::Leaf, "switch"), out, in);
            }
            return;
        }
        const std::string leaf_name = fmt::format("leaf{}", place.leaf);
        const bool first = !shared_.contains(leaf_name);
        const int leaf = shared(VertexKind::Leaf, leaf_name);
        connect(nic, leaf, out, in);
        for (int lane = 0; lane < tiers.leaf_lanes && first; ++lane) {
            std::string name = place.pod < 0 ? "spine" : fmt::format("pod{}/spine", place.pod);
            if (tiers.leaf_lanes > 1) {
                name += fmt::format("{}", lane);
            }
            const bool first_spine = !shared_.contains(name);
            const int spine = shared(VertexKind::Spine, name);
            connect(leaf,
                    spine,
                    fabric_.leaf_link(place.leaf, lane, true),
                    fabric_.leaf_link(place.leaf, lane, false));
            for (int core = lane % tiers.pod_lanes;
                 core < tiers.pod_lanes && place.pod >= 0 && first_spine;
                 core += tiers.leaf_lanes) {
                const std::string core_name =
                    tiers.pod_lanes > 1 ? fmt::format("core{}", core) : "core";
                connect(spine,
                        shared(VertexKind::Core, core_name),
                        fabric_.pod_link(place.pod, core, true),
                        fabric_.pod_link(place.pod, core, false));
            }
        }
    }

    const Fabric& fabric_;
    const NodeLinks& node_;
    int nodes_;
    FabricGraph out_;
    std::map<std::string, int> shared_;
};

}  // namespace

FabricGraph build_graph(const Fabric& fabric, int nodes) {
    return GraphBuilder(fabric, nodes).build();
}

std::vector<std::vector<LinkId>> search_routes(const FabricGraph& graph,
                                               DeviceId from,
                                               DeviceId to) {
    std::vector<DirectedEdge> edges;
    edges.reserve(graph.edges.size());
    for (const GraphEdge& e : graph.edges) {
        edges.push_back({e.from, e.to});
    }
    const auto a = static_cast<std::size_t>(graph.gpus[from.index]);
    const auto b = static_cast<std::size_t>(graph.gpus[to.index]);
    const bool peers = graph.vertices[a].node == graph.vertices[b].node;
    std::vector<bool> relays;
    relays.reserve(graph.vertices.size());
    for (const GraphVertex& v : graph.vertices) {
        // A NIC that two GPUs share does not loop back.
        relays.push_back(v.kind != VertexKind::Gpu && (v.kind != VertexKind::Nic || !peers));
    }
    const PathFinder finder(static_cast<int>(graph.vertices.size()), edges, relays);
    std::vector<std::vector<LinkId>> routes;
    for (const auto& path : finder.shortest(
             static_cast<int>(a), static_cast<int>(b), std::numeric_limits<int>::max())) {
        std::vector<LinkId> links;
        for (const std::size_t i : path) {
            const GraphEdge& e = graph.edges[i];
            if (e.link.valid()) {
                links.push_back(e.link);
            }
            if (peers && e.peer_link.valid()) {
                links.push_back(e.peer_link);
            }
        }
        routes.push_back(std::move(links));
    }
    return routes;
}

}  // namespace memwall
