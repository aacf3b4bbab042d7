#pragma once
// The pending events of a simulation, popped in the exact order of (time, kind, subject, sequence). Ties are broken by
// content, never by insertion, so that a change in who pushes first cannot change a result.
//
// A lazily sorted ladder queue. Far events lie unsorted in one list. Only when their turn comes are the nearest of them
// dealt into the buckets of a rung, a crowded bucket into the finer buckets of another rung, and a small bucket is
// sorted into `bottom_`, from whose end events are popped. Each event moves a few times, whatever the number pending:
// O(1) amortised, where a heap takes O(log n) cache misses. What makes it robust:
//  - a rung's bucket width comes from a quantile of the times at hand, so that one event far away does not spoil it;
//  - bucket widths are powers of two: a bucket is found by a shift, without rounding;
//  - an event pushed below the end of the bottom goes into it if near its end, else into a small heap beside it, and
//    when that heap grows, its events are dealt into a rung of their own; equal instants, which no width can separate,
//    stay in the heap: the worst case is a heap's.
// Chosen by tests/bench/event_queue_bench.cpp. Source: Tang, Goh, Thng, "Ladder queue: an O(1) priority queue structure
// for large-scale discrete event simulation", ACM TOMACS 15(3), 2005.
//
// No allocation once the number pending has reached its peak.
#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/core/units.h"

namespace memwall {

struct Event {
    Time time{};
    std::uint32_t kind = 0;
    std::uint32_t subject = 0;
    std::uint64_t sequence = 0;

    constexpr auto operator<=>(const Event&) const = default;
};
static_assert(sizeof(Event) == 24);

class EventQueue {
  public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    void push(const Event& event);
    // The least event; the queue is not empty. Not const: sorting is done when the order is asked for.
    [[nodiscard]] const Event& top();
    Event pop();
    void clear();
    // Room for that many pending events without allocation.
    void reserve(std::size_t events);

  private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
    static constexpr std::size_t kRungs = 8;

    // Times as unsigned numbers in the same order: the difference of any two fits.
    using Key = std::uint64_t;
    static Key key_of(const Event& event) {
        return static_cast<Key>(event.time.time_since_epoch().count()) ^ (Key{1} << 63U);
    }

    // A bucket is a chain of chunks of four cache lines, of which only the first is partly filled.
    static constexpr std::uint32_t kPerChunk = 10;
    struct alignas(64) Chunk {
        std::array<Event, kPerChunk> events;
        std::uint32_t next = kNone;
        std::uint32_t after_next = kNone;  // to be fetched ahead: a crowded bucket is a long chain
    };
    struct Bucket {
        std::uint32_t chunk = kNone;
        std::uint32_t filled = kPerChunk;  // events in the first chunk
    };

    // Buckets of width 2^shift from `begin` on; the last one reaches to `last`. Those before `current` are used up.
    struct Rung {
        std::vector<Bucket> heads;
        Key begin = 0;
        Key last = 0;
        unsigned shift = 0;
        std::size_t buckets = 0;
        std::size_t crowded = 0;  // a bucket with more events is dealt again
        std::size_t current = 0;
    };

    void put(Rung& rung, const Event& event);
    void prefetch(std::uint32_t chunk) const;
    void add_chunk(Bucket& bucket);
    void push_near(const Event& event);
    Event pop_near();
    void open_rung(const std::vector<Event>& events, Key last);
    void prepare();
    void deal_far();
    void take_bucket(Rung& rung);
    bool split(std::vector<Event>& events);
    void split_near();

    std::size_t size_ = 0;
    bool open_ = false;          // false: all events are in far_
    Key bottom_last_ = 0;        // keys up to here belong to bottom_ and near_
    std::vector<Event> bottom_;  // descending: the least is at the end
    std::vector<Event> near_;    // heap of late-comers, the least in front
    std::size_t near_limit_ = 0;
    std::array<Rung, kRungs> rungs_;
    std::size_t depth_ = 0;  // rungs in use, coarse to fine
    std::vector<Event> far_;
    std::vector<Event> scratch_;
    std::vector<Chunk> pool_;
    std::uint32_t free_ = kNone;
};

inline void EventQueue::put(Rung& rung, const Event& event) {
    const Key offset = (key_of(event) - rung.begin) >> rung.shift;
    Bucket& bucket =
        rung.heads[offset < rung.buckets ? static_cast<std::size_t>(offset) : rung.buckets - 1];
    if (bucket.filled == kPerChunk) {
        add_chunk(bucket);
    }
    pool_[bucket.chunk].events[bucket.filled++] = event;
}

inline void EventQueue::push(const Event& event) {
    ++size_;
    if (open_) {
        const Key key = key_of(event);
        if (key <= bottom_last_) {
            push_near(event);
            return;
        }
        for (std::size_t d = depth_; d-- > 0;) {
            if (key <= rungs_[d].last) {
                put(rungs_[d], event);
                return;
            }
        }
    }
    far_.push_back(event);
}

inline const Event& EventQueue::top() {
    if (bottom_.empty() && near_.empty()) {
        prepare();
    }
    if (near_.empty()) {
        return bottom_.back();
    }
    return bottom_.empty() || near_.front() < bottom_.back() ? near_.front() : bottom_.back();
}

inline Event EventQueue::pop() {
    if (!near_.empty()) {
        return pop_near();
    }
    if (bottom_.empty()) {
        prepare();
    }
    --size_;
    const Event event = bottom_.back();
    bottom_.pop_back();
    return event;
}

}  // namespace memwall
