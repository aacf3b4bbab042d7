#include "sim/memory/allocator.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "sim/core/check.h"

using namespace memwall;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

AllocatorResult replay(const std::vector<AllocatorEvent>& events,
                       const AllocatorOptions& options = {}) {
    return replay_allocator(events, options);
}

// A fixed sequence of pseudo-random numbers (Knuth's MMIX constants).
class Sequence {
  public:
    explicit Sequence(std::uint64_t seed) : state_(seed) {}
    std::int64_t below(std::int64_t n) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::int64_t>((state_ >> 33U) % static_cast<std::uint64_t>(n));
    }

  private:
    std::uint64_t state_;
};

std::vector<AllocatorEvent> random_events(std::uint64_t seed, int count) {
    Sequence draw(seed);
    std::vector<AllocatorEvent> events;
    std::vector<std::uint64_t> live;
    for (int i = 0; i < count; ++i) {
        if (!live.empty() && draw.below(5) < 2) {
            const auto at =
                static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(live.size())));
            events.push_back({.id = live[at], .bytes = 0});
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
            const std::int64_t scale[] = {1000, kMiB, 8 * kMiB, 100 * kMiB};
            const auto id = static_cast<std::uint64_t>(i);
            events.push_back({.id = id, .bytes = 1 + draw.below(scale[draw.below(4)])});
            live.push_back(id);
        }
    }
    for (const std::uint64_t id : live) {
        events.push_back({.id = id, .bytes = 0});
    }
    return events;
}

}  // namespace

// CUDACachingAllocator.cpp: kMinBlockSize 512, kSmallBuffer 2 MiB, kLargeBuffer 20 MiB, kRoundLarge 2 MiB.
TEST_CASE("a first request reserves the segment that its size calls for") {
    struct Case {
        std::int64_t bytes, allocated, reserved;
    };
    for (const Case& c : std::vector<Case>{
             {1, 512, 2 * kMiB},
             {512, 512, 2 * kMiB},
             {513, 1024, 2 * kMiB},
             {kMiB, kMiB, 2 * kMiB},
             {kMiB + 1, kMiB + 512, 20 * kMiB},
             {10 * kMiB - 512, 10 * kMiB - 512, 20 * kMiB},
             {10 * kMiB, 10 * kMiB, 10 * kMiB},
             {11 * kMiB, 12 * kMiB, 12 * kMiB},  // 1 MiB left: not more than 1 MiB, not split
             {21 * kMiB - 512, 21 * kMiB - 512, 22 * kMiB}}) {
        const AllocatorResult r = replay({{.id = 1, .bytes = c.bytes}});
        INFO(c.bytes);
        CHECK(r.requested_peak == c.bytes);
        CHECK(r.allocated_peak == c.allocated);
        CHECK(r.reserved_peak == c.reserved);
        CHECK(r.segments == 1);
    }
}

TEST_CASE("small and large requests never share a segment") {
    const AllocatorResult r = replay({{.id = 1, .bytes = 2 * kMiB}, {.id = 2, .bytes = 1000}});
    CHECK(r.reserved_peak == 22 * kMiB);
    CHECK(r.segments == 2);
}

TEST_CASE("the smallest free block that fits is taken, and of equal ones the first") {
    // Segments of 30 and 24 MiB, both free: 23 MiB goes into the 24 MiB one, so that 30 MiB still fits.
    const AllocatorResult r = replay({{.id = 1, .bytes = 30 * kMiB},
                                      {.id = 2, .bytes = 24 * kMiB},
                                      {.id = 1, .bytes = 0},
                                      {.id = 2, .bytes = 0},
                                      {.id = 3, .bytes = 23 * kMiB},
                                      {.id = 4, .bytes = 30 * kMiB}});
    CHECK(r.reserved_peak == 54 * kMiB);
    CHECK(r.segments == 2);
}

TEST_CASE("freed neighbours merge and serve a larger request") {
    // 40 MiB segment split in 20 + 20; both freed; 40 MiB fits again.
    const AllocatorResult merged = replay({{.id = 1, .bytes = 40 * kMiB},
                                           {.id = 1, .bytes = 0},
                                           {.id = 2, .bytes = 20 * kMiB},
                                           {.id = 3, .bytes = 20 * kMiB},
                                           {.id = 2, .bytes = 0},
                                           {.id = 3, .bytes = 0},
                                           {.id = 4, .bytes = 40 * kMiB}});
    CHECK(merged.segments == 1);
    CHECK(merged.reserved_peak == 40 * kMiB);
}

// Fragmentation: 20 MiB free in all, but in two pieces with a live block between them.
TEST_CASE("free bytes in two pieces do not serve one request") {
    const AllocatorResult r = replay({{.id = 0, .bytes = 30 * kMiB},
                                      {.id = 0, .bytes = 0},
                                      {.id = 1, .bytes = 10 * kMiB},
                                      {.id = 2, .bytes = 10 * kMiB},
                                      {.id = 3, .bytes = 10 * kMiB},
                                      {.id = 1, .bytes = 0},
                                      {.id = 3, .bytes = 0},
                                      {.id = 4, .bytes = 20 * kMiB}});
    CHECK(r.allocated == 30 * kMiB);
    CHECK(r.reserved_peak == 50 * kMiB);
}

