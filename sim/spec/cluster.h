#pragma once
// Nodes, fabrics and clusters as data (topologies/nodes, fabrics, clusters). The graph is built in sim/network.
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/spec/gpu.h"

namespace memwall {

enum class IntraNode : std::uint8_t {
    NvSwitch,  // every GPU reaches every other at its full NVLink rate
    Mesh,      // direct links, listed (DGX-1 cube mesh, bridge pairs, xGMI)
    PcieTree,  // no NVLink: GPUs share PCIe switches and the socket link
};

struct MeshLink {
    int a = 0;
    int b = 0;
    int links = 1;  // in units of gpu.link_rate
};

struct Node {
    std::string name;
    Gpu gpu;
    int gpus = 8;
    IntraNode intra = IntraNode::NvSwitch;
    std::vector<MeshLink> mesh;
    Duration nvlink_latency{};
    // PCIe tree: GPUs per switch, switches per socket; the peer path over switch and host bridge.
    int gpus_per_pcie_switch = 2;
    int sockets = 2;
    Bandwidth pcie_switch_uplink;  // one direction, of one switch
    Bandwidth peer_rate;           // GPU to GPU through the host bridge, one direction
    Bandwidth socket_link;
    Duration pcie_latency{};
    int nics = 8;
    Bandwidth nic_rate;  // one NIC, one direction
    Bytes host_memory;
    Bandwidth host_memory_bandwidth;
    int nodes_per_nvlink_domain = 1;  // NVL72: 18 trays of 4 GPUs make one domain
};

enum class FabricKind : std::uint8_t { SingleSwitch, FatTree2, FatTree3, RailOptimised, None };

// Network constants of the NCCL laws over several nodes (e_W, l_net, L_net, k128, r_LL, r128, Fr, Ft).
struct FabricNccl {
    double efficiency = 1;    // e_W: usable share of the NIC line rate
    Duration step_ll{};       // l_net
    Duration step_simple{};   // L_net
    double ll128_factor = 1;  // k128
    Bandwidth ll_rate;        // r_LL, per node
    Bandwidth ll128_rate;     // r128
    Duration ring_fill{};     // Fr
    Duration tree_fill{};     // Ft
};

struct FabricSpec {
    std::string name;
    FabricKind kind = FabricKind::None;
    int leaf_nodes =
        0;  // nodes under one leaf (one leaf per rail group when rail-optimised); 0 = all
    int pod_leaves = 0;           // three-level: leaves in one pod
    double oversubscription = 1;  // leaf: down / up capacity
    double pod_oversubscription = 1;
    int spines =
        0;  // parallel up-links are one bundle under even routing; 0 = leaf's down-links / oversubscription
    Duration hop_latency{};  // one switch hop with its cable
    FabricNccl nccl;
};

struct Cluster {
    std::string name;
    Node node;
    FabricSpec fabric;
    int nodes_max = 0;
    std::vector<std::string> stacks;  // known to run there
};

}  // namespace memwall
