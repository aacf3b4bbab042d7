#include "sim/collectives/layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/core/check.h"

namespace memwall {

std::vector<int> Layout::ring(int lane) const {
    std::vector<int> ring;
    ring.reserve(order.size());
    for (int node = 0; node < nodes(); ++node) {
        for (int step = 0; step < ranks_in(node); ++step) {
            ring.push_back(member(node, lane, step));
        }
    }
    return ring;
}

namespace {

// Nodes in the order in which members name them first: relabelling ranks with their placement changes nothing.
void group_by_node(Layout& layout, const Fabric& fabric, std::span<const DeviceId> members) {
    std::map<int, int> slots;
    std::vector<int> slot_of(members.size());
    std::vector<int> count;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const auto [at, added] =
            slots.try_emplace(fabric.domain_of(members[i]), static_cast<int>(count.size()));
        if (added) {
            count.push_back(0);
        }
        slot_of[i] = at->second;
        ++count[static_cast<std::size_t>(at->second)];
    }
    layout.node_begin.assign(count.size() + 1, 0);
    std::partial_sum(count.begin(), count.end(), layout.node_begin.begin() + 1);
    std::vector<int> next(layout.node_begin.begin(), layout.node_begin.end() - 1);
    layout.order.resize(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
        layout.order[static_cast<std::size_t>(next[static_cast<std::size_t>(slot_of[i])]++)] =
            static_cast<int>(i);
    }
}

// The first member of the node at each of its NICs, by NIC: offsets within the node.
std::vector<int> gates_of(const Layout& layout,
                          int node,
                          const Fabric& fabric,
                          std::span<const DeviceId> members) {
    std::vector<std::pair<std::pair<int, int>, int>> gates;  // (server, NIC), offset
    for (int offset = 0; offset < layout.ranks_in(node); ++offset) {
        const int member = layout.order[static_cast<std::size_t>(
            layout.node_begin[static_cast<std::size_t>(node)] + offset)];
        const DeviceId device = members[static_cast<std::size_t>(member)];
        gates.push_back({{fabric.node_of(device), fabric.nic_of(device)}, offset});
    }
    std::sort(gates.begin(), gates.end());
    std::vector<int> offsets;
    for (std::size_t i = 0; i < gates.size(); ++i) {
        if (i == 0 || gates[i].first != gates[i - 1].first) {
            offsets.push_back(gates[i].second);
        }
    }
    return offsets;
}

}  // namespace

Layout layout_of(const Fabric& fabric, std::span<const DeviceId> members) {
    MW_CHECK(!members.empty(), "a group has at least one member");
    Layout layout;
    layout.ranks = static_cast<int>(members.size());
    group_by_node(layout, fabric, members);
    if (layout.nodes() == 1) {
        layout.gate.assign(1, 0);
        return layout;
    }
    std::vector<std::vector<int>> gates;
    for (int node = 0; node < layout.nodes(); ++node) {
        gates.push_back(gates_of(layout, node, fabric, members));
    }
    std::size_t lanes = members.size();
    for (const std::vector<int>& g : gates) {
        lanes = std::min(lanes, g.size());
    }
    layout.lanes = static_cast<int>(lanes);
    for (const std::vector<int>& g : gates) {
        layout.gate.insert(layout.gate.end(), g.begin(), g.begin() + layout.lanes);
    }
    return layout;
}

Layout layout_of(const EvenLayout& even) {
    MW_CHECK(even.lanes >= 1 && even.lanes <= even.ranks_per_node,
             "a lane needs a rank of its own in each node");
    Layout layout;
    layout.ranks = even.nodes * even.ranks_per_node;
    layout.lanes = even.lanes;
    layout.order.resize(static_cast<std::size_t>(layout.ranks));
    std::iota(layout.order.begin(), layout.order.end(), 0);
    for (int node = 0; node <= even.nodes; ++node) {
        layout.node_begin.push_back(node * even.ranks_per_node);
    }
    for (int node = 0; node < even.nodes; ++node) {
        for (int lane = 0; lane < even.lanes; ++lane) {
            layout.gate.push_back(lane);
        }
    }
    return layout;
}

}  // namespace memwall
