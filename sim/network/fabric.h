#pragma once
// The machine's graph: GPUs, NVLink domains, PCIe switches, NICs, leaf, spine and core switches, with directed links.
// Built once per plan with Boost.Graph (network/fabric.cpp); flat arrays afterwards.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/id.h"
#include "sim/core/units.h"
#include "sim/spec/cluster.h"
#include "sim/spec/plan.h"

namespace memwall {

using DeviceId = Id<struct DeviceTag>;  // a GPU: node * node.gpus + local index
using LinkId = Id<struct LinkTag>;      // one direction

enum class LinkTier : std::uint8_t { NvLink, Pcie, HostBridge, Nic, LeafUp, LeafDown, SpineUp, SpineDown };

struct Link {
    Bandwidth capacity;
    LinkTier tier = LinkTier::NvLink;
    bool binding = true;  // false: capacity >= the sum of all that can be injected into it; counted, never shared
};

// Shares and coefficients are integers in units of 2^-20, so that folded and unfolded sums have the same bits.
inline constexpr std::int64_t kUnit = std::int64_t{1} << 20;

struct LinkShare {
    LinkId link;
    std::int64_t share = 0;  // of kUnit: bytes on the link per byte sent
    auto operator<=>(const LinkShare&) const = default;
};

struct Route {
    std::vector<LinkShare> links;
    Duration latency{};
    int hops = 0;
    bool crosses_nodes = false;  // leaves the NVLink domain (or the node where there is none)
};

class Fabric {
  public:
    explicit Fabric(const Machine& machine);

    [[nodiscard]] std::size_t devices() const { return devices_; }
    [[nodiscard]] const std::vector<Link>& links() const { return links_; }
    [[nodiscard]] std::string link_name(LinkId link) const;  // "node3/gpu5->nvswitch", "leaf2->spine"
    [[nodiscard]] bool leaves_node(LinkId link) const;  // a NIC's outgoing direction
    [[nodiscard]] Route route(DeviceId from, DeviceId to) const;
    [[nodiscard]] int node_of(DeviceId d) const { return static_cast<int>(d.index) / gpus_per_node_; }
    [[nodiscard]] int domain_of(DeviceId d) const { return node_of(d) / nodes_per_domain_; }
    [[nodiscard]] int rail_of(DeviceId d) const { return static_cast<int>(d.index) % gpus_per_node_; }
    [[nodiscard]] int gpus_per_node() const { return gpus_per_node_; }
    [[nodiscard]] const Machine& machine() const { return *machine_; }
    // Building blocks for usage vectors; invalid ids where there is none.
    [[nodiscard]] LinkId gpu_out(DeviceId d) const;            // NVLink or PCIe port
    [[nodiscard]] LinkId gpu_in(DeviceId d) const;
    [[nodiscard]] LinkId nic_out(int node, int nic) const;
    [[nodiscard]] LinkId nic_in(int node, int nic) const;
    // From NIC to NIC through leaf, spine, core: without the NICs themselves.
    [[nodiscard]] Route between_nics(int node_a, int nic_a, int node_b, int nic_b) const;
    [[nodiscard]] int nic_of(DeviceId d) const;                // the NIC on the GPU's rail

  private:
    const Machine* machine_;
    std::size_t devices_ = 0;
    int gpus_per_node_ = 0;
    int nodes_per_domain_ = 1;
    std::vector<Link> links_;
    // the owner of this room adds what it needs
};

}  // namespace memwall
