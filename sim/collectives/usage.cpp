#include "sim/collectives/usage.h"

#include <algorithm>
#include <cmath>

#include "sim/collectives/wiring.h"

namespace memwall {

namespace {

// Far above the rounding of sums of doubles, far below one unit and the slack of link_capacities().
constexpr double kRoundingNoise = 1.0 / (1 << 22);

using Part = std::pair<std::uint32_t, double>;  // link, bytes

// The same order as std::sort, link by link and byte by byte; large groups have many parts and dense links.
void sort_parts(std::vector<Part>& parts) {
    constexpr std::size_t kFew = 256;
    constexpr unsigned kBits = 11;
    constexpr std::size_t kBuckets = std::size_t{1} << kBits;
    if (parts.size() < kFew) {
        std::sort(parts.begin(), parts.end());
        return;
    }
    std::uint32_t last = 0;
    for (const Part& part : parts) {
        last = std::max(last, part.first);
    }
    std::vector<Part> other(parts.size());
    for (unsigned shift = 0; shift < 32 && (last >> shift) > 0; shift += kBits) {
        std::vector<std::size_t> places(kBuckets + 1);
        for (const Part& part : parts) {
            ++places[((part.first >> shift) & (kBuckets - 1)) + 1];
        }
        for (std::size_t b = 1; b <= kBuckets; ++b) {
            places[b] += places[b - 1];
        }
        for (const Part& part : parts) {
            other[places[(part.first >> shift) & (kBuckets - 1)]++] = part;
        }
        parts.swap(other);
    }
    for (auto begin = parts.begin(); begin != parts.end();) {
        auto end = begin;
        while (end != parts.end() && end->first == begin->first) {
            ++end;
        }
        if (!std::is_sorted(begin, end)) {
            std::sort(begin, end);
        }
        begin = end;
    }
}

}  // namespace

bool UsageBuilder::switched() const {
    return fabric_->machine().cluster.node.intra == IntraNode::NvSwitch;
}

void UsageBuilder::add(LinkId link, double bytes) {
    if (link.valid() && bytes > 0) {
        parts_.emplace_back(link.index, bytes);
    }
}

void UsageBuilder::add_route(int from, int to, double bytes) {
    const DeviceId a = device(from);
    const DeviceId b = device(to);
    if (!fabric_->node_links().has_pcie && fabric_->domain_of(a) != fabric_->domain_of(b)) {
        // The same links as the route's, without allocating one: there are thousands per group.
        const int nic_a = fabric_->nic_of(a);
        const int nic_b = fabric_->nic_of(b);
        const NicPath path =
            fabric_->nic_path(fabric_->node_of(a), nic_a, fabric_->node_of(b), nic_b);
        add(fabric_->nic_out(fabric_->node_of(a), nic_a), bytes);
        for (int i = 0; i < path.count; ++i) {
            add(path.links[static_cast<std::size_t>(i)], bytes);
        }
        add(fabric_->nic_in(fabric_->node_of(b), nic_b), bytes);
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

std::vector<Usage> UsageBuilder::build(double wire) {
    sort_parts(parts_);
    std::vector<Usage> usage;
    usage.reserve(parts_.size());
    for (std::size_t i = 0; i < parts_.size();) {
        double bytes = 0;
        const std::uint32_t link = parts_[i].first;
        for (; i < parts_.size() && parts_[i].first == link; ++i) {
            bytes += parts_[i].second;
        }
        const auto units = static_cast<std::int64_t>(
            std::floor((bytes * wire * static_cast<double>(kUnit)) + kRoundingNoise));
        if (units > 0) {
            usage.push_back({.link = link, .coefficient = units});
        }
    }
    return usage;
}

}  // namespace memwall
