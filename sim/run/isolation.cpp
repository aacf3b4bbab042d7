// Which transfers nothing can slow down, so that they take the time that they take alone.
#include <algorithm>

#include "sim/run/bound.h"

namespace memwall {
namespace {

// What a transfer puts on a link when it has all its links for itself, as a share of the link's capacity.
double most_on(const Bound& bound, const BoundTransfer& transfer, const Usage& usage) {
    double rate = transfer.cap > 0 ? transfer.cap : bound.capacities[usage.link] * 0x1p20;
    for (std::uint32_t u = transfer.usage_begin; u < transfer.usage_end; ++u) {
        const Usage& other = bound.usages[u];
        if (bound.capacities[other.link] > 0) {
            rate = std::min(
                rate,
                bound.capacities[other.link] / (static_cast<double>(other.coefficient) * 0x1p-20));
        }
    }
    return rate * static_cast<double>(usage.coefficient) * 0x1p-20 / bound.capacities[usage.link];
}

struct LinkUse {
    std::uint32_t owner = kNone32;
    bool shared = false;  // by several owners, or by several transfers of one at a time
    double most_of_owner = 0;
    double most_of_others = 0;
};

// One rank sends another at most this many messages at a time: two channels, and as many more from the next micro-batch.
constexpr double kMessagesAtOnce = 4;

}  // namespace

void find_isolated(Bound& bound) {
    std::vector<std::uint32_t> order(bound.transfers.size());
    for (std::uint32_t t = 0; t < order.size(); ++t) {
        order[t] = t;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return bound.transfers[a].owner < bound.transfers[b].owner;
    });
    std::vector<bool> overlaps(bound.transfers.size());
    for (const BoundGroup& group : bound.groups) {
        for (std::uint32_t t = group.transfers; t < group.transfers_end; ++t) {
            overlaps[bound.group_transfers[t]] = group.overlaps;
        }
    }
    std::vector<LinkUse> uses(bound.links.size());
    for (const std::uint32_t t : order) {
        const BoundTransfer& transfer = bound.transfers[t];
        for (std::uint32_t u = transfer.usage_begin; u < transfer.usage_end; ++u) {
            const Usage& usage = bound.usages[u];
            if (bound.capacities[usage.link] <= 0 || transfer.bytes == 0) {
                continue;
            }
            LinkUse& use = uses[usage.link];
            if (use.owner != transfer.owner) {
                use.shared = use.shared || use.owner != kNone32;
                use.most_of_others += use.most_of_owner;
                use.most_of_owner = 0;
                use.owner = transfer.owner;
            }
            const bool several = transfer.message || overlaps[t];
            use.shared = use.shared || several;
            use.most_of_owner =
                std::max(use.most_of_owner,
                         most_on(bound, transfer, usage) * (several ? kMessagesAtOnce : 1));
        }
    }
    for (BoundTransfer& transfer : bound.transfers) {
        transfer.isolated = true;
        for (std::uint32_t u = transfer.usage_begin; u < transfer.usage_end && transfer.bytes > 0;
             ++u) {
            const LinkUse& use = uses[bound.usages[u].link];
            const bool binds = bound.capacities[bound.usages[u].link] > 0 && use.shared &&
                               use.most_of_owner + use.most_of_others > 1;
            transfer.isolated = transfer.isolated && !binds;
        }
    }
    for (BoundGroup& group : bound.groups) {
        group.isolated = true;
        for (std::uint32_t t = group.transfers; t < group.transfers_end; ++t) {
            group.isolated = group.isolated && bound.transfers[bound.group_transfers[t]].isolated;
        }
    }
}

}  // namespace memwall
