#pragma once
// Machines for the tests of this room, with round numbers of no particular product.
#include "sim/spec/plan.h"

namespace memwall::testing {

// 8 GPUs on NVSwitch at 100 GB/s, a 10 GB/s NIC each.
inline Machine switched(int nodes,
                        FabricKind kind,
                        int leaf_nodes = 0,
                        double oversubscription = 1) {
    Machine m;
    m.nodes = nodes;
    Node& node = m.cluster.node;
    node.gpus = 8;
    node.intra = IntraNode::NvSwitch;
    node.gpu.links = 10;
    node.gpu.link_rate = Bandwidth{10e9};
    node.gpu.pcie = Bandwidth{30e9};
    node.nvlink_latency = Duration{500'000};
    node.pcie_latency = Duration{300'000};
    node.nics = 8;
    node.nic_rate = Bandwidth{10e9};
    m.cluster.fabric.kind = kind;
    m.cluster.fabric.leaf_nodes = leaf_nodes;
    m.cluster.fabric.oversubscription = oversubscription;
    m.cluster.fabric.hop_latency = Duration{1'000'000};
    return m;
}

// 8 GPUs, two per PCIe switch, two sockets; one NIC of 10 GB/s.
inline Machine pcie_box(int nodes, FabricKind kind) {
    Machine m = switched(nodes, kind);
    Node& node = m.cluster.node;
    node.intra = IntraNode::PcieTree;
    node.gpu.links = 0;
    node.gpu.link_rate = Bandwidth{0};
    node.gpus_per_pcie_switch = 2;
    node.sockets = 2;
    node.pcie_switch_uplink = Bandwidth{30e9};
    node.peer_rate = Bandwidth{20e9};
    node.socket_link = Bandwidth{40e9};
    node.nics = 1;
    return m;
}

// The hybrid cube mesh of DGX-1 V100, six links per GPU (NVIDIA DGX-1 system architecture white paper, figure 4).
inline Machine cube_mesh() {
    Machine m = pcie_box(1, FabricKind::None);
    Node& node = m.cluster.node;
    node.intra = IntraNode::Mesh;
    node.gpu.links = 6;
    node.gpu.link_rate = Bandwidth{25e9};
    node.mesh = {{0, 1, 1},
                 {0, 2, 1},
                 {0, 3, 2},
                 {0, 4, 2},
                 {1, 2, 2},
                 {1, 3, 1},
                 {1, 5, 2},
                 {2, 3, 2},
                 {2, 6, 1},
                 {3, 7, 1},
                 {4, 5, 1},
                 {4, 6, 1},
                 {4, 7, 2},
                 {5, 6, 2},
                 {5, 7, 1},
                 {6, 7, 2}};
    return m;
}

}  // namespace memwall::testing
