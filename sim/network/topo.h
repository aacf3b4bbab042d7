#pragma once
// What `memwall topo` shows of a fabric: its tiers, its bisection bandwidth, the route between two GPUs, and a drawing.
// Values only; text and JSON are made elsewhere.
#include <string>
#include <vector>

#include "sim/network/fabric.h"

namespace memwall {

// One kind of link, both directions alike.
struct TopoTier {
    LinkTier tier = LinkTier::NvLink;
    std::string name;             // "NVLink port", "leaf to spine bundle", ...
    std::int64_t links = 0;       // per direction
    Bandwidth each;               // one direction; 0 = not limiting
    Bandwidth total;              // of all, one direction
    double oversubscription = 1;  // what can enter from below / capacity, of a full switch
    bool binding = false;         // some link of the tier can limit
};

// One direction of a connection, by the name that events use.
struct TopoLink {
    std::string name;
    LinkTier tier = LinkTier::NvLink;
    Bandwidth capacity;  // 0 = not limiting
    double left = 1;     // share of it that an event leaves
    bool binding = true;
};

struct TopoReport {
    std::string cluster;
    std::string node;
    std::string fabric;
    FabricKind kind = FabricKind::None;
    IntraNode intra = IntraNode::NvSwitch;
    int nodes = 0;
    std::size_t gpus = 0;
    int gpus_per_node = 0;
    int nics_per_node = 0;
    int domains = 0;      // nodes, or racks that NVLink joins
    int nvlink_gpus = 0;  // GPUs of the smallest NVLink domain; 1 = not all GPUs have NVLink
    int leaves = 0;
    int pods = 0;
    std::vector<TopoTier> tiers;     // from the GPU up; only those that exist; before events
    std::vector<TopoLink> degraded;  // by events
    Duration nvlink_latency{};
    Duration pcie_latency{};
    Duration hop_latency{};  // one network switch with its cable
    // Between the first and the second half of the GPUs in block order (halves of the nodes, or of the one node): what one
    // half can send to the other at most (minimum cut), one direction, before events.
    Bandwidth bisection;
    Bandwidth bisection_per_gpu;  // of the sending half
    std::string bisection_limit;  // which tier holds it down
};

[[nodiscard]] TopoReport describe(const Fabric& fabric);

[[nodiscard]] std::vector<TopoLink> describe_links(const Fabric& fabric);

struct TopoHop {
    TopoLink link;
    double share = 1;  // bytes on the link per byte sent
};

struct TopoRoute {
    std::string from;  // "rank 0: node0/gpu0"
    std::string to;
    std::vector<TopoHop> hops;
    Duration latency{};
    int switches = 0;
    bool crosses_nodes = false;
    Bandwidth limit;  // min of what is left of capacity / share; 0 = nothing limits
};

[[nodiscard]] TopoRoute describe_route(const Fabric& fabric, DeviceId from, DeviceId to);

// Graphviz: the first `nodes_shown` nodes and what is above them, one edge per pair of links.
[[nodiscard]] std::string to_dot(const Fabric& fabric, int nodes_shown);

}  // namespace memwall
