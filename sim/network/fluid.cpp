#include "sim/network/fluid.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "sim/core/check.h"

namespace memwall {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPerUnit = 1.0 / (1 << 20);  // a power of two: scaling by it is exact

__extension__ using Wide = unsigned __int128;

// Ends of transfers beyond this stay at it, so that sums of instants do not overflow (53 days).
constexpr double kSecondsMax = 4.6e6;

Duration duration_of(double bytes, double rate) {
    if (bytes <= 0 || rate == kInfinity) {
        return Duration{0};
    }
    return duration_from_seconds(std::min(bytes / rate, kSecondsMax));
}

double level_of(double capacity, std::int64_t load) {
    return capacity / (static_cast<double>(load) * kPerUnit);
}

double limit(double cap) {
    return cap > 0 ? cap : kInfinity;
}

// The rule for one flow: its cap, or the level of the tightest link times the flows it counts as.
double rate_at(double level, double cap, std::int64_t weight) {
    const auto flows = static_cast<double>(weight);
    return cap / flows <= level ? cap : flows * level;
}

}  // namespace

FluidNetwork::FluidNetwork(std::vector<double> capacities, std::vector<Usage> usages)
    : usages_(std::move(usages)), links_(capacities.size()), shape_of_(usages_.size() + 1, kNone) {
    for (std::size_t l = 0; l < capacities.size(); ++l) {
        links_[l].capacity = capacities[l];
        links_[l].tracked = capacities[l] > 0;
    }
}

// ---- Shapes and their blocks of entries

std::uint32_t FluidNetwork::find(const FlowShape& shape) const {
    std::uint32_t s = shape_of_[shape.usage_begin];
    while (s != kNone && (shapes_[s].end != shape.usage_end || shapes_[s].weight != shape.weight)) {
        s = shapes_[s].other;
    }
    return s;
}

std::uint32_t FluidNetwork::intern(const FlowShape& shape) {
    const std::uint32_t known = find(shape);
    if (known != kNone) {
        return known;
    }
    MW_CHECK(shape.usage_begin <= shape.usage_end, "usage range ends before it begins");
    MW_CHECK(shape.usage_end <= usages_.size(), "usage range out of bounds");
    MW_CHECK(shape.weight > 0, "weight of an activity must be positive");
    Shape made;
    made.begin = shape.usage_begin;
    made.end = shape.usage_end;
    made.weight = shape.weight;
    made.other = shape_of_[shape.usage_begin];
    for (std::uint32_t u = made.begin; u < made.end; ++u) {
        std::int64_t load = 0;
        MW_CHECK(usages_[u].link < links_.size(), "usage names a link that does not exist");
        MW_CHECK(usages_[u].coefficient > 0, "usage coefficients must be positive");
        const bool sorted = u == made.begin || usages_[u - 1].link < usages_[u].link;
        MW_CHECK(sorted, "usages must be sorted by link, each once");
        const bool overflow = __builtin_mul_overflow(usages_[u].coefficient, made.weight, &load);
        MW_CHECK(!overflow, "weight x coefficient overflows");
        made.entries += links_[usages_[u].link].tracked ? 1U : 0U;
    }
    const auto s = static_cast<std::uint32_t>(shapes_.size());
    shapes_.push_back(made);
    shape_of_[shape.usage_begin] = s;
    return s;
}

std::uint32_t FluidNetwork::take_block(std::uint32_t shape) {
    Shape& s = shapes_[shape];
    if (s.entries == 0) {
        return kNone;
    }
    if (s.free_block != kNone) {
        const std::uint32_t block = s.free_block;
        s.free_block = entries_[block].next;
        return block;
    }
    const auto block = static_cast<std::uint32_t>(entries_.size());
    for (std::uint32_t u = s.begin; u < s.end; ++u) {
        if (links_[usages_[u].link].tracked) {
            Entry entry;
            entry.load = usages_[u].coefficient * s.weight;
            entry.link = usages_[u].link;
            entries_.push_back(entry);
        }
    }
    return block;
}

// Puts the flow on the lists of its links. True when some link already had one.
bool FluidNetwork::link_entries(std::uint32_t flow) {
    Flow& f = flows_[flow];
    f.block = take_block(f.shape);
    bool shared = false;
    const std::uint32_t end = f.block + shapes_[f.shape].entries;
    for (std::uint32_t e = f.block; e != end; ++e) {
        Entry& entry = entries_[e];
        LinkState& link = links_[entry.link];
        entry.flow = flow;
        entry.previous = kNone;
        entry.next = link.head;
        if (link.head != kNone) {
            entries_[link.head].previous = e;
            shared = true;
        }
        link.head = e;
    }
    return shared;
}

