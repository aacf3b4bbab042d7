#pragma once
// The fabric as an explicit graph, for drawings and for checks of the arithmetic in fabric.cpp. Runs never need it.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/fabric.h"

namespace memwall {

enum class VertexKind : std::uint8_t { Gpu, NvSwitch, PcieSwitch, Socket, Nic, Leaf, Spine, Core };

struct GraphVertex {
    VertexKind kind = VertexKind::Gpu;
    std::string name;
    int node = -1;  // -1: above the nodes
};

struct GraphEdge {
    int from = 0;
    int to = 0;
    LinkId link;       // invalid: nothing limits this connection
    LinkId peer_link;  // the host bridge, passed by traffic between GPUs only
};

struct FabricGraph {
    std::vector<GraphVertex> vertices;
    std::vector<GraphEdge> edges;  // each connection in both directions
    std::vector<int> gpus;         // vertex by device
};

// Of the first `nodes` nodes and the switches above them.
[[nodiscard]] FabricGraph build_graph(const Fabric& fabric, int nodes);

// Routes by search: all shortest paths between two GPUs (Boost.Graph), GPUs not passed through, as links without shares.
// Differential partner of Fabric::route, which knows them by arithmetic; a mesh inside a node is not searched here.
[[nodiscard]] std::vector<std::vector<LinkId>> search_routes(const FabricGraph& graph,
                                                             DeviceId from,
                                                             DeviceId to);

}  // namespace memwall
