// Which transfers nothing can slow down, so that they take the time that they take alone; which links never fill up.
#include <algorithm>
#include <bit>
#include <limits>

#include "sim/core/check.h"
#include "sim/run/bound.h"

namespace memwall {
namespace {

// Rate of a transfer that has all its links for itself [message bytes per second]; 0 = not limited.
double rate_alone(const Bound& bound, const BoundTransfer& transfer) {
    double rate = transfer.cap;
    for (std::uint32_t u = transfer.usage_begin; u < transfer.usage_end; ++u) {
        const Usage& usage = bound.usages[u];
        const double capacity = bound.capacities[usage.link];
        if (capacity > 0) {
            const double limit = capacity / (static_cast<double>(usage.coefficient) * 0x1p-20);
            rate = rate > 0 ? std::min(rate, limit) : limit;
        }
    }
    return rate;
}

// Traffic that can be on a link at one time, as shares of its capacity.
struct Most {
    double of_source = 0;  // the owner and stream met last: one transfer at a time
    double of_others = 0;
    [[nodiscard]] double sum() const { return of_source + of_others; }
};

struct LinkUse {
    std::uint64_t source = ~std::uint64_t{0};
    bool shared = false;  // by several sources, or by several messages of one
    Most alone;           // each at the rate that it has alone on the machine
    Most capped;  // each at its own cap, whatever its links allow; infinite where it has none
};

class LinkUses {
  public:
    explicit LinkUses(const Bound& bound) : bound_(bound), uses_(bound.links.size()) {}

    void add(const BoundTransfer& transfer, unsigned stream) {
        const double alone = rate_alone(bound_, transfer) * transfer.at_once;
        const double capped = transfer.cap > 0 ? transfer.cap * transfer.at_once
                                               : std::numeric_limits<double>::infinity();
        const std::uint64_t source = std::uint64_t{transfer.owner} * kStreams + stream;
        for (std::uint32_t u = transfer.usage_begin; u < transfer.usage_end; ++u) {
            const Usage& usage = bound_.usages[u];
            const double capacity = bound_.capacities[usage.link];
            if (capacity <= 0) {
                continue;
            }
            LinkUse& use = uses_[usage.link];
            if (use.source != source) {
                use.shared = use.shared || use.source != ~std::uint64_t{0};
                use.source = source;
                use.alone = {0, use.alone.sum()};
                use.capped = {0, use.capped.sum()};
            }
            use.shared = use.shared || transfer.at_once > 1;
            const double share = static_cast<double>(usage.coefficient) * 0x1p-20 / capacity;
            use.alone.of_source = std::max(use.alone.of_source, alone * share);
            use.capped.of_source = std::max(use.capped.of_source, capped * share);
        }
    }

    // A message of a step takes what its links have, and others of its group are on them at the same time.
    void add(const BoundMessage& message) {
        for (std::uint32_t u = message.usage_begin; u < message.usage_end; ++u) {
            LinkUse& use = uses_[bound_.usages[u].link];
            use.shared = true;
            use.alone.of_others = std::numeric_limits<double>::infinity();
            use.capped.of_others = std::numeric_limits<double>::infinity();
        }
    }

    [[nodiscard]] bool never_binds(std::size_t link) const { return uses_[link].capped.sum() <= 1; }

    [[nodiscard]] bool can_slow(const BoundTransfer& transfer) const {
        for (std::uint32_t u = transfer.usage_begin; u < transfer.usage_end; ++u) {
            const LinkUse& use = uses_[bound_.usages[u].link];
            if (use.shared && use.alone.sum() > 1) {
                return true;
            }
        }
        return false;
    }

  private:
    const Bound& bound_;
    std::vector<LinkUse> uses_;
};

}  // namespace

void find_isolated(Bound& bound) {
    // Transfers of one owner and stream must come one after the other: owners are in order, streams are taken in turn.
    LinkUses uses(bound);
    const std::size_t n = bound.transfers.size();
    for (std::size_t begin = 0; begin < n;) {
        std::size_t end = begin;
        unsigned streams = 0;
        for (; end < n && bound.transfers[end].owner == bound.transfers[begin].owner; ++end) {
            streams |= bound.transfers[end].streams;
        }
        MW_CHECK(end == n || bound.transfers[end].owner > bound.transfers[begin].owner,
                 "owners of transfers are not in order");
        for (; streams != 0; streams &= streams - 1) {
            const auto stream = static_cast<unsigned>(std::countr_zero(streams));
            for (std::size_t t = begin; t < end; ++t) {
                const unsigned of_transfer = bound.transfers[t].streams;
                if ((of_transfer >> stream & 1U) != 0 && bound.transfers[t].bytes > 0) {
                    uses.add(bound.transfers[t], stream);
                }
            }
        }
        begin = end;
    }
    for (const BoundMessage& message : bound.step_messages) {
        uses.add(message);
    }
    for (BoundTransfer& transfer : bound.transfers) {
        transfer.isolated = transfer.steps_begin == transfer.steps_end &&
                            (transfer.bytes == 0 || !uses.can_slow(transfer));
    }
    for (std::size_t l = 0; l < bound.capacities.size(); ++l) {
        if (uses.never_binds(l)) {
            bound.capacities[l] = 0;
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
