// Which queue holds the pending events: the hold model (pop the least, push one a random increment later) at 100, 1,000
// and 100,000 pending, with three kinds of increments:
//   exponential  mean 1 us
//   burst        as above, every second event rounded up to the next whole microsecond: half of them at equal instants
//   mixed        means of 1 us and 1 s in turn
// Queues: binary heap (std::priority_queue), 4-ary heap, bare calendar queue, and sim/core/event_queue.h. The calendar is
// the yardstick: it orders by time only, a tie costs it nothing (the last pushed comes first, at the head of its list), and
// its bucket width is set to the best for the stream (of 0.75 to 12 separations) instead of being found.
// Source of the hold model: Vaucher and Duval, CACM 18(4), 1975; of the calendar: Brown, CACM 31(10), 1988.
#include <bit>
#include <cmath>
#include <cstdint>
#include <queue>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/core/event_queue.h"
#include "sim/core/hash.h"
#include "sim/core/rng.h"

namespace {

using memwall::draw;
using memwall::draw_unit;
using memwall::Duration;
using memwall::Event;
using memwall::Time;

enum class Increments : std::uint8_t { Exponential, Burst, Mixed };

constexpr double kShort = 1e6;  // 1 us [ps]
constexpr double kLong = 1e12;  // 1 s [ps]

// The time after `now` at which the next event is due. Increments are drawn beforehand: logarithms are not measured.
class Stream {
  public:
    explicit Stream(Increments kind) : kind_(kind), increments_(kDraws) {
        for (std::size_t i = 0; i < kDraws; ++i) {
            const double mean = kind == Increments::Mixed && draw({.seed = 2, .index = i}) % 2 == 0
                                    ? kLong
                                    : kShort;
            increments_[i] =
                static_cast<std::int64_t>(-std::log1p(-draw_unit({.seed = 1, .index = i})) * mean);
        }
    }

    // Spread out, so that no queue has to start from a crowd.
    Event first() {
        const double mean = kind_ == Increments::Mixed ? kLong : kShort;
        return at(static_cast<std::int64_t>(draw_unit({.seed = 3, .index = count_}) * 2 * mean));
    }

    Event next(Time now) {
        // Scattered: a table read in a fixed round would lock a larger number of events into its rhythm.
        const std::size_t i = memwall::mix64(count_) % kDraws;
        std::int64_t time = (now + Duration(increments_[i])).time_since_epoch().count();
        if (kind_ == Increments::Burst && count_ % 2 == 0) {
            constexpr auto kGrid = static_cast<std::int64_t>(kShort);
            time = (time / kGrid + 1) * kGrid;
        }
        return at(time);
    }

  private:
    Event at(std::int64_t time) {
        // Subjects in scattered order: equal instants must be put in order by content.
        const auto subject = static_cast<std::uint32_t>(count_ * 2654435761U >> 8U) & 0x3FFFU;
        return {.time = Time(Duration(time)),
                .kind = static_cast<std::uint32_t>(count_ & 3U),
                .subject = subject,
                .sequence = count_++};
    }

    static constexpr std::size_t kDraws = 4096;  // within the first-level cache
    Increments kind_;
    std::vector<std::int64_t> increments_;
    std::uint64_t count_ = 0;
};

// What a queue that need not learn anything is told.
struct Workload {
    std::size_t pending;
    double day;  // width of a bucket [ps]
};

class BinaryHeap {
  public:
    explicit BinaryHeap(const Workload&) {}
    void push(const Event& event) { heap_.push(event); }
    Event pop() {
        const Event event = heap_.top();
        heap_.pop();
        return event;
    }

  private:
    std::priority_queue<Event, std::vector<Event>, std::greater<>> heap_;
};

class FourHeap {
  public:
    explicit FourHeap(const Workload&) {}
    void push(const Event& event) {
        std::size_t i = heap_.size();
        heap_.push_back(event);
        for (; i > 0 && event < heap_[(i - 1) / 4]; i = (i - 1) / 4) {
            heap_[i] = heap_[(i - 1) / 4];
        }
        heap_[i] = event;
    }
    Event pop() {
        const Event least = heap_.front();
        const Event moved = heap_.back();
        heap_.pop_back();
        const std::size_t n = heap_.size();
        for (std::size_t i = 0; n > 0;) {
            const std::size_t first = 4 * i + 1;
            std::size_t child = first;
            for (std::size_t c = first + 1; c < first + 4 && c < n; ++c) {
                child = heap_[c] < heap_[child] ? c : child;
            }
            if (first >= n || !(heap_[child] < moved)) {
                heap_[i] = moved;
                break;
            }
            heap_[i] = heap_[child];
            i = child;
        }
        return least;
    }

