#include "sim/collectives/usage.h"

#include <algorithm>
#include <cmath>

#include "sim/collectives/wiring.h"

namespace memwall {

namespace {

// Far above the rounding of sums of doubles, far below one unit and the slack of link_capacities().
constexpr double kRoundingNoise = 1.0 / (1 << 22);

}  // namespace

bool UsageBuilder::switched() const {
    return fabric_->machine().cluster.node.intra == IntraNode::NvSwitch;
}

void UsageBuilder::add(LinkId link, double bytes) {
    if (!link.valid() || bytes <= 0) {
        return;
    }
    if (!sums_.empty()) {
        sums_[link.index] += bytes;
        return;
    }
    constexpr std::size_t kSorting = 8;  // steps per part
    parts_.emplace_back(link.index, bytes);
    if (parts_.size() * kSorting > fabric_->links().size()) {
        sums_.resize(fabric_->links().size());
        for (const auto& [of, part] : parts_) {
            sums_[of] += part;
        }
        parts_.clear();
    }
}

void UsageBuilder::add_route(int from, int to, double bytes) {
    const DeviceId a = device(from);
    const DeviceId b = device(to);
    if (!fabric_->node_links().has_pcie && fabric_->domain_of(a) != fabric_->domain_of(b)) {
        // The same links as the route's, without allocating one: there are thousands per group.
        const int node_a = fabric_->node_of(a);
        const int node_b = fabric_->node_of(b);
        const int nic_a = fabric_->nic_of(a);
        const int nic_b = fabric_->nic_of(b);
        const NicPath path = fabric_->nic_path(node_a, nic_a, node_b, nic_b);
        add(fabric_->nic_out(node_a, nic_a), bytes);
        for (int i = 0; i < path.count; ++i) {
            add(path.links[static_cast<std::size_t>(i)], bytes);
        }
        add(fabric_->nic_in(node_b, nic_b), bytes);
        return;
    }
    const Route route = fabric_->route(a, b);
    for (const LinkShare& link : route.links) {
        add(link.link, bytes * static_cast<double>(link.share) / static_cast<double>(kUnit));
    }
}

void UsageBuilder::add_port(int member, double out, double in) {
    if (switched()) {
        add(fabric_->gpu_out(device(member)), out);
        add(fabric_->gpu_in(device(member)), in);
    }
}

void UsageBuilder::add_hop(int from, int to, double bytes) {
    if (switched()) {
        add(fabric_->gpu_out(device(from)), bytes);
        add(fabric_->gpu_in(device(to)), bytes);
    } else {
        add_route(from, to, bytes);
    }
}

void UsageBuilder::spread(const Layout& layout, int node, double bytes) {
    const int p = layout.ranks_in(node);
    if (p < 2) {
        return;
    }
    const auto first = layout.order.begin() + layout.node_begin[static_cast<std::size_t>(node)];
    if (switched()) {
        for (auto member = first; member != first + p; ++member) {
            add_port(*member, bytes, bytes);
        }
        return;
    }
    std::vector<DeviceId> devices;
    for (auto member = first; member != first + p; ++member) {
        devices.push_back(device(*member));
    }
    for (const RingHop& hop : wiring_of(*fabric_, devices).hops) {
        add_route(*(first + hop.from), *(first + hop.to), bytes * hop.share);
    }
}

// The order in which bytes of a link are summed is within the noise.
void UsageBuilder::merge_parts() {
    if (!sums_.empty()) {
        for (std::uint32_t link = 0; link < sums_.size(); ++link) {
            if (sums_[link] > 0) {
                parts_.emplace_back(link, sums_[link]);
            }
        }
        return;
    }
    std::sort(parts_.begin(), parts_.end());
    std::size_t kept = 0;
    for (const auto& part : parts_) {
        if (kept > 0 && parts_[kept - 1].first == part.first) {
            parts_[kept - 1].second += part.second;
        } else {
            parts_[kept++] = part;
        }
    }
    parts_.resize(kept);
}

std::vector<Usage> UsageBuilder::build(double wire) {
    merge_parts();
    std::vector<Usage> usage;
    usage.reserve(parts_.size());
    for (const auto& [link, bytes] : parts_) {
        const auto units = static_cast<std::int64_t>(
            std::floor((bytes * wire * static_cast<double>(kUnit)) + kRoundingNoise));
        if (units > 0) {
            usage.push_back({.link = link, .coefficient = units});
        }
    }
    return usage;
}

}  // namespace memwall
