#pragma once
// Machines for the tests of this room.
#include <numeric>
#include <vector>

#include "sim/network/fabric.h"
#include "sim/spec/plan.h"

namespace memwall::testing {

inline Duration micros(double us) {
    return Duration{static_cast<std::int64_t>(us * 1e6)};
}
inline Bandwidth gbs(double rate) {
    return Bandwidth{rate * 1e9};
}

// 8 GPUs on NVSwitch at 100 GB/s, a 10 GB/s NIC each, one switch between nodes; law: steps. Round numbers of no product.
inline Machine plain(int nodes, FabricKind kind = FabricKind::SingleSwitch) {
    Machine m;
    m.nodes = nodes;
    m.law = CollectiveLaw::Steps;
    Node& node = m.cluster.node;
    node.name = "plain";
    node.gpus = 8;
    node.intra = IntraNode::NvSwitch;
    node.gpu.name = "plain-gpu";
    node.gpu.links = 10;
    node.gpu.link_rate = gbs(10);
    node.gpu.pcie = gbs(30);
    node.gpu.nccl.channels = 8;
    node.nvlink_latency = Duration{500'000};
    node.nics = 8;
    node.nic_rate = gbs(10);
    m.cluster.fabric.kind = kind;
    m.cluster.fabric.hop_latency = Duration{2'000'000};
    return m;
}

// DGX-like machines with the book's constants per generation and InfiniBand (topologies/gpus, topologies/fabrics).
inline Machine nccl_machine(const Gpu& gpu, int nodes, double nic_gbs) {
    Machine m = plain(nodes, FabricKind::RailOptimised);
    m.law = CollectiveLaw::Nccl;
    m.cluster.node.gpu = gpu;
    m.cluster.node.nic_rate = gbs(nic_gbs);
    FabricNccl& net = m.cluster.fabric.nccl;
    net.efficiency = 0.98;
    net.step_ll = micros(6.8);
    net.step_simple = micros(29);
    net.ll128_factor = 4.6;
    net.ll_rate = gbs(7.5);
    net.ll128_rate = gbs(47);
    net.ring_fill = micros(54);
    net.tree_fill = micros(169);
    return m;
}

inline Gpu a100() {
    Gpu g;
    g.name = "a100";
    g.links = 12;
    g.link_rate = gbs(25);
    g.pcie = gbs(32);
    NcclConstants& c = g.nccl;
    c.ring = gbs(222);
    c.ring_efficiency = 0.74;
    c.base_ll = micros(8.7);
    c.step_ll = micros(0.74);
    c.base_simple = micros(27.1);
    c.step_simple = micros(7.7);
    c.extra_pass = 0.29;
    c.fill = micros(62);
    c.base_p2p = micros(14.1);
    c.fill_p2p = micros(59);
    c.self_copy = 0.37;
    c.channels = 24;
    c.search_channels = 12;
    c.search_speed = gbs(20);
    c.ll_max = gbs(87.7);
    c.ll128_per_channel = gbs(20);
    c.tree_per_channel = gbs(24);
    c.cross_socket = 1;
    c.pair_factor = 1;
    return g;
}

inline Gpu hopper() {
    Gpu g = a100();
    g.name = "hopper";
    g.links = 18;
    g.pcie = gbs(63);
    NcclConstants& c = g.nccl;
    c.ring = gbs(375);
    c.ring_efficiency = 0.83;
    c.base_ll = micros(4.4);
    c.step_ll = micros(0.79);
    c.base_simple = micros(13.8);
    c.step_simple = micros(5.5);
    c.extra_pass = 0.47;
    c.fill = micros(31);
    c.base_p2p = micros(9.8);
    c.fill_p2p = micros(94);
    c.self_copy = 0.12;
    c.nvls = gbs(315);
    c.nvls_loop = micros(12.5);
    c.nvls_channels = 16;
    c.search_speed = gbs(30);
    c.ll_max = gbs(141);
    c.ll128_per_channel = gbs(36.7);
    c.tree_per_channel = gbs(38.7);
    c.nvls_head_speed = gbs(60);
    c.nvls_efficiency = 0.85;
    return g;
}

inline Gpu blackwell() {
    Gpu g = hopper();
    g.name = "blackwell";
    g.link_rate = gbs(50);
    NcclConstants& c = g.nccl;
    c.ring = gbs(675);
    c.ring_efficiency = 0.75;
    c.base_ll = micros(7.4);
    c.step_ll = micros(1.23);
    c.base_simple = micros(11.5);
    c.step_simple = micros(10.8);
    c.extra_pass = 0.63;
    c.fill = micros(3.5);
    c.base_p2p = micros(12.7);
    c.fill_p2p = micros(26);
    c.self_copy = 0.73;
    c.nvls = gbs(512);
    c.nvls_loop = micros(14.5);
    c.channels = 32;
    c.nvls_channels = 24;
    c.search_channels = 8;
    c.search_speed = gbs(90);
    c.ll_max = gbs(282);
    c.ll128_per_channel = gbs(40);
    c.tree_per_channel = gbs(70);
    c.nvls_head_speed = gbs(90);
    c.nvls_efficiency = 0.74;
    return g;
}

// 8 GPUs without NVLink, two per PCIe switch, two sockets.
inline Machine pcie_box(int nodes = 1) {
    Gpu g = a100();
    g.name = "pcie-gpu";
    g.links = 0;
    g.link_rate = Bandwidth{0};
    g.pcie = gbs(63);
    NcclConstants& c = g.nccl;
    c.ring = gbs(24.8);
    c.ring_efficiency = 0.39;
    c.base_ll = micros(4.1);
    c.step_ll = micros(1.44);
    c.base_simple = micros(10.1);
    c.step_simple = micros(7.9);
    c.extra_pass = 0.31;
    c.fill = micros(6);
    c.base_p2p = micros(5.8);
    c.fill_p2p = micros(5);
    c.self_copy = 0.6;
    c.cross_socket = 1.5;
    c.pair_factor = 1.72;
    c.channels = 2;
    c.search_channels = 1;
    c.search_speed = gbs(24);
    Machine m = nccl_machine(g, nodes, 12.5);
    Node& node = m.cluster.node;
    node.intra = IntraNode::PcieTree;
    node.gpus_per_pcie_switch = 2;
    node.sockets = 2;
    node.pcie_switch_uplink = gbs(63);
    node.peer_rate = gbs(24.8);
    node.socket_link = gbs(100);
    node.nics = 1;
    m.cluster.fabric.kind = nodes > 1 ? FabricKind::SingleSwitch : FabricKind::None;
    return m;
}

inline std::vector<DeviceId> devices(int count, int first = 0, int stride = 1) {
    std::vector<DeviceId> result;
    for (int i = 0; i < count; ++i) {
        result.emplace_back(static_cast<std::size_t>(first + (i * stride)));
    }
    return result;
}

}  // namespace memwall::testing
