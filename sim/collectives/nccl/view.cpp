#include "sim/collectives/nccl/view.h"

#include <algorithm>
#include <cmath>

#include "sim/collectives/nccl/shared.h"

namespace memwall {

namespace {

// The peer path over a host bridge is a property of the host; where the node does not state it, the GPU's own constant
// stands for a host like the one it was measured in.
Bandwidth bridge_rate(const Node& node) {
    return node.peer_rate.value > 0 ? node.peer_rate : std::min(node.gpu.nccl.ring, node.gpu.pcie);
}

// Halves of all pairs cross sockets from five GPUs on (four share a socket in an 8-GPU box).
constexpr int kOneSocketRanks = 4;

}  // namespace

Bandwidth ring_rate(const Node& node, Medium medium, Bandwidth port) {
    const NcclConstants& nccl = node.gpu.nccl;
    switch (medium) {
    case Medium::NvLink: {
        const double all_links = node.gpu.link_rate.value * node.gpu.links;
        const bool all = std::abs(port.value - all_links) <= 1e-6 * all_links;
        return all ? nccl.ring : Bandwidth{nccl.ring_efficiency * port.value};
    }
    case Medium::PcieSwitch: {
        // pair_factor x ring_efficiency is the share of the port's raw rate that a pair under one switch reaches.
        return std::max(bridge_rate(node),
                        Bandwidth{nccl.pair_factor * nccl.ring_efficiency * node.gpu.pcie.value});
    }
    case Medium::HostBridge:
        return bridge_rate(node);
    }
    return bridge_rate(node);
}

NcclView nccl_view(const Machine& machine, const GroupShape& shape) {
    const Node& node = machine.cluster.node;
    NcclView view;
    view.n = shape.ranks;
    view.m = shape.nodes;
    view.p = shape.ranks_per_node;
    view.ring = per_us(ring_rate(node, shape.medium, shape.port));
    view.wire = shape.lanes * per_us(shape.lane_rate) * machine.cluster.fabric.nccl.efficiency;
    const double all_links = node.gpu.link_rate.value * node.gpu.links;
    view.full = shape.medium == Medium::NvLink && all_links > 0
                    ? std::min(1.0, shape.port.value / all_links)
                    : 1.0;
    view.medium = shape.medium;
    view.gpu = node.gpu.nccl;
    if (shape.medium != Medium::NvLink && node.gpu.links > 0) {
        // Constants of NVLink rings: over PCIe the library has one pair of channels at the peer path's rate.
        view.gpu.channels = kNcclFacts.pcie_channels;
        view.gpu.search_channels = 1;
        view.gpu.search_speed = bridge_rate(node);
    }
    view.net = machine.cluster.fabric.nccl;
    view.nvls = shape.nvls && view.gpu.nvls.value > 0 && shape.ranks_per_node > 2;
    view.cross_socket =
        shape.medium != Medium::NvLink && shape.ranks_per_node > kOneSocketRanks && node.sockets > 1
            ? view.gpu.cross_socket
            : 1.0;
    return view;
}

}  // namespace memwall