// Takes it off; what stays on one of its links is touched.
void FluidNetwork::unlink_entries(std::uint32_t flow) {
    Flow& f = flows_[flow];
    Shape& s = shapes_[f.shape];
    if (s.entries == 0) {
        return;
    }
    const std::uint32_t end = f.block + s.entries;
    for (std::uint32_t e = f.block; e != end; ++e) {
        const Entry& entry = entries_[e];
        LinkState& link = links_[entry.link];
        if (entry.previous != kNone) {
            entries_[entry.previous].next = entry.next;
        } else {
            link.head = entry.next;
        }
        if (entry.next != kNone) {
            entries_[entry.next].previous = entry.previous;
        }
        if (link.head != kNone) {
            const std::uint32_t neighbour = entries_[link.head].flow;
            if (touched_.empty() || touched_.back() != neighbour) {
                touched_.push_back(neighbour);
            }
        }
    }
    entries_[f.block].next = s.free_block;
    s.free_block = f.block;
    f.block = kNone;
}

// ---- Starting and stopping

FlowId FluidNetwork::start(const FlowShape& shape, Bytes message, Time now) {
    const std::uint32_t s = intern(shape);
    std::uint32_t id = static_cast<std::uint32_t>(flows_.size());
    if (free_flows_.empty()) {
        flows_.emplace_back();
        free_flows_.reserve(flows_.capacity());
    } else {
        id = free_flows_.back();
        free_flows_.pop_back();
    }
    Flow& f = flows_[id];
    f.since = now;
    f.completion = Time::max();
    f.remaining = static_cast<double>(message.value);
    f.rate = 0;
    f.cap = limit(shape.cap);
    f.message = message.value;
    f.shape = s;
    f.active = true;
    f.fresh = true;
    ++active_;
    const bool shared = link_entries(id);
    (shared ? touched_ : lonely_).push_back(id);
    return FlowId{id};
}

void FluidNetwork::stop(FlowId flow, Time now) {
    Flow& f = flows_[flow.index];
    MW_CHECK(f.active, "stop of an activity that is not active");
    const bool finished = !f.fresh && now >= f.completion;
    shapes_[f.shape].done += finished ? f.message : static_cast<std::int64_t>(moved(f, now));
    unlink_entries(flow.index);
    f.active = false;
    --active_;
    free_flows_.push_back(flow.index);
}

void FluidNetwork::set_capacity(std::uint32_t link, double capacity, Time now) {
    static_cast<void>(now);  // rates change at the next settle, which is at the same instant
    LinkState& l = links_[link];
    l.capacity = capacity;
    ++version_;
    if (!l.tracked && capacity > 0) {
        track(link);
    }
    if (l.head != kNone) {
        touched_.push_back(entries_[l.head].flow);
    }
}

// A link that could not bind starts to: the entries of all flows are laid out again.
void FluidNetwork::track(std::uint32_t link) {
    for (LinkState& l : links_) {
        l.head = kNone;
    }
    links_[link].tracked = true;
    entries_.clear();
    for (Shape& s : shapes_) {
        s.free_block = kNone;
        s.entries = 0;
        for (std::uint32_t u = s.begin; u < s.end; ++u) {
            s.entries += links_[usages_[u].link].tracked ? 1U : 0U;
        }
    }
    for (std::size_t f = 0; f < flows_.size(); ++f) {
        if (flows_[f].active) {
            link_entries(static_cast<std::uint32_t>(f));
            touched_.push_back(static_cast<std::uint32_t>(f));
        }
    }
}

// ---- Rates

std::span<const FlowId> FluidNetwork::settle(Time now) {
    changed_.clear();
    ++epoch_;
    for (const std::uint32_t flow : touched_) {
        if (flows_[flow].active && flows_[flow].epoch != epoch_) {
            solve(flow, now);
        }
    }
    // Whoever joined a lonely flow since is touched, and its component has been solved above.
    for (const std::uint32_t flow : lonely_) {
        if (flows_[flow].active && flows_[flow].epoch != epoch_) {
            flows_[flow].epoch = epoch_;
            set_rate_alone(flow, now);
        }
    }
    touched_.clear();
    lonely_.clear();
    return changed_;
}

double FluidNetwork::alone_level(const Shape& shape) const {
    double level = kInfinity;
    for (std::uint32_t u = shape.begin; u < shape.end; ++u) {
        const double capacity = links_[usages_[u].link].capacity;
        if (capacity > 0) {
            level = std::min(level, level_of(capacity, usages_[u].coefficient * shape.weight));
        }
    }
    return level;
}

