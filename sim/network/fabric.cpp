#include "sim/network/fabric.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/core/check.h"
#include "sim/core/quantity.h"

namespace memwall {

namespace {

// A well-mixed function of two ports: the hash by which a switch spreads connections over its up-links.
// Finaliser of splitmix64 (Steele, Lea & Flood, OOPSLA 2014).
std::uint64_t hash_ports(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a << 32U | b) + 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
}

// Capacities are products and quotients of the same rates: equal up to rounding.
bool can_bind(double capacity, double injected) {
    return capacity * (1 + 1e-9) < injected;
}

int ceil_div(int a, int b) {
    return (a + b - 1) / b;
}

void add_pairs(std::vector<Link>& links,
               int lanes,
               double capacity,
               double injected,
               LinkTier up,
               LinkTier down) {
    const double lane = capacity / lanes;
    for (int l = 0; l < lanes; ++l) {
        links.push_back({Bandwidth{lane}, up, can_bind(lane, injected)});
        links.push_back({Bandwidth{lane}, down, can_bind(lane, injected)});
    }
}

std::vector<LinkShare> shifted(const NodeRoute& route, LinkId first) {
    std::vector<LinkShare> links;
    for (const LinkShare& s : route.links) {
        links.push_back({LinkId{std::size_t{first.index} + s.link.index}, s.share});
    }
    return links;
}

}  // namespace

Fabric::Fabric(const Machine& machine)
    : machine_(&machine), node_(build_node_links(machine.cluster.node)), nodes_(machine.nodes) {
    const Cluster& cluster = machine.cluster;
    MW_CHECK(nodes_ > 0, "a machine needs a node");
    gpus_per_node_ = cluster.node.gpus;
    devices_ = static_cast<std::size_t>(nodes_) * static_cast<std::size_t>(gpus_per_node_);
    nodes_per_domain_ = cluster.node.intra == IntraNode::NvSwitch
                            ? std::max(1, cluster.node.nodes_per_nvlink_domain)
                            : 1;
    if (nodes_ > nodes_per_domain_) {
        MW_CHECK(cluster.fabric.kind != FabricKind::None, "several NVLink domains need a fabric");
        MW_CHECK(node_.nics > 0, "several NVLink domains need NICs");
    }
    lay_out_tiers();

    const std::size_t per_node = node_.links.size();
    const std::size_t in_nodes = per_node * static_cast<std::size_t>(nodes_);
    links_.reserve(in_nodes + 2 * static_cast<std::size_t>(tiers_.leaves * tiers_.leaf_lanes +
                                                           tiers_.pods * tiers_.pod_lanes));
    for (int n = 0; n < nodes_; ++n) {
        links_.insert(links_.end(), node_.links.begin(), node_.links.end());
    }
    leaf_base_ = links_.size();
    add_leaf_links();
    pod_base_ = links_.size();
    add_pod_links();
    apply_events();
}

void Fabric::apply_events() {
    for (const LinkEvent& event : machine_->link_events) {
        const std::optional<LinkId> id = find_link(event.link);
        MW_CHECK(id.has_value(), "an event names a link that is not there");
        Link& link = links_[id->index];
        link.left = event.capacity;
        link.binding = link.binding || (event.capacity < 1 && link.capacity.value > 0);
    }
}

// ---- Tiers

