#include "sim/run/patterns.h"

#include <algorithm>

namespace memwall {
namespace {

// A ring gathers over the links over which it reduces and scatters, byte for byte.
bool uses_same_links(CollectiveKind a, CollectiveKind b, Variant variant) {
    const auto one_round = [](CollectiveKind kind) {
        return kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
    };
    return a == b || (variant.algorithm == Algorithm::Ring && one_round(a) && one_round(b));
}

}  // namespace

void Patterns::begin_group(std::span<const DeviceId> devices) {
    group_ = devices;
    group_links_.clear();
    places_.resize(devices.size());
    bool fresh = true;
    if (placements_.relative(devices, places_)) {
        const auto [found, added] = group_patterns_.try_emplace(places_);
        group_pattern_ = &found->second;
        fresh = added;
    } else {
        lone_group_ = {};
        group_pattern_ = &lone_group_;
    }
    if (fresh) {
        group_pattern_->shape = shape_of(fabric_, devices);
    }
}

TimedLinks Patterns::collective(std::size_t number, const CollectiveCall& call) {
    GroupPattern& pattern = *group_pattern_;
    if (number >= pattern.calls.size()) {
        pattern.calls.resize(number + 1);
    }
    GroupCall& known = pattern.calls[number];
    if (known.time == nullptr) {
        known.time = &time_of(pattern.shape, call);
        known.usage = usage_of_call(pattern, call.kind, known.time->variant);
    }
    group_links_.resize(pattern.usages.size());
    std::optional<LinkRange>& links = group_links_[known.usage];
    if (!links) {
        GroupUsage& usage = pattern.usages[known.usage];
        links = add_links(usage.known, group_.front(), [&] {
            return usage_of(fabric_, group_, usage.kind, usage.variant);
        });
    }
    return {*known.time, *links};
}

const CollectiveTime& Patterns::time_of(const GroupShape& shape, const CollectiveCall& call) {
    const auto [found, fresh] = times_.try_emplace({shape, call});
    if (fresh) {
        const auto time = collective_time(fabric_.machine(), shape, call);
        if (time) {
            found->second = *time;
        } else {
            error_ = time.error();
        }
    }
    return found->second;
}

std::size_t Patterns::usage_of_call(GroupPattern& pattern, CollectiveKind kind, Variant variant) {
    const auto found =
        std::find_if(pattern.usages.begin(), pattern.usages.end(), [&](const GroupUsage& u) {
            return uses_same_links(u.kind, kind, variant) && u.variant == variant;
        });
    const auto at = static_cast<std::size_t>(found - pattern.usages.begin());
    if (found == pattern.usages.end()) {
        pattern.usages.push_back({kind, variant, {}});
    }
    return at;
}

void Patterns::begin_pair(DeviceId from, DeviceId to) {
    const std::array pair{from, to};
    std::array<Place, 2> places;
    bool fresh = true;
    if (placements_.relative(pair, places)) {
        const auto [found, added] = pair_patterns_.try_emplace(places);
        pair_pattern_ = &found->second;
        fresh = added;
    } else {
        lone_pair_ = {};
        pair_pattern_ = &lone_pair_;
    }
    if (fresh) {
        pair_pattern_->shape = message_path(fabric_, from, to).shape;
    }
    pair_links_ = add_links(
        pair_pattern_->known, from, [&] { return message_path(fabric_, from, to).usage; });
}

TimedLinks Patterns::message(Bytes bytes) {
    const auto [found, fresh] = pair_pattern_->times.try_emplace(bytes);
    if (fresh) {
        found->second = message_time(fabric_.machine(), pair_pattern_->shape, bytes);
    }
    return {found->second, pair_links_};
}

// Of devices that begin with `first`; the first of those that sit alike ask for the usage.
template <class Ask>
LinkRange Patterns::add_links(KnownLinks& known, DeviceId first, Ask ask) {
    LinkRange range;
    std::vector<Usage>& usages = bound_.usages;
    range.begin = static_cast<std::uint32_t>(usages.size());
    if (!known.first.valid()) {
        const std::vector<Usage> usage = ask();
        usages.insert(usages.end(), usage.begin(), usage.end());
    } else {
        const LinkShift shift = placements_.shift(known.first, first);
        for (std::uint32_t u = known.range.begin; u < known.range.end; ++u) {
            const Usage usage = usages[u];
            usages.push_back({placements_.shifted(usage.link, shift), usage.coefficient});
        }
    }
    range.end = static_cast<std::uint32_t>(usages.size());
    range.limit = link_limit(bound_.capacities,
                             std::span(usages).subspan(range.begin, range.end - range.begin));
    if (!known.first.valid()) {
        known = {first, range};
    }
    return range;
}

}  // namespace memwall
