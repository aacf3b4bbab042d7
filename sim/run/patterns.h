#pragma once
// Times and links of transfers, found once for all groups, or pairs of ranks, whose devices sit alike: they have the same
// shape, so the same time of a call, and the same links but for a shift (sim/network/placement.h). Internal to bind.h.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/transfer.h"
#include "sim/network/placement.h"
#include "sim/run/bound.h"

namespace memwall {

// Of Bound::usages: the links of a transfer.
struct LinkRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    double limit = std::numeric_limits<double>::infinity();  // the rate that they allow
};

struct TimedLinks {
    const CollectiveTime& time;
    const LinkRange& links;
};

class Patterns {
  public:
    // Appends to usages of `bound`, which has its capacities before the first transfer.
    Patterns(const Fabric& fabric, Bound& bound)
        : fabric_(fabric), bound_(bound), placements_(fabric) {}

    // The group or pair that the calls after it are of.
    void begin_group(std::span<const DeviceId> devices);
    void begin_pair(DeviceId from, DeviceId to);

    // number: of the call, among those of all jobs. Results are valid until the next begin.
    [[nodiscard]] TimedLinks collective(std::size_t number, const CollectiveCall& call);
    [[nodiscard]] TimedLinks message(Bytes bytes);

    // Why a call cannot run; empty = all can.
    [[nodiscard]] const std::string& error() const { return error_; }

  private:
    // The links of the first of all devices that sit alike.
    struct KnownLinks {
        DeviceId first;
        LinkRange range;
    };
    // Calls of one kind and variant use the same links.
    struct GroupUsage {
        CollectiveKind kind = CollectiveKind::AllReduce;
        Variant variant;
        KnownLinks known;
    };
    struct GroupCall {
        const CollectiveTime* time = nullptr;  // null until a group makes the call
        std::size_t usage = 0;                 // of GroupPattern::usages
    };
    struct GroupPattern {
        GroupShape shape;
        std::vector<GroupUsage> usages;
        std::vector<GroupCall> calls;  // by number
    };
    struct PairPattern {
        MessageShape shape;
        KnownLinks known;
        std::map<Bytes, CollectiveTime> times;
    };

    [[nodiscard]] const CollectiveTime& time_of(const GroupShape& shape,
                                                const CollectiveCall& call);
    [[nodiscard]] static std::size_t usage_of_call(GroupPattern& pattern,
                                                   CollectiveKind kind,
                                                   Variant variant);
    template <class Ask>
    [[nodiscard]] LinkRange add_links(KnownLinks& known, DeviceId first, Ask ask);

    const Fabric& fabric_;
    Bound& bound_;
    Placements placements_;
    std::string error_;
    std::map<std::pair<GroupShape, CollectiveCall>, CollectiveTime> times_;

    std::span<const DeviceId> group_;  // at hand
    GroupPattern* group_pattern_ = nullptr;
    std::vector<std::optional<LinkRange>> group_links_;  // by GroupPattern::usages
    std::vector<Place> places_;
    std::map<std::vector<Place>, GroupPattern> group_patterns_;
    GroupPattern lone_group_;  // that sits like no other

    PairPattern* pair_pattern_ = nullptr;  // of the pair at hand
    LinkRange pair_links_;
    std::map<std::array<Place, 2>, PairPattern> pair_patterns_;
    PairPattern lone_pair_;
};

}  // namespace memwall
