#pragma once
// The machine's graph: GPUs, NVLink domains, PCIe switches, NICs, leaf, spine and core switches, with directed links.
// Built once per plan. Routes between NICs follow from the tiers by arithmetic; routes inside a node without NVSwitch come
// from a Boost.Graph search over one node (all nodes are alike). Nothing is stored per pair of GPUs of the machine.
//
// Capacities are raw line rates; what protocols can use of them is the business of sim/collectives (link_capacities).
// Events of the machine (link_events.h) leave a link a share of its capacity, Link::left, for the whole run. Routes do not
// change, and neither do capacities: a library plans its collectives for the machine as it was built.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/id.h"
#include "sim/core/units.h"
#include "sim/network/node_links.h"
#include "sim/spec/cluster.h"
#include "sim/spec/plan.h"

namespace memwall {

using DeviceId = Id<struct DeviceTag>;  // a GPU: node * node.gpus + local index

struct Route {
    std::vector<LinkShare> links;
    Duration latency{};
    int hops = 0;                // switches passed, NVSwitch and PCIe included
    bool crosses_nodes = false;  // leaves the NVLink domain (or the node where there is none)
};

// The links between two NICs, leaf to core and down again, in path order; each carries all bytes.
struct NicPath {
    std::array<LinkId, 4> links;
    int count = 0;
    int hops = 0;  // network switches passed
};

// Which switches a NIC sits under; -1 where the tier does not exist.
struct NicPlace {
    int leaf = 0;
    int pod = 0;
};

// The tiers above the NICs. A lane is one of the parallel up-links of a switch (or of a pod); under even routing all
// of them are one bundle, which counts as one lane.
struct FabricTiers {
    int leaf_nodes = 0;  // nodes under one leaf
    int rails = 1;       // leaves per group of nodes
    int leaves = 0;      // 0 = one switch, or none
    int leaves_per_pod = 0;
    int pods = 0;  // 0 = no third tier
    int leaf_lanes = 1;
    int pod_lanes = 1;
};

class Fabric {
  public:
    // The machine must outlive the fabric. Its events name links that are there: check_link_events().
    explicit Fabric(const Machine& machine);

    [[nodiscard]] std::size_t devices() const { return devices_; }
    [[nodiscard]] int nodes() const { return nodes_; }
    // NICs per node as modelled: several NICs of one GPU are one bundle, so there are never more than GPUs.
    [[nodiscard]] int nics() const { return node_.nics; }
    [[nodiscard]] Bandwidth nic_rate() const { return node_.nic_rate; }
    [[nodiscard]] const FabricTiers& tiers() const { return tiers_; }
    [[nodiscard]] const std::vector<Link>& links() const { return links_; }
    [[nodiscard]] std::string link_name(
        LinkId link) const;  // "node3/gpu5->nvswitch", "leaf2->spine"
    [[nodiscard]] std::optional<LinkId> find_link(std::string_view name) const;
    [[nodiscard]] bool leaves_node(LinkId link) const;  // a NIC's outgoing direction
    // Between two GPUs: over NVLink inside a domain, over the PCIe tree where there is none, else through the NICs on
    // both GPUs' rails. from == to gives a route without links.
    [[nodiscard]] Route route(DeviceId from, DeviceId to) const;
    // The same, but between rails of different nodes the message first moves over NVLink to the local GPU on the
    // receiver's rail, so that a rail-optimised leaf carries it (NCCL's PXN). Equal to route() where that gains nothing.
    [[nodiscard]] Route rail_route(DeviceId from, DeviceId to) const;
    [[nodiscard]] int node_of(DeviceId d) const {
        return static_cast<int>(d.index) / gpus_per_node_;
    }
    [[nodiscard]] int domain_of(DeviceId d) const { return node_of(d) / nodes_per_domain_; }
    [[nodiscard]] int rail_of(DeviceId d) const {
        return static_cast<int>(d.index) % gpus_per_node_;
    }
    [[nodiscard]] int gpus_per_node() const { return gpus_per_node_; }
    [[nodiscard]] int gpus_per_domain() const { return gpus_per_node_ * nodes_per_domain_; }
    [[nodiscard]] const Machine& machine() const { return *machine_; }
    [[nodiscard]] const NodeLinks& node_links() const { return node_; }

    // Building blocks for usage vectors; invalid ids where there is none.
    // The port on the NVSwitch; on a mesh or a PCIe tree the GPU's PCIe port (a mesh has a link per neighbour: route()).
    [[nodiscard]] LinkId gpu_out(DeviceId d) const;
    [[nodiscard]] LinkId gpu_in(DeviceId d) const;
    [[nodiscard]] LinkId nic_out(int node, int nic) const {
        return in_node(node, node_.nic_base + 2 * nic);
    }
    [[nodiscard]] LinkId nic_in(int node, int nic) const {
        return in_node(node, node_.nic_base + 2 * nic + 1);
    }
    // From a GPU to a NIC of its node and back: the links of the PCIe tree, without the NIC's own. Empty where each GPU
    // has its NIC on its own PCIe switch and PCIe is the faster of the two.
    [[nodiscard]] std::vector<LinkShare> gpu_to_nic(DeviceId d, int nic) const;
    [[nodiscard]] std::vector<LinkShare> nic_to_gpu(int nic, DeviceId d) const;
    // From NIC to NIC through leaf, spine, core: without the NICs themselves.
    [[nodiscard]] Route between_nics(int node_a, int nic_a, int node_b, int nic_b) const;
    [[nodiscard]] NicPath nic_path(int node_a,
                                   int nic_a,
                                   int node_b,
                                   int nic_b) const;  // the same, without allocation
    [[nodiscard]] NicPlace place_of(int node, int nic) const;
    [[nodiscard]] int nodes_under(int leaf) const;
    [[nodiscard]] int leaves_under(int pod) const;
    [[nodiscard]] LinkId leaf_link(int leaf, int lane, bool up) const;
    [[nodiscard]] LinkId pod_link(int pod, int lane, bool up) const;
    [[nodiscard]] int nic_of(DeviceId d) const {
        return node_.nic_of_gpu[static_cast<std::size_t>(rail_of(d))];
    }

  private:
    [[nodiscard]] LinkId in_node(int node, int offset) const {
        return LinkId{static_cast<std::size_t>(node) * static_cast<std::size_t>(node_.count()) +
                      static_cast<std::size_t>(offset)};
    }
    void lay_out_tiers();
    void add_leaf_links();
    void add_pod_links();
    void apply_events();
    void append_in_node(Route& route, int node, const NodeRoute& in_node) const;

    const Machine* machine_;
    NodeLinks node_;
    std::size_t devices_ = 0;
    int nodes_ = 0;
    int gpus_per_node_ = 0;
    int nodes_per_domain_ = 1;
    FabricTiers tiers_;
    std::size_t leaf_base_ = 0;
    std::size_t pod_base_ = 0;
    std::vector<Link> links_;
};

}  // namespace memwall
