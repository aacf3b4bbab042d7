// What links can be used for, and what they allow to one transfer.
#include <algorithm>
#include <limits>

#include "sim/collectives/transfer.h"

namespace memwall {

namespace {

constexpr double kSlack = 1 + 1.0 / (std::int64_t{1} << 40);

bool between_nodes(LinkTier tier) {
    switch (tier) {
    case LinkTier::Nic:
    case LinkTier::LeafUp:
    case LinkTier::LeafDown:
    case LinkTier::SpineUp:
    case LinkTier::SpineDown:
        return true;
    case LinkTier::NvLink:
    case LinkTier::Pcie:
    case LinkTier::HostBridge:
    case LinkTier::Socket:
        return false;
    }
    return false;
}

}  // namespace

std::vector<double> link_capacities(const Fabric& fabric) {
    const Machine& machine = fabric.machine();
    const double usable = counts_steps(machine) ? 1.0 : machine.cluster.fabric.nccl.efficiency;
    std::vector<double> capacities;
    capacities.reserve(fabric.links().size());
    for (const Link& link : fabric.links()) {
        const double share = between_nodes(link.tier) ? usable : 1.0;
        capacities.push_back(link.binding ? link.available().value * share * kSlack : 0);
    }
    return capacities;
}

double link_limit(std::span<const double> capacities, std::span<const Usage> usage) {
    double limit = std::numeric_limits<double>::infinity();
    for (const Usage& u : usage) {
        const double capacity = capacities[u.link];
        if (capacity > 0) {
            limit = std::min(
                limit, capacity * static_cast<double>(kUnit) / static_cast<double>(u.coefficient));
        }
    }
    return limit;
}

}  // namespace memwall
