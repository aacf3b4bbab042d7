#include "sim/collectives/shape.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sim/collectives/layout.h"
#include "sim/collectives/usage.h"
#include "sim/collectives/wiring.h"

namespace memwall {

namespace {

std::vector<DeviceId> devices_of(const Layout& layout,
                                 int node,
                                 std::span<const DeviceId> members) {
    std::vector<DeviceId> devices;
    for (int i = 0; i < layout.ranks_in(node); ++i) {
        const int at = layout.node_begin[static_cast<std::size_t>(node)] + i;
        const int member = layout.order[static_cast<std::size_t>(at)];
        devices.push_back(members[static_cast<std::size_t>(member)]);
    }
    return devices;
}

// The rate at which every member of the node can send at once around the ring; raw capacities.
Bandwidth ring_port(const Fabric& fabric,
                    const Layout& layout,
                    int node,
                    std::span<const DeviceId> members) {
    const Gpu& gpu = fabric.machine().cluster.node.gpu;
    UsageBuilder builder(fabric, members);
    builder.spread(layout, node, 1.0);
    double port = std::numeric_limits<double>::infinity();
    for (const Usage& usage : builder.build(1.0)) {
        const double capacity = fabric.links()[usage.link].capacity.value;
        port = std::min(
            port, capacity * static_cast<double>(kUnit) / static_cast<double>(usage.coefficient));
    }
    if (port < std::numeric_limits<double>::infinity()) {
        return Bandwidth{port};
    }
    const Bandwidth nvlink{gpu.link_rate.value * gpu.links};
    return fabric.machine().cluster.node.intra == IntraNode::PcieTree || gpu.links == 0 ? gpu.pcie
                                                                                        : nvlink;
}

void describe_nodes(GroupShape& shape,
                    const Fabric& fabric,
                    const Layout& layout,
                    std::span<const DeviceId> members) {
    const bool latencies = counts_steps(fabric.machine());
    shape.port = Bandwidth{std::numeric_limits<double>::infinity()};
    for (int node = 0; node < layout.nodes(); ++node) {
        const std::vector<DeviceId> devices = devices_of(layout, node, members);
        const NodeWiring wiring = wiring_of(fabric, devices);
        shape.medium = std::max(shape.medium, wiring.medium);
        shape.port = std::min(shape.port, ring_port(fabric, layout, node, members));
        for (const RingHop& hop : wiring.hops) {
            if (latencies) {
                const Route route = fabric.route(devices[static_cast<std::size_t>(hop.from)],
                                                 devices[static_cast<std::size_t>(hop.to)]);
                shape.hop_in_node = std::max(shape.hop_in_node, route.latency);
            }
        }
        if (wiring.switched && layout.ranks_in(node) == shape.ranks_per_node) {
            return;  // behind NVLink switches all nodes are alike
        }
    }
}

Duration longest_hop_across(const Fabric& fabric,
                            const Layout& layout,
                            std::span<const DeviceId> members) {
    Duration longest{};
    for (int node = 0; node < layout.nodes(); ++node) {
        for (int lane = 0; lane < layout.lanes; ++lane) {
            const int from = layout.gate_member(node, lane);
            const int to = layout.gate_member((node + 1) % layout.nodes(), lane);
            longest = std::max(longest,
                               fabric
                                   .route(members[static_cast<std::size_t>(from)],
                                          members[static_cast<std::size_t>(to)])
                                   .latency);
        }
    }
    return longest;
}

}  // namespace

bool counts_steps(const Machine& machine) {
    return machine.law == CollectiveLaw::Steps || machine.fidelity == Fidelity::Stepwise ||
           machine.fidelity == Fidelity::Ideal;
}

GroupShape shape_of(const Fabric& fabric, std::span<const DeviceId> members) {
    GroupShape shape;
    if (members.size() < 2) {
        return shape;
    }
    const Layout layout = layout_of(fabric, members);
    const Node& node = fabric.machine().cluster.node;
    shape.ranks = layout.ranks;
    shape.nodes = layout.nodes();
    shape.ranks_per_node_min = layout.ranks;
    for (int i = 0; i < layout.nodes(); ++i) {
        shape.ranks_per_node = std::max(shape.ranks_per_node, layout.ranks_in(i));
        shape.ranks_per_node_min = std::min(shape.ranks_per_node_min, layout.ranks_in(i));
    }
    shape.lanes = layout.lanes;
    shape.nvls = node.intra == IntraNode::NvSwitch;
    describe_nodes(shape, fabric, layout, members);
    if (shape.nodes > 1) {
        shape.lane_rate = fabric.nic_rate();
        if (counts_steps(fabric.machine())) {
            shape.hop_across = longest_hop_across(fabric, layout, members);
        }
    }
    return shape;
}

}  // namespace memwall