void FluidNetwork::set_rate_alone(std::uint32_t flow, Time now) {
    Shape& s = shapes_[flows_[flow].shape];
    if (s.version != version_) {
        s.level = alone_level(s);
        s.version = version_;
    }
    set_rate(flow, rate_at(s.level, flows_[flow].cap, s.weight), now);
}

Duration FluidNetwork::alone(const FlowShape& shape, Bytes message) const {
    Shape s;
    s.begin = shape.usage_begin;
    s.end = shape.usage_end;
    s.weight = shape.weight;
    return duration_of(static_cast<double>(message.value),
                       rate_at(alone_level(s), limit(shape.cap), s.weight));
}

void FluidNetwork::set_rate(std::uint32_t flow, double rate, Time now) {
    Flow& f = flows_[flow];
    if (!f.fresh && std::bit_cast<std::uint64_t>(rate) == std::bit_cast<std::uint64_t>(f.rate)) {
        return;
    }
    if (!f.fresh && f.rate < kInfinity) {
        f.remaining = std::max(0.0, f.remaining - f.rate * to_seconds(now - f.since));
    }
    f.fresh = false;
    f.since = now;
    f.rate = rate;
    f.completion = now + duration_of(f.remaining, rate);
    changed_.push_back(FlowId{flow});
}

void FluidNetwork::shift(Duration by) {
    MW_CHECK(touched_.empty() && lonely_.empty(), "flows are moved in time before they have rates");
    for (Flow& f : flows_) {
        if (f.active) {
            f.since += by;
            f.completion += by;
        }
    }
}

double FluidNetwork::moved(const Flow& flow, Time now) const {
    const auto message = static_cast<double>(flow.message);
    if (flow.fresh) {
        return 0;
    }
    if (now >= flow.completion) {
        return message;
    }
    return std::clamp(
        message - flow.remaining + flow.rate * to_seconds(now - flow.since), 0.0, message);
}

std::vector<double> FluidNetwork::carried(Time now) const {
    std::vector<std::int64_t> bytes(shapes_.size());
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
        bytes[s] = shapes_[s].done;
    }
    for (const Flow& f : flows_) {
        if (f.active) {
            bytes[f.shape] += static_cast<std::int64_t>(moved(f, now));
        }
    }
    std::vector<Wide> sums(links_.size());
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
        for (std::uint32_t u = shapes_[s].begin; u < shapes_[s].end; ++u) {
            sums[usages_[u].link] +=
                static_cast<Wide>(usages_[u].coefficient) * static_cast<Wide>(bytes[s]);
        }
    }
    std::vector<double> result(links_.size());
    std::transform(sums.begin(), sums.end(), result.begin(), [](Wide sum) {
        return static_cast<double>(sum) * kPerUnit;
    });
    return result;
}

// ---- Progressive filling of one component

void FluidNetwork::solve(std::uint32_t seed, Time now) {
    collect(seed);
    if (component_.size() == 1) {
        set_rate_alone(seed, now);
        return;
    }
    fill();
    for (const std::uint32_t flow : component_) {
        set_rate(flow, flows_[flow].next_rate, now);
    }
}

// Breadth first over flows and the links that can bind; sums the loads.
void FluidNetwork::collect(std::uint32_t seed) {
    component_.clear();
    component_links_.clear();
    component_.push_back(seed);
    flows_[seed].epoch = epoch_;
    for (std::size_t i = 0; i < component_.size(); ++i) {
        Flow& f = flows_[component_[i]];
        f.frozen = false;
        const std::uint32_t end = f.block + shapes_[f.shape].entries;
        for (std::uint32_t e = f.block; e != end; ++e) {
            LinkState& link = links_[entries_[e].link];
            if (link.epoch == epoch_) {
                link.load += entries_[e].load;
                continue;
            }
            link.epoch = epoch_;
            link.load = entries_[e].load;
            link.freezing = 0;
            component_links_.push_back(entries_[e].link);
            for (std::uint32_t other = link.head; other != kNone; other = entries_[other].next) {
                Flow& neighbour = flows_[entries_[other].flow];
                if (neighbour.epoch != epoch_) {
                    neighbour.epoch = epoch_;
                    component_.push_back(entries_[other].flow);
                }
            }
        }
    }
}

void FluidNetwork::fill() {
    open_links();
    sort_caps();
    while (true) {
        const double level = lowest_level();
        // Step 1. Flows whose cap is below every link freeze at it: that only raises the links' levels.
        if (freeze_capped(level)) {
            continue;
        }
        // Step 2. The fullest links fill up: all that is still rising on them freezes.
        if (level == kInfinity) {
            break;
        }
        freeze_full(level);
    }
    // Left over: flows on links that do not limit them, without a cap.
    for (const std::uint32_t flow : component_) {
        if (!flows_[flow].frozen) {
            flows_[flow].next_rate = kInfinity;
        }
    }
}

