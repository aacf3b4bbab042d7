#pragma once
// The links inside one node, laid out once (all nodes are alike), and the routes over them where there is no NVSwitch.
//
// PCIe tree:  GPU - PCIe switch - root port - socket - socket link - socket ...   NIC on a PCIe switch or a root port.
// Peer traffic that leaves a PCIe switch also passes the host bridge of its root port (Node::peer_rate), which is slower
// than the switch's uplink and is a property of the host; NIC traffic does not.
// Latency: one Node::nvlink_latency per NVLink, one Node::pcie_latency per way over PCIe, however many switches it passes.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/id.h"
#include "sim/core/units.h"
#include "sim/spec/cluster.h"

namespace memwall {

using LinkId = Id<struct LinkTag>;  // one direction

enum class LinkTier : std::uint8_t {
    NvLink,
    Pcie,
    HostBridge,
    Socket,
    Nic,
    LeafUp,
    LeafDown,
    SpineUp,
    SpineDown
};
inline constexpr int kLinkTiers = 9;

struct Link {
    Bandwidth capacity;  // 0 = not limiting
    LinkTier tier = LinkTier::NvLink;
    bool binding =
        true;  // false: capacity >= the sum of all that can be injected into it; counted, never shared
    double left = 1;  // share of its capacity that an event leaves it

    [[nodiscard]] Bandwidth available() const { return capacity * left; }
};

// Shares and coefficients are integers in units of 2^-20, so that folded and unfolded sums have the same bits.
inline constexpr std::int64_t kUnit = std::int64_t{1} << 20;

struct LinkShare {
    LinkId link;
    std::int64_t share = 0;  // of kUnit: bytes on the link per byte sent
    auto operator<=>(const LinkShare&) const = default;
};

// Inside a node; link ids count from the node's first link.
struct NodeRoute {
    std::vector<LinkShare> links;
    Duration latency{};
    int hops = 0;  // switches, bridges and intermediate GPUs passed
};

struct NodeLinks {
    int gpus = 0;
    int nics = 0;      // bundles, at most one per GPU
    int switches = 0;  // PCIe
    int sockets = 1;
    Bandwidth nic_rate;     // of a bundle
    bool has_pcie = false;  // PCIe links are modelled
    // First link of each kind; out/up at even, in/down at odd offsets. Mesh: a->b, b->a of each listed link.
    int nvlink_base = 0;
    int pcie_base = 0;
    int uplink_base = 0;
    int bridge_base = 0;
    int socket_base = 0;
    int nic_base = 0;
    std::vector<Link> links;
    std::vector<std::string> names;
    std::vector<int> nic_of_gpu;
    std::vector<int> switch_of_gpu;
    std::vector<int> switch_of_nic;  // -1: on a root port of its own
    std::vector<int> socket_of_nic;
    std::vector<int> socket_of_switch;
    // Empty on NVSwitch nodes: [from * gpus + to], [gpu * nics + nic].
    std::vector<NodeRoute> gpu_to_gpu;
    std::vector<NodeRoute> gpu_to_nic;
    std::vector<NodeRoute> nic_to_gpu;

    [[nodiscard]] int count() const { return static_cast<int>(links.size()); }
    [[nodiscard]] const NodeRoute& peers(int from, int to) const {
        return gpu_to_gpu[cell(from, gpus, to)];
    }
    [[nodiscard]] const NodeRoute& out(int gpu, int nic) const {
        return gpu_to_nic[cell(gpu, nics, nic)];
    }
    [[nodiscard]] const NodeRoute& in(int nic, int gpu) const {
        return nic_to_gpu[cell(gpu, nics, nic)];
    }

  private:
    static std::size_t cell(int row, int columns, int column) {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
               static_cast<std::size_t>(column);
    }
};

[[nodiscard]] NodeLinks build_node_links(const Node& node);

}  // namespace memwall
