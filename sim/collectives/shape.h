#pragma once
// What the time of a collective depends on: the shape of its group, the same for all groups of a role on an even
// machine. Times are computed once per (shape, call); only the links differ from group to group.
#include <compare>
#include <cstdint>
#include <span>

#include "sim/core/units.h"
#include "sim/network/fabric.h"

namespace memwall {

// What the ring's hops inside a node run over.
enum class Medium : std::uint8_t {
    NvLink,      // switch, or direct links that connect all members
    PcieSwitch,  // two GPUs under one PCIe switch
    HostBridge,  // PCIe across switches or sockets
};

// "Node" means NVLink domain: a server, or the whole rack where NVLink reaches that far.
struct GroupShape {
    int ranks = 1;           // n
    int nodes = 1;           // m
    int ranks_per_node = 1;  // p, of the fullest node
    int ranks_per_node_min = 1;
    int lanes = 1;  // NICs that the members of a node sit at; of the node with the fewest
    Bandwidth
        lane_rate;  // raw rate of one such NIC (all of a GPU's together), one direction; 0 when m = 1
    bool nvls = false;  // the members of a node share an NVLink switch
    Medium medium = Medium::NvLink;
    Bandwidth port;          // raw rate of the ring's slowest hop in the node, one direction
    Duration hop_in_node{};  // latency of the longest hop between ring neighbours
    Duration hop_across{};
    auto operator<=>(const GroupShape&) const = default;
};

// Times follow from explicit steps on raw links: law: steps, and the fidelities ideal and stepwise under any law.
[[nodiscard]] bool counts_steps(const Machine& machine);

// members: devices in rank order of the group.
[[nodiscard]] GroupShape shape_of(const Fabric& fabric, std::span<const DeviceId> members);

}  // namespace memwall
