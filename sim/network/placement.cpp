#include "sim/network/placement.h"

namespace memwall {

Placements::Placements(const Fabric& fabric)
    : fabric_(fabric),
      hashed_(fabric.tiers().leaf_lanes > 1 || fabric.tiers().pod_lanes > 1),
      leaf_begin_(fabric.leaf_link(0, 0, true).index),
      pod_begin_(fabric.pod_link(0, 0, true).index) {
    const NodeLinks& node = fabric.node_links();
    rails_alike_ = fabric.machine().cluster.node.intra == IntraNode::NvSwitch && !node.has_pcie &&
                   (node.nics == 0 || node.nics == node.gpus);
    places_.reserve(fabric.devices());
    for (std::size_t d = 0; d < fabric.devices(); ++d) {
        const DeviceId device{d};
        const int server = fabric.node_of(device);
        const NicPlace nic = fabric.place_of(server, fabric.nic_of(device));
        places_.push_back({.node = server,
                           .rail = fabric.rail_of(device),
                           .domain = fabric.domain_of(device),
                           .leaf = nic.leaf,
                           .pod = nic.pod});
    }
}

bool Placements::relative(std::span<const DeviceId> devices, std::span<Place> to) const {
    const Place& first = places_[devices.front().index];
    const int first_rail = rails_alike_ ? first.rail : 0;
    bool one_leaf = true;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const Place& place = places_[devices[i].index];
        to[i] = {.node = place.node - first.node,
                 .rail = place.rail - first_rail,
                 .domain = place.domain - first.domain,
                 .leaf = place.leaf - first.leaf,
                 .pod = place.pod - first.pod};
        one_leaf = one_leaf && place.leaf == first.leaf;
    }
    return one_leaf || !hashed_;
}

LinkShift Placements::shift(DeviceId from, DeviceId to) const {
    const Place& a = places_[from.index];
    const Place& b = places_[to.index];
    const int in_nodes = (b.node - a.node) * fabric_.node_links().count() + 2 * (b.rail - a.rail);
    const int leaves = 2 * (b.leaf - a.leaf) * fabric_.tiers().leaf_lanes;
    const int pods = 2 * (b.pod - a.pod) * fabric_.tiers().pod_lanes;
    return {static_cast<std::uint32_t>(in_nodes),
            static_cast<std::uint32_t>(leaves),
            static_cast<std::uint32_t>(pods)};
}

}  // namespace memwall
