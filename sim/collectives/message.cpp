// Send/receive of a bytes, one direction.
//   law: nccl, in the node
//     a <= 16 KiB: t = b_LL + 2 us + a / 6.5 GB/s
//     else:        t = max8( b_P + min(a, 64 KiB) / 32 GB/s,  6 us + a / r ),   r = min(1.2 B, 0.92 of the raw link rate)
//     Measured on one pair of A100 only (5 - 12 %); elsewhere unverified.
//   law: nccl, across nodes: t = L_net + 0.28 us + a / (e_W x NIC rate). No open measurement, unverified.
//   law: steps: t = latency of the route + a / slowest link.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/collectives/nccl/laws.h"
#include "sim/collectives/nccl/shared.h"
#include "sim/collectives/nccl/view.h"
#include "sim/collectives/split.h"
#include "sim/collectives/transfer.h"
#include "sim/collectives/wiring.h"

namespace memwall {

namespace {

LawTime in_node(const Machine& machine, const MessageShape& shape, double bytes) {
    const NcclConstants& gpu = machine.cluster.node.gpu.nccl;
    if (bytes <= kNcclFacts.p2p_ll_bytes) {
        const double flow = bytes / kNcclShared.p2p_ll_rate;
        return {us(gpu.base_ll) + kNcclShared.p2p_ll_base_us + flow, flow};
    }
    const double ring = per_us(ring_rate(machine.cluster.node, shape.medium, shape.slowest));
    const double rate =
        std::min(kNcclShared.p2p_rate * ring, kNcclShared.p2p_raw_share * per_us(shape.slowest));
    const double base = us(gpu.base_p2p) + (std::min(bytes, kNcclFacts.p2p_channel_bytes) /
                                            kNcclShared.p2p_channel_rate);
    return {smooth_max(base, kNcclShared.p2p_base_us + (bytes / rate), kNcclShared.norm_in_node),
            bytes / rate};
}

LawTime across(const Machine& machine, const MessageShape& shape, double bytes) {
    const FabricNccl& net = machine.cluster.fabric.nccl;
    const double flow = bytes / (per_us(shape.slowest) * net.efficiency);
    return {us(net.step_simple) + kNcclShared.per_peer_us + flow, flow};
}

std::vector<Usage> usage_along(const Route& route) {
    std::vector<Usage> usage;
    usage.reserve(route.links.size());
    for (const LinkShare& link : route.links) {
        if (link.share > 0) {
            usage.push_back({.link = link.link.index, .coefficient = link.share});
        }
    }
    std::sort(usage.begin(), usage.end());
    // A relay may pass a link twice.
    std::size_t kept = 0;
    for (const Usage& u : usage) {
        if (kept > 0 && usage[kept - 1].link == u.link) {
            usage[kept - 1].coefficient += u.coefficient;
        } else {
            usage[kept++] = u;
        }
    }
    usage.resize(kept);
    return usage;
}

// One channel per 64 KiB; across nodes no more than a NIC's share of the node's channels.
int channels_of(const Machine& machine, const MessageShape& shape, double bytes) {
    const Node& node = machine.cluster.node;
    const int most = shape.crosses_nodes
                         ? std::max(1, node.gpu.nccl.channels / std::max(1, node.gpus))
                         : kNcclFacts.p2p_channels_max;
    return static_cast<int>(std::clamp(
        std::ceil(bytes / kNcclFacts.p2p_channel_bytes), 1.0, static_cast<double>(most)));
}

MessagePath path_along(const Fabric& fabric, const Route& route, DeviceId from, DeviceId to) {
    const Machine& machine = fabric.machine();
    MessagePath path;
    path.shape.crosses_nodes = route.crosses_nodes;
    path.shape.latency = route.latency;
    if (!route.crosses_nodes && machine.cluster.node.intra != IntraNode::NvSwitch) {
        path.shape.medium = wiring_of(fabric, std::array{from, to}).medium;
    }
    double slowest = std::numeric_limits<double>::infinity();
    for (const LinkShare& link : route.links) {
        const double capacity = fabric.links()[link.link.index].capacity.value;
        if (capacity > 0 && link.share > 0) {
            slowest = std::min(
                slowest, capacity * static_cast<double>(kUnit) / static_cast<double>(link.share));
        }
    }
    path.shape.slowest = Bandwidth{std::isfinite(slowest) ? slowest : 0};
    if (machine.fidelity != Fidelity::Ideal && machine.fidelity != Fidelity::AlphaBeta) {
        path.usage = usage_along(route);
    }
    return path;
}

}  // namespace

MessagePath message_path(const Fabric& fabric, DeviceId from, DeviceId to) {
    return path_along(fabric, fabric.rail_route(from, to), from, to);
}

MessagePath step_path(const Fabric& fabric, DeviceId from, DeviceId to) {
    return path_along(fabric, fabric.route(from, to), from, to);
}

CollectiveTime message_time(const Machine& machine, const MessageShape& shape, Bytes bytes) {
    CollectiveTime time;
    if (bytes.value <= 0 || shape.slowest.value <= 0) {
        return time;
    }
    const auto size = static_cast<double>(bytes.value);
    time.variant = {Algorithm::PointToPoint, Protocol::None};
    time.crosses_nodes = shape.crosses_nodes;
    time.blocks = channels_of(machine, shape, size);
    if (counts_steps(machine)) {
        const double latency = machine.fidelity == Fidelity::Ideal ? 0 : to_seconds(shape.latency);
        const double flow = size / shape.slowest.value;
        set_split(time, {.total = latency + flow, .flow = flow}, bytes);
        return time;
    }
    const LawTime law =
        shape.crosses_nodes ? across(machine, shape, size) : in_node(machine, shape, size);
    time.variant.protocol =
        !shape.crosses_nodes && size <= kNcclFacts.p2p_ll_bytes ? Protocol::Ll : Protocol::Simple;
    time.weight = weight_of(time.blocks, 1);
    set_split(time, {.total = law.total * 1e-6, .flow = law.flow * 1e-6}, bytes);
    return time;
}

Transfer plan_message(const Fabric& fabric, DeviceId from, DeviceId to, Bytes bytes) {
    MessagePath path = message_path(fabric, from, to);
    const CollectiveTime time = message_time(fabric.machine(), path.shape, bytes);
    Transfer transfer;
    if (time.variant.algorithm == Algorithm::None) {
        return transfer;
    }
    transfer.delay = time.delay;
    transfer.cap = time.cap;
    transfer.usage = std::move(path.usage);
    transfer.weight = time.weight;
    transfer.blocks = time.blocks;
    transfer.crosses_nodes = time.crosses_nodes;
    transfer.algorithm = name_of(time.variant.algorithm);
    transfer.protocol = name_of(time.variant.protocol);
    return transfer;
}

}  // namespace memwall