void Fabric::lay_out_tiers() {
    const FabricSpec& f = machine_->cluster.fabric;
    tiers_.leaf_nodes = f.leaf_nodes > 0 ? f.leaf_nodes : nodes_;
    switch (f.kind) {
    case FabricKind::None:
    case FabricKind::SingleSwitch:
        tiers_.leaf_nodes = nodes_;
        break;
    case FabricKind::RailOptimised:
        tiers_.rails = std::max(1, node_.nics);
        tiers_.leaves_per_pod =
            f.pod_leaves > 0 ? std::max(1, f.pod_leaves / tiers_.rails) * tiers_.rails : 0;
        break;
    case FabricKind::FatTree3:
        tiers_.leaves_per_pod = f.pod_leaves;
        break;
    case FabricKind::FatTree2:
        break;
    }
    // Tiers that this machine does not reach are left out: nothing is routed over them.
    const int leaves = ceil_div(nodes_, tiers_.leaf_nodes) * tiers_.rails;
    tiers_.leaves = leaves > 1 ? leaves : 0;
    if (tiers_.leaves_per_pod > 0 && tiers_.leaves > tiers_.leaves_per_pod) {
        tiers_.pods = ceil_div(tiers_.leaves, tiers_.leaves_per_pod);
    }
    if (machine_->routing == Routing::Ecmp && tiers_.leaves > 0) {
        const int down = tiers_.leaf_nodes * (tiers_.rails > 1 ? 1 : node_.nics);
        tiers_.leaf_lanes =
            f.spines > 0 ? f.spines
                         : std::max(1, static_cast<int>(std::lround(down / f.oversubscription)));
        if (tiers_.pods > 0) {
            tiers_.pod_lanes =
                std::max(1,
                         static_cast<int>(std::lround(tiers_.leaf_lanes * tiers_.leaves_per_pod /
                                                      f.pod_oversubscription)));
        }
    }
}

int Fabric::nodes_under(int leaf) const {
    return std::min(tiers_.leaf_nodes, nodes_ - leaf / tiers_.rails * tiers_.leaf_nodes);
}

int Fabric::leaves_under(int pod) const {
    return std::min(tiers_.leaves_per_pod, tiers_.leaves - pod * tiers_.leaves_per_pod);
}

void Fabric::add_leaf_links() {
    const double port = node_.nic_rate.value * (tiers_.rails > 1 ? 1 : node_.nics);
    const double capacity = port * tiers_.leaf_nodes / machine_->cluster.fabric.oversubscription;
    for (int leaf = 0; leaf < tiers_.leaves; ++leaf) {
        add_pairs(links_,
                  tiers_.leaf_lanes,
                  capacity,
                  port * nodes_under(leaf),
                  LinkTier::LeafUp,
                  LinkTier::LeafDown);
    }
}

void Fabric::add_pod_links() {
    const FabricSpec& f = machine_->cluster.fabric;
    const double port = node_.nic_rate.value * (tiers_.rails > 1 ? 1 : node_.nics);
    const double leaf_capacity = port * tiers_.leaf_nodes / f.oversubscription;
    const double capacity = leaf_capacity * tiers_.leaves_per_pod / f.pod_oversubscription;
    for (int pod = 0; pod < tiers_.pods; ++pod) {
        double injected = 0;
        for (int l = 0; l < leaves_under(pod); ++l) {
            injected +=
                std::min(leaf_capacity, port * nodes_under(pod * tiers_.leaves_per_pod + l));
        }
        add_pairs(
            links_, tiers_.pod_lanes, capacity, injected, LinkTier::SpineUp, LinkTier::SpineDown);
    }
}

LinkId Fabric::leaf_link(int leaf, int lane, bool up) const {
    return LinkId{
        leaf_base_ +
        2 * (static_cast<std::size_t>(leaf) * static_cast<std::size_t>(tiers_.leaf_lanes) +
             static_cast<std::size_t>(lane)) +
        (up ? 0U : 1U)};
}

LinkId Fabric::pod_link(int pod, int lane, bool up) const {
    return LinkId{pod_base_ +
                  2 * (static_cast<std::size_t>(pod) * static_cast<std::size_t>(tiers_.pod_lanes) +
                       static_cast<std::size_t>(lane)) +
                  (up ? 0U : 1U)};
}

NicPlace Fabric::place_of(int node, int nic) const {
    NicPlace place;
    place.leaf = tiers_.leaves > 0
                     ? node / tiers_.leaf_nodes * tiers_.rails + (tiers_.rails > 1 ? nic : 0)
                     : -1;
    place.pod = tiers_.pods > 0 ? place.leaf / tiers_.leaves_per_pod : -1;
    return place;
}