TEST_CASE("at the capacity free segments are given back before a request fails") {
    const AllocatorOptions options{.capacity = 50 * kMiB};
    const std::vector<AllocatorEvent> events = {
        {.id = 1, .bytes = 30 * kMiB}, {.id = 1, .bytes = 0}, {.id = 2, .bytes = 40 * kMiB}};
    const AllocatorResult r = replay(events, options);
    CHECK_FALSE(r.out_of_memory);
    CHECK(r.retries == 1);
    CHECK(r.reserved == 40 * kMiB);
    CHECK(r.reserved_peak == 40 * kMiB);

    const AllocatorResult failed =
        replay({{.id = 1, .bytes = 30 * kMiB}, {.id = 2, .bytes = 40 * kMiB}}, options);
    CHECK(failed.out_of_memory);
    CHECK(failed.failed_event == 1);
    CHECK(failed.allocated == 30 * kMiB);
}

TEST_CASE("with max_split a large block is kept whole for large requests") {
    const AllocatorOptions options{.max_split = 32 * kMiB};
    // The free 64 MiB block may not be cut for 12 MiB.
    const AllocatorResult r = replay(
        {{.id = 1, .bytes = 64 * kMiB}, {.id = 1, .bytes = 0}, {.id = 2, .bytes = 12 * kMiB}},
        options);
    CHECK(r.reserved_peak == 76 * kMiB);
    // 50 MiB would leave 14 MiB unused, less than a large segment: allowed, unsplit.
    const AllocatorResult fits = replay(
        {{.id = 1, .bytes = 64 * kMiB}, {.id = 1, .bytes = 0}, {.id = 2, .bytes = 50 * kMiB}},
        options);
    CHECK(fits.reserved_peak == 64 * kMiB);
    CHECK(fits.allocated == 64 * kMiB);
}

// Growing sizes fragment fixed segments; a growing segment maps only the missing pages.
TEST_CASE("expandable segments reserve little more than is allocated") {
    std::vector<AllocatorEvent> events;
    for (std::uint64_t i = 0; i < 20; ++i) {
        events.push_back({.id = i, .bytes = (20 + 2 * static_cast<std::int64_t>(i)) * kMiB});
        events.push_back({.id = i, .bytes = 0});
    }
    CHECK(replay(events, {.expandable_segments = true}).reserved_peak == 58 * kMiB);
    CHECK(replay(events).reserved_peak == 780 * kMiB);  // 20 + 22 + ... + 58
}

TEST_CASE(
    "reserved covers allocated covers requested, and everything freed leaves nothing allocated") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const bool expandable : {false, true}) {
            const std::vector<AllocatorEvent> events = random_events(seed, 2000);
            const AllocatorResult r = replay(events, {.expandable_segments = expandable});
            INFO("seed " << seed);
            std::map<std::uint64_t, std::int64_t> live;
            std::int64_t now = 0;
            std::int64_t peak = 0;
            for (const AllocatorEvent& event : events) {
                now += event.bytes > 0 ? event.bytes : -live[event.id];
                live[event.id] = event.bytes;
                peak = std::max(peak, now);
            }
            CHECK(r.requested_peak == peak);
            CHECK(r.requested_peak <= r.allocated_peak);
            CHECK(r.allocated_peak <= r.reserved_peak);
            CHECK(r.requested == 0);
            CHECK(r.allocated == 0);
            CHECK(r.reserved == r.reserved_peak);
            CHECK_FALSE(r.out_of_memory);
        }
    }
}

TEST_CASE(
    "a capacity of exactly the reserved peak is enough, and capacity bounds what is reserved") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const std::vector<AllocatorEvent> events = random_events(seed, 500);
        const AllocatorResult free = replay(events);
        CHECK_FALSE(replay(events, {.capacity = free.reserved_peak}).out_of_memory);
        for (const bool expandable : {false, true}) {
            const AllocatorResult tight = replay(
                events,
                {.capacity = free.allocated_peak * 21 / 20, .expandable_segments = expandable});
            CHECK(tight.reserved_peak <= free.allocated_peak * 21 / 20);
        }
    }
}

TEST_CASE("a wrong list of events is our bug and is caught") {
    CHECK_THROWS_AS((void)replay({{.id = 1, .bytes = 0}}), BugError);
    CHECK_THROWS_AS((void)replay({{.id = 1, .bytes = 5}, {.id = 1, .bytes = 5}}), BugError);
    CHECK_THROWS_AS((void)replay({}, {.rounding = 0}), BugError);
    CHECK(replay({}).reserved_peak == 0);
}