  private:
    std::vector<Event> heap_;
};

// Brown's calendar without its resizing: sorted lists by day, a year of as many days as there are events.
class BareCalendar {
  public:
    explicit BareCalendar(const Workload& workload)
        : days_(std::bit_ceil(workload.pending)),
          shift_(static_cast<unsigned>(std::lround(std::log2(workload.day)))),
          heads_(days_, kNone) {}

    void push(const Event& event) {
        std::uint32_t node = free_;
        if (node != kNone) {
            free_ = pool_[node].next;
            pool_[node].event = event;
        } else {
            node = static_cast<std::uint32_t>(pool_.size());
            pool_.push_back({event, kNone});
        }
        std::uint32_t* at = &heads_[day_of(event) % days_];
        while (*at != kNone && pool_[*at].event.time < event.time) {
            at = &pool_[*at].next;
        }
        pool_[node].next = *at;
        *at = node;
    }

    Event pop() {
        for (std::size_t tried = 0;; ++tried, ++today_) {
            if (tried == days_) {
                today_ = earliest();
            }
            std::uint32_t& head = heads_[today_ % days_];
            if (head != kNone && day_of(pool_[head].event) <= today_) {
                const std::uint32_t node = head;
                head = pool_[node].next;
                pool_[node].next = free_;
                free_ = node;
                return pool_[node].event;
            }
        }
    }

  private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
    struct Node {
        Event event;
        std::uint32_t next;
    };

    [[nodiscard]] std::uint64_t day_of(const Event& event) const {
        return static_cast<std::uint64_t>(event.time.time_since_epoch().count()) >> shift_;
    }
    [[nodiscard]] std::uint64_t earliest() const {
        std::uint64_t day = ~std::uint64_t{0};
        for (const std::uint32_t head : heads_) {
            day = head == kNone ? day : std::min(day, day_of(pool_[head].event));
        }
        return day;
    }

    std::size_t days_;
    unsigned shift_;
    std::vector<std::uint32_t> heads_;
    std::vector<Node> pool_;
    std::uint64_t today_ = 0;
    std::uint32_t free_ = kNone;
};

class Ladder {
  public:
    explicit Ladder(const Workload&) {}
    void push(const Event& event) { queue_.push(event); }
    Event pop() { return queue_.pop(); }

  private:
    memwall::EventQueue queue_;
};

template <class Queue, Increments kIncrements>
void hold(benchmark::State& state) {
    const auto pending = static_cast<std::size_t>(state.range(0));
    const double mean = kIncrements == Increments::Mixed ? kLong / 2 : kShort;
    // Three separations of events (Brown 1988); where their distances are of two kinds, six were better.
    const double separations = kIncrements == Increments::Mixed ? 6 : 3;
    const Workload workload{.pending = pending,
                            .day = separations * mean / static_cast<double>(pending)};
    Queue queue(workload);
    Stream stream(kIncrements);
    for (std::size_t i = 0; i < pending; ++i) {
        queue.push(stream.first());
    }
    for (std::size_t i = 0; i < 5 * pending; ++i) {  // into the steady state
        queue.push(stream.next(queue.pop().time));
    }
    Time last{};
    for (auto _ : state) {
        const Event event = queue.pop();
        if (event.time < last) {
            state.SkipWithError("out of order");
        }
        last = event.time;
        queue.push(stream.next(last));
    }
}

}  // namespace

#define HOLD(stream)                                                                     \
    BENCHMARK(hold<BareCalendar, Increments::stream>)->Arg(100)->Arg(1000)->Arg(100000); \
    BENCHMARK(hold<Ladder, Increments::stream>)->Arg(100)->Arg(1000)->Arg(100000);       \
    BENCHMARK(hold<BinaryHeap, Increments::stream>)->Arg(100)->Arg(1000)->Arg(100000);   \
    BENCHMARK(hold<FourHeap, Increments::stream>)->Arg(100)->Arg(1000)->Arg(100000)

HOLD(Exponential);
HOLD(Burst);
HOLD(Mixed);