NicPath Fabric::nic_path(int node_a, int nic_a, int node_b, int nic_b) const {
    NicPath path;
    if (node_a == node_b && nic_a == nic_b) {
        return path;
    }
    path.hops = 1;
    const NicPlace a = place_of(node_a, nic_a);
    const NicPlace b = place_of(node_b, nic_b);
    if (a.leaf == b.leaf) {
        return path;
    }
    int lane = 0;
    int pod_lane = 0;
    if (tiers_.leaf_lanes > 1 || tiers_.pod_lanes > 1) {
        const auto nics = static_cast<std::uint64_t>(node_.nics);
        const std::uint64_t h = hash_ports(
            static_cast<std::uint64_t>(node_a) * nics + static_cast<std::uint64_t>(nic_a),
            static_cast<std::uint64_t>(node_b) * nics + static_cast<std::uint64_t>(nic_b));
        lane = static_cast<int>(h % static_cast<std::uint64_t>(tiers_.leaf_lanes));
        // The spine of a pod that a lane leads to has its own group of core switches.
        const auto cores =
            static_cast<std::uint64_t>(std::max(1, tiers_.pod_lanes / tiers_.leaf_lanes));
        pod_lane =
            (lane + tiers_.leaf_lanes * static_cast<int>((h >> 32U) % cores)) % tiers_.pod_lanes;
    }
    path.links[static_cast<std::size_t>(path.count++)] = leaf_link(a.leaf, lane, true);
    path.hops = 3;
    if (a.pod != b.pod) {
        path.links[static_cast<std::size_t>(path.count++)] = pod_link(a.pod, pod_lane, true);
        path.links[static_cast<std::size_t>(path.count++)] = pod_link(b.pod, pod_lane, false);
        path.hops = 5;
    }
    path.links[static_cast<std::size_t>(path.count++)] = leaf_link(b.leaf, lane, false);
    return path;
}

Route Fabric::between_nics(int node_a, int nic_a, int node_b, int nic_b) const {
    const NicPath path = nic_path(node_a, nic_a, node_b, nic_b);
    Route route;
    route.hops = path.hops;
    route.latency = machine_->cluster.fabric.hop_latency * path.hops;
    route.crosses_nodes = node_a != node_b;
    for (int i = 0; i < path.count; ++i) {
        route.links.push_back({path.links[static_cast<std::size_t>(i)], kUnit});
    }
    return route;
}

// ---- Inside nodes

LinkId Fabric::gpu_out(DeviceId d) const {
    const bool switched = machine_->cluster.node.intra == IntraNode::NvSwitch;
    return in_node(node_of(d), (switched ? node_.nvlink_base : node_.pcie_base) + 2 * rail_of(d));
}

LinkId Fabric::gpu_in(DeviceId d) const {
    return LinkId{static_cast<std::size_t>(gpu_out(d).index) + 1};
}

std::vector<LinkShare> Fabric::gpu_to_nic(DeviceId d, int nic) const {
    return node_.has_pcie ? shifted(node_.out(rail_of(d), nic), in_node(node_of(d), 0))
                          : std::vector<LinkShare>{};
}

std::vector<LinkShare> Fabric::nic_to_gpu(int nic, DeviceId d) const {
    return node_.has_pcie ? shifted(node_.in(nic, rail_of(d)), in_node(node_of(d), 0))
                          : std::vector<LinkShare>{};
}

void Fabric::append_in_node(Route& route, int node, const NodeRoute& in_node_route) const {
    for (const LinkShare& s : in_node_route.links) {
        route.links.push_back({in_node(node, static_cast<int>(s.link.index)), s.share});
    }
    route.latency += in_node_route.latency;
    route.hops += in_node_route.hops;
}

