#pragma once
// The members of a group by node, and the lanes of a collective between nodes: a lane enters and leaves every node
// through one NIC, so that k lanes of 1/k of the message each use k NICs (NCCL's channels over rails).
#include <cstddef>
#include <span>
#include <vector>

#include "sim/collectives/shape.h"
#include "sim/network/fabric.h"

namespace memwall {

struct Layout {
    int ranks = 0;
    int lanes = 1;           // distinct NICs of the members of a node, of the node with the fewest
    std::vector<int> order;  // members (positions in the group), node after node
    std::vector<int> node_begin;  // into order; one more than there are nodes
    // [node * lanes + lane]: offset within the node of the member at the lane's NIC
    std::vector<int> gate;

    [[nodiscard]] int nodes() const { return static_cast<int>(node_begin.size()) - 1; }
    [[nodiscard]] int ranks_in(int node) const { return begin(node + 1) - begin(node); }
    // Member number `step` of the node on the lane's way through it: starts at the gate, wraps around.
    [[nodiscard]] int member(int node, int lane, int step) const {
        const int p = ranks_in(node);
        const int at = begin(node) + ((gate_of(node, lane) + step) % p);
        return order[static_cast<std::size_t>(at)];
    }
    [[nodiscard]] int gate_member(int node, int lane) const { return member(node, lane, 0); }
    // The lane's order of all members: node after node, each from its gate.
    [[nodiscard]] std::vector<int> ring(int lane) const;

  private:
    [[nodiscard]] int begin(int node) const { return node_begin[static_cast<std::size_t>(node)]; }
    [[nodiscard]] int gate_of(int node, int lane) const {
        const int at = (node * lanes) + lane;
        return gate[static_cast<std::size_t>(at)];
    }
};

[[nodiscard]] Layout layout_of(const Fabric& fabric, std::span<const DeviceId> members);

// A layout without a machine: m nodes of p ranks, lane j at rank j of each node.
struct EvenLayout {
    int nodes = 1;
    int ranks_per_node = 1;
    int lanes = 1;
};
[[nodiscard]] Layout layout_of(const EvenLayout& even);

}  // namespace memwall
