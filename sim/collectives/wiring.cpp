#include "sim/collectives/wiring.h"

#include <algorithm>
#include <cstddef>

namespace memwall {

namespace {

int links_between(const Node& node, int a, int b) {
    int links = 0;
    for (const MeshLink& link : node.mesh) {
        if ((link.a == a && link.b == b) || (link.a == b && link.b == a)) {
            links += link.links;
        }
    }
    return links;
}

// Direct links between members, by member; empty when they do not connect them all.
std::vector<std::vector<int>> mesh_among(const Fabric& fabric, std::span<const DeviceId> devices) {
    const Node& node = fabric.machine().cluster.node;
    const std::size_t n = devices.size();
    std::vector<std::vector<int>> links(n, std::vector<int>(n));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            links[i][j] =
                i == j
                    ? 0
                    : links_between(node, fabric.rail_of(devices[i]), fabric.rail_of(devices[j]));
        }
    }
    std::vector<std::size_t> reached = {0};
    std::vector<bool> seen(n);
    seen[0] = true;
    for (std::size_t k = 0; k < reached.size(); ++k) {
        for (std::size_t j = 0; j < n; ++j) {
            if (links[reached[k]][j] > 0 && !seen[j]) {
                seen[j] = true;
                reached.push_back(j);
            }
        }
    }
    return reached.size() == n ? links : std::vector<std::vector<int>>{};
}

bool under_one_switch(const Fabric& fabric, std::span<const DeviceId> devices) {
    const int per_switch = std::max(1, fabric.machine().cluster.node.gpus_per_pcie_switch);
    return std::all_of(devices.begin(), devices.end(), [&](DeviceId d) {
        return fabric.rail_of(d) / per_switch == fabric.rail_of(devices.front()) / per_switch;
    });
}

std::vector<RingHop> cycle(std::size_t n) {
    std::vector<RingHop> hops;
    for (std::size_t i = 0; i < n && n > 1; ++i) {
        hops.push_back({.from = static_cast<int>(i), .to = static_cast<int>((i + 1) % n)});
    }
    return hops;
}

}  // namespace

NodeWiring wiring_of(const Fabric& fabric, std::span<const DeviceId> devices) {
    const Node& node = fabric.machine().cluster.node;
    const std::size_t n = devices.size();
    NodeWiring wiring;
    wiring.hops = cycle(n);
    if (node.intra == IntraNode::NvSwitch) {
        wiring.switched = true;
        return wiring;
    }
    if (node.intra == IntraNode::Mesh) {
        const std::vector<std::vector<int>> links = mesh_among(fabric, devices);
        if (!links.empty()) {
            wiring.hops.clear();
            for (std::size_t i = 0; i < n; ++i) {
                int degree = 0;
                for (const int l : links[i]) {
                    degree += l;
                }
                for (std::size_t j = 0; j < n; ++j) {
                    if (links[i][j] > 0) {
                        wiring.hops.push_back({.from = static_cast<int>(i),
                                               .to = static_cast<int>(j),
                                               .share = static_cast<double>(links[i][j]) / degree});
                    }
                }
            }
            return wiring;
        }
    }
    // A GPU alone in its node meets only its NIC, which sits under its own switch.
    wiring.medium =
        n <= 2 && under_one_switch(fabric, devices) ? Medium::PcieSwitch : Medium::HostBridge;
    return wiring;
}

}  // namespace memwall