Route Fabric::route(DeviceId from, DeviceId to) const {
    const Node& node = machine_->cluster.node;
    Route route;
    if (from == to) {
        return route;
    }
    const int a = node_of(from);
    const int b = node_of(to);
    if (domain_of(from) == domain_of(to)) {
        if (node.intra == IntraNode::NvSwitch) {
            route.links = {{gpu_out(from), kUnit}, {gpu_in(to), kUnit}};
            route.latency = node.nvlink_latency;
            route.hops = 1;
        } else {
            append_in_node(route, a, node_.peers(rail_of(from), rail_of(to)));
        }
        return route;
    }
    const int nic_a = nic_of(from);
    const int nic_b = nic_of(to);
    constexpr std::size_t kMostLinks = 12;
    route.links.reserve(kMostLinks);
    route.crosses_nodes = true;
    // Where PCIe is not modelled, each GPU has its NIC on its own PCIe switch.
    const NodeRoute one_switch{{}, node.pcie_latency, 1};
    append_in_node(route, a, node_.has_pcie ? node_.out(rail_of(from), nic_a) : one_switch);
    route.links.push_back({nic_out(a, nic_a), kUnit});
    const Route net = between_nics(a, nic_a, b, nic_b);
    route.links.insert(route.links.end(), net.links.begin(), net.links.end());
    route.latency += net.latency;
    route.hops += net.hops;
    route.links.push_back({nic_in(b, nic_b), kUnit});
    append_in_node(route, b, node_.has_pcie ? node_.in(nic_b, rail_of(to)) : one_switch);
    return route;
}

Route Fabric::rail_route(DeviceId from, DeviceId to) const {
    const bool relays = tiers_.rails > 1 && machine_->cluster.node.intra == IntraNode::NvSwitch;
    if (!relays || domain_of(from) == domain_of(to) || nic_of(from) == nic_of(to)) {
        return route(from, to);
    }
    const auto first_gpu = std::size_t{from.index} - static_cast<std::size_t>(rail_of(from));
    const DeviceId relay{first_gpu + static_cast<std::size_t>(rail_of(to))};
    Route first = route(from, relay);
    const Route second = route(relay, to);
    first.links.insert(first.links.end(), second.links.begin(), second.links.end());
    first.latency += second.latency;
    first.hops += second.hops;
    first.crosses_nodes = true;
    return first;
}

// ---- Names

bool Fabric::leaves_node(LinkId link) const {
    const auto in_node = static_cast<int>(link.index % node_.links.size());
    return link.index < leaf_base_ && in_node >= node_.nic_base &&
           (in_node - node_.nic_base) % 2 == 0;
}

std::optional<LinkId> Fabric::find_link(std::string_view name) const {
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos) {
        for (std::size_t l = leaf_base_; l < links_.size(); ++l) {
            if (link_name(LinkId{l}) == name) {
                return LinkId{l};
            }
        }
        return std::nullopt;
    }
    const auto in_node = std::find(node_.names.begin(), node_.names.end(), name.substr(slash + 1));
    const std::string_view number = name.substr(std::min<std::size_t>(slash, 4), slash - 4);
    const auto node = parse<int>(slash > 4 && name.starts_with("node") ? number : "");
    if (!node || *node < 0 || *node >= nodes_ || in_node == node_.names.end()) {
        return std::nullopt;
    }
    const LinkId link = this->in_node(*node, static_cast<int>(in_node - node_.names.begin()));
    return link_name(link) == name ? std::optional(link) : std::nullopt;  // not "node007/..."
}

std::string Fabric::link_name(LinkId link) const {
    MW_CHECK(link.index < links_.size(), "no such link");
    const std::size_t l = link.index;
    if (l < leaf_base_) {
        return fmt::format(
            "node{}/{}", l / node_.links.size(), node_.names[l % node_.links.size()]);
    }
    const bool in_pod = l >= pod_base_;
    const std::size_t pair = (l - (in_pod ? pod_base_ : leaf_base_)) / 2;
    const auto lanes = static_cast<std::size_t>(in_pod ? tiers_.pod_lanes : tiers_.leaf_lanes);
    const std::string below = fmt::format("{}{}", in_pod ? "pod" : "leaf", pair / lanes);
    std::string above = in_pod ? "core" : "spine";
    if (lanes > 1) {
        above += fmt::format("{}", pair % lanes);
    }
    const bool up = links_[l].tier == LinkTier::LeafUp || links_[l].tier == LinkTier::SpineUp;
    return up ? below + "->" + above : above + "->" + below;
}

}  // namespace memwall