void FluidNetwork::open_links() {
    levels_.clear();
    open_.clear();
    closed_ = 0;
    for (const std::uint32_t l : component_links_) {
        LinkState& link = links_[l];
        link.left = limit(link.capacity);
        link.slot = static_cast<std::uint32_t>(open_.size());
        open_.push_back(l);
        levels_.push_back(level_of(link.left, link.load));
    }
}

void FluidNetwork::sort_caps() {
    next_cap_ = 0;
    caps_.clear();
    for (const std::uint32_t flow : component_) {
        const Flow& f = flows_[flow];
        if (f.cap < kInfinity) {
            caps_.push_back({f.cap / static_cast<double>(shapes_[f.shape].weight), flow});
        }
    }
    // Among equal levels the order does not matter: they freeze in one round.
    std::sort(caps_.begin(), caps_.end(), [](const Capped& a, const Capped& b) {
        return a.level < b.level;
    });
}

// One round for each level of caps up to `level`. True when a flow froze.
bool FluidNetwork::freeze_capped(double level) {
    bool froze = false;
    while (next_cap_ < caps_.size() && caps_[next_cap_].level <= level) {
        const double own = caps_[next_cap_].level;
        for (; next_cap_ < caps_.size() && caps_[next_cap_].level == own; ++next_cap_) {
            const std::uint32_t flow = caps_[next_cap_].flow;
            if (!flows_[flow].frozen) {
                freeze(flow, flows_[flow].cap);
                froze = true;
            }
        }
        finish_round(own);
    }
    return froze;
}

void FluidNetwork::freeze_full(double level) {
    full_.clear();
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        if (levels_[i] == level) {
            full_.push_back(open_[i]);
        }
    }
    for (const std::uint32_t l : full_) {
        for (std::uint32_t e = links_[l].head; e != kNone; e = entries_[e].next) {
            const std::uint32_t flow = entries_[e].flow;
            if (!flows_[flow].frozen) {
                freeze(flow, static_cast<double>(shapes_[flows_[flow].shape].weight) * level);
            }
        }
    }
    finish_round(level);
    compact();
}

double FluidNetwork::lowest_level() const {
    // Four chains, because one would wait for its own comparison each time.
    double a = kInfinity;
    double b = kInfinity;
    double c = kInfinity;
    double d = kInfinity;
    std::size_t i = 0;
    for (; i + 4 <= levels_.size(); i += 4) {
        a = std::min(a, levels_[i]);
        b = std::min(b, levels_[i + 1]);
        c = std::min(c, levels_[i + 2]);
        d = std::min(d, levels_[i + 3]);
    }
    for (; i < levels_.size(); ++i) {
        a = std::min(a, levels_[i]);
    }
    return std::min(std::min(a, b), std::min(c, d));
}

void FluidNetwork::freeze(std::uint32_t flow, double rate) {
    Flow& f = flows_[flow];
    f.frozen = true;
    f.next_rate = rate;
    const std::uint32_t end = f.block + shapes_[f.shape].entries;
    for (std::uint32_t e = f.block; e != end; ++e) {
        LinkState& link = links_[entries_[e].link];
        if (link.freezing == 0) {
            round_links_.push_back(entries_[e].link);
        }
        link.freezing += entries_[e].load;
    }
}

void FluidNetwork::finish_round(double level) {
    for (const std::uint32_t l : round_links_) {
        LinkState& link = links_[l];
        link.left -= static_cast<double>(link.freezing) * kPerUnit * level;
        link.load -= link.freezing;
        link.freezing = 0;
        closed_ += link.load == 0 ? 1U : 0U;
        // Levels never fall; without the lower bound rounding could make them, when little of a link is left.
        levels_[link.slot] =
            link.load == 0 ? kInfinity : std::max(level_of(link.left, link.load), level);
    }
    round_links_.clear();
}

// Forgets links on which nothing rises any more, once they are the majority.
void FluidNetwork::compact() {
    if (2 * closed_ < levels_.size()) {
        return;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        if (links_[open_[i]].load > 0) {
            levels_[kept] = levels_[i];
            open_[kept] = open_[i];
            links_[open_[kept]].slot = static_cast<std::uint32_t>(kept);
            ++kept;
        }
    }
    levels_.resize(kept);
    open_.resize(kept);
    closed_ = 0;
}

}  // namespace memwall
