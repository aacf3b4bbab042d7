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
    int domain = -1;  // of the member before: most follow one of their own node
    int slot = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (fabric.domain_of(members[i]) != domain) {
            domain = fabric.domain_of(members[i]);
            const auto [at, added] = slots.try_emplace(domain, static_cast<int>(count.size()));
            slot = at->second;
            if (added) {
                count.push_back(0);
            }
        }
        slot_of[i] = slot;
        ++count[static_cast<std::size_t>(slot)];
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

struct Gate {
    int server = 0;
    int nic = 0;
    int offset = 0;
    auto operator<=>(const Gate&) const = default;
};

// The first member of the node at each of its NICs, by NIC.
void find_gates(std::vector<Gate>& gates,
                const Layout& layout,
                int node,
                const Fabric& fabric,
                std::span<const DeviceId> members) {
    gates.clear();
    const auto first = static_cast<std::size_t>(layout.node_begin[static_cast<std::size_t>(node)]);
    for (int offset = 0; offset < layout.ranks_in(node); ++offset) {
        const int member = layout.order[first + static_cast<std::size_t>(offset)];
        const DeviceId device = members[static_cast<std::size_t>(member)];
        gates.push_back({fabric.node_of(device), fabric.nic_of(device), offset});
    }
    std::sort(gates.begin(), gates.end());
    const auto same_nic = [](const Gate& a, const Gate& b) {
        return a.server == b.server && a.nic == b.nic;
    };
    gates.erase(std::unique(gates.begin(), gates.end(), same_nic), gates.end());
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
    std::vector<Gate> all;
    std::vector<std::size_t> begin;
    std::vector<Gate> gates;
    std::size_t lanes = members.size();
    for (int node = 0; node < layout.nodes(); ++node) {
        find_gates(gates, layout, node, fabric, members);
        lanes = std::min(lanes, gates.size());
        begin.push_back(all.size());
        all.insert(all.end(), gates.begin(), gates.end());
    }
    layout.lanes = static_cast<int>(lanes);
    layout.gate.reserve(begin.size() * lanes);
    for (const std::size_t first : begin) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            layout.gate.push_back(all[first + lane].offset);
        }
    }
    return layout;
}

Layout layout_of(const EvenLayout& even) {
    MW_CHECK(even.lanes >= 1, "a group has at least one lane");
    MW_CHECK(even.lanes <= even.ranks_per_node, "a lane needs a rank of its own in each node");
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
