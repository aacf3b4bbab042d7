#include "sim/core/event_queue.h"

#include <bit>
#include <span>

#include "sim/core/check.h"
#include "sim/core/event_sort.h"

namespace memwall {

namespace {

// The events of a bucket, where they are dense. Of few pending events few, so that hardly any is pushed below the end of
// the bottom; of many pending events more, so that there are few buckets and the ends to which is pushed stay cached.
constexpr std::size_t kOccupancyLeast = 16;
constexpr std::size_t kOccupancyMost = 128;
constexpr std::size_t kPerOccupancy = 64;
// A bucket with so many times more is dealt into finer ones, if their instants differ.
constexpr std::size_t kCrowded = 8;
// Insertion into the bottom looks at so many events from its end before it gives up and uses the heap.
constexpr std::size_t kReach = 32;
constexpr std::size_t kNearLimit = 256;
constexpr std::size_t kSamples = 32;

using Key = std::uint64_t;

// Some of the keys, evenly picked and sorted.
struct Samples {
    std::array<Key, kSamples> keys{};
    std::size_t count = 0;
};

template <class KeyOf>
Samples sample(std::span<const Event> events, KeyOf key_of) {
    Samples out;
    out.count = std::min(events.size(), kSamples);
    for (std::size_t i = 0; i < out.count; ++i) {
        out.keys[i] = key_of(events[i * events.size() / out.count]);
    }
    std::sort(out.keys.begin(), out.keys.begin() + static_cast<std::ptrdiff_t>(out.count));
    return out;
}

}  // namespace

void EventQueue::clear() {
    size_ = 0;
    open_ = false;
    bottom_.clear();
    near_.clear();
    far_.clear();
    pool_.clear();
    depth_ = 0;
    free_ = kNone;
}

void EventQueue::reserve(std::size_t events) {
    bottom_.reserve(events);
    near_.reserve(events);
    far_.reserve(events);
    scratch_.reserve(events);
    pool_.reserve(events);
    rungs_[0].heads.reserve(2 * events);
}

void EventQueue::push_near(const Event& event) {
    const std::size_t n = bottom_.size();
    if (n <= kReach || event < bottom_[n - kReach]) {
        bottom_.push_back(event);
        std::size_t i = n;
        for (; i > 0 && bottom_[i - 1] < event; --i) {
            bottom_[i] = bottom_[i - 1];
        }
        bottom_[i] = event;
        return;
    }
    near_.push_back(event);
    std::push_heap(near_.begin(), near_.end(), std::greater<>());
    if (near_.size() > near_limit_) {
        split_near();
    }
}

// The least of the bottom and of the heap beside it, which is not empty.
Event EventQueue::pop_near() {
    --size_;
    if (!bottom_.empty() && bottom_.back() < near_.front()) {
        const Event event = bottom_.back();
        bottom_.pop_back();
        return event;
    }
    std::pop_heap(near_.begin(), near_.end(), std::greater<>());
    const Event event = near_.back();
    near_.pop_back();
    return event;
}

// A rung for events of which none is beyond `last`. The width is such that a bucket has its occupancy where they are dense;
// the regular buckets cover four times the span of nine tenths of them, the last bucket takes what is far off.
void EventQueue::open_rung(const std::vector<Event>& events, Key last) {
    constexpr std::size_t kFewest = 16;
    // Room for what is pushed while the rung lasts, so that events are not dealt again and again.
    constexpr Key kAhead = 4;
    const std::size_t n = events.size();
    Key first = key_of(events[0]);
    for (const Event& event : events) {
        first = std::min(first, key_of(event));
    }
    const Samples samples = sample(events, key_of);
    const std::size_t m = samples.count;
    // Equal instants at the front say nothing about the width: begin behind them, look at the nearest quarter of the rest.
    std::size_t from = 0;
    while (from + 1 < m && samples.keys[from] == first) {
        ++from;
    }
    const std::size_t to = from + (m - 1 - from) / 4;
    const double events_between =
        static_cast<double>(n) * static_cast<double>(to - from + 1) / static_cast<double>(m);
    const std::size_t occupancy = std::clamp(n / kPerOccupancy, kOccupancyLeast, kOccupancyMost);
    const double width = static_cast<double>(occupancy) *
                         static_cast<double>(samples.keys[to] - first) / events_between;

    Rung& rung = rungs_[depth_++];
    rung.begin = first;
    rung.last = last;
    rung.crowded = kCrowded * occupancy;
    rung.shift =
        width < 2
            ? 0
            : static_cast<unsigned>(std::bit_width(static_cast<Key>(std::min(width, 0x1p62))) - 1);
    const Key wanted = kAhead * (((samples.keys[(m - 1) * 9 / 10] - first) >> rung.shift) + 1);
    rung.buckets = static_cast<std::size_t>(std::clamp<Key>(wanted, kFewest, 2 * n + kFewest));
    rung.current = 0;
    rung.heads.assign(rung.buckets, Bucket{});
}

void EventQueue::prepare() {
    MW_CHECK(size_ > 0, "an event is asked of an empty queue");
    while (true) {
        if (depth_ == 0) {
            deal_far();
            if (!bottom_.empty()) {
                return;
            }
            continue;
        }
        Rung& rung = rungs_[depth_ - 1];
        while (rung.current < rung.buckets && rung.heads[rung.current].chunk == kNone) {
            ++rung.current;
        }
        if (rung.current == rung.buckets) {
            bottom_last_ = rung.last;
            --depth_;
            continue;
        }
        take_bucket(rung);
        if (bottom_.size() > rung.crowded && split(bottom_)) {
            continue;
        }
        sort_descending(bottom_, scratch_);
        return;
    }
}

void EventQueue::take_bucket(Rung& rung) {
    const Bucket bucket = rung.heads[rung.current];
    if (rung.current + 1 < rung.buckets) {
        prefetch(rung.heads[rung.current + 1].chunk);
    }
    std::uint32_t chunk = bucket.chunk;
    for (std::uint32_t filled = bucket.filled;; filled = kPerChunk) {
        prefetch(pool_[chunk].after_next);
        const auto first = pool_[chunk].events.begin();
        bottom_.insert(bottom_.end(), first, first + filled);
        if (pool_[chunk].next == kNone) {
            break;
        }
        chunk = pool_[chunk].next;
    }
    pool_[chunk].next = free_;
    free_ = bucket.chunk;
    rung.heads[rung.current] = Bucket{};
    ++rung.current;
    // The end of the bucket, where the rung does not end before it; a shift that loses bits is beyond any end.
    const Key width = Key{rung.current} << rung.shift;
    const bool inside = rung.current < rung.buckets && width >> rung.shift == rung.current &&
                        width <= rung.last - rung.begin;
    bottom_last_ = inside ? rung.begin + width - 1 : rung.last;
}

// Brings a chunk into the cache before it is needed.
inline void EventQueue::prefetch(std::uint32_t chunk) const {
    if (chunk != kNone) {
        __builtin_prefetch(&pool_[chunk]);
        __builtin_prefetch(&pool_[chunk].events[kPerChunk - 1]);
    }
}

void EventQueue::add_chunk(Bucket& bucket) {
    std::uint32_t chunk = free_;
    if (chunk != kNone) {
        free_ = pool_[chunk].next;
        prefetch(free_);
    } else {
        chunk = static_cast<std::uint32_t>(pool_.size());
        pool_.emplace_back();
    }
    pool_[chunk].next = bucket.chunk;
    pool_[chunk].after_next = bucket.chunk == kNone ? kNone : pool_[bucket.chunk].next;
    bucket = {.chunk = chunk, .filled = 0};
}

// Everything is in far_: its nearest part becomes the first rung, or the bottom when they are few.
void EventQueue::deal_far() {
    open_ = true;
    near_limit_ = kNearLimit;
    if (far_.size() > kFewEvents) {
        open_rung(far_, 0);
        Rung& rung = rungs_[0];
        const Key span = Key{rung.buckets} << rung.shift;
        const bool whole =
            (span >> rung.shift) != rung.buckets || rung.begin + span - 1 < rung.begin;
        rung.last = whole ? ~Key{0} : rung.begin + span - 1;
        std::size_t kept = 0;
        for (const Event& event : far_) {
            if (key_of(event) <= rung.last) {
                put(rung, event);
            } else {
                far_[kept++] = event;
            }
        }
        far_.resize(kept);
        return;
    }
    bottom_.swap(far_);
    sort_descending(bottom_, scratch_);
    bottom_last_ = key_of(bottom_.front());
}

// Deals events (the bottom, unsorted) into a rung of their own; false when that would not separate them.
bool EventQueue::split(std::vector<Event>& events) {
    if (depth_ == kRungs) {
        return false;
    }
    const Samples samples = sample(events, key_of);
    const auto end = samples.keys.begin() + static_cast<std::ptrdiff_t>(samples.count);
    std::size_t distinct = 1;
    for (auto it = samples.keys.begin() + 1; it != end; ++it) {
        distinct += *it != *(it - 1) ? 1 : 0;
    }
    if (distinct < samples.count / 4) {
        return false;
    }
    open_rung(events, bottom_last_);
    for (const Event& event : events) {
        put(rungs_[depth_ - 1], event);
    }
    events.clear();
    return true;
}

// The heap beside the bottom has grown: give both a rung, unless they are at few instants only.
void EventQueue::split_near() {
    const std::size_t own = bottom_.size();
    bottom_.insert(bottom_.end(), near_.begin(), near_.end());
    if (split(bottom_)) {
        near_.clear();
        near_limit_ = kNearLimit;
        prepare();  // the bottom begins anew with the first bucket of that rung
        return;
    }
    bottom_.resize(own);
    near_limit_ = 2 * near_.size();
}

}  // namespace memwall
