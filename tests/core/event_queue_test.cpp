// Property tests against std::multiset: every stream, however awkward, comes out in exact order.
#include "sim/core/event_queue.h"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/core/rng.h"

using namespace memwall;

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// Fixed seeds; a failing one is printed.
class Random {
  public:
    explicit Random(std::uint64_t seed) : seed_(seed) {}
    std::uint64_t below(std::uint64_t n) { return bits() % n; }
    std::uint64_t bits() { return draw({.seed = seed_, .subject = 1, .index = count_++}); }

  private:
    std::uint64_t seed_;
    std::uint64_t count_ = 0;
};

// The instant of the next event, given the instant of the last one popped.
using NextTime = std::function<std::int64_t(Random&, std::int64_t now)>;

struct StreamCase {
    std::string name;
    NextTime next;
};

std::int64_t later(std::int64_t now, std::uint64_t by) {
    return now > kMax - static_cast<std::int64_t>(by) ? kMax : now + static_cast<std::int64_t>(by);
}

const std::vector<StreamCase>& streams() {
    static const std::vector<StreamCase> all{
        {"uniform", [](Random& r, std::int64_t now) { return later(now, r.below(1'000'000)); }},
        {"all equal", [](Random&, std::int64_t) { return std::int64_t{7}; }},
        {"always at the current instant", [](Random&, std::int64_t now) { return now; }},
        {"two instants",
         [](Random& r, std::int64_t now) {
             return r.below(2) == 0 ? now : now / 1000 * 1000 + 1000;
         }},
        {"1 us and 1 s",
         [](Random& r, std::int64_t now) {
             return later(now, r.below(r.below(2) == 0 ? 2'000'000 : 2'000'000'000'000));
         }},
        {"bursts",
         [](Random& r, std::int64_t now) {
             return r.below(2) == 0 ? (now / 5000 + 1) * 5000 : later(now, r.below(9000));
         }},
        {"huge gaps",
         [](Random& r, std::int64_t now) { return later(now, std::uint64_t{1} << r.below(62)); }},
        {"whole range, also the past",
         [](Random& r, std::int64_t) { return static_cast<std::int64_t>(r.bits()); }},
        {"limits of int64",
         [](Random& r, std::int64_t) {
             constexpr std::array<std::int64_t, 6> kLimits{kMin, kMin + 1, -1, 0, kMax - 1, kMax};
             return kLimits[r.below(6)];
         }},
        {"one far ahead of a crowd",
         [](Random& r, std::int64_t now) {
             return r.below(500) == 0 ? kMax - 5 : later(now, r.below(3));
         }},
        {"falling times",
         [](Random& r, std::int64_t now) {
             return now < kMin / 2 ? now : now - static_cast<std::int64_t>(r.below(100));
         }},
    };
    return all;
}

struct Shape {
    std::size_t most = 0;        // pending
    std::uint64_t contents = 0;  // distinct (kind, subject); few make many full ties
};

void play(const StreamCase& stream, Shape shape, std::uint64_t seed) {
    CAPTURE(stream.name);
    CAPTURE(shape.most);
    CAPTURE(seed);
    Random random(seed);
    EventQueue queue;
    std::multiset<Event> reference;
    std::int64_t now = 0;
    std::uint64_t sequence = 0;
    bool filling = true;
    for (std::size_t i = 0; i < 8 * shape.most + 200; ++i) {
        filling = reference.size() >= shape.most ? false
                                                 : (reference.size() <= shape.most / 8 || filling);
        if (reference.empty() || random.below(4) < (filling ? 3U : 1U)) {
            const Event event{.time = Time(Duration(stream.next(random, now))),
                              .kind = static_cast<std::uint32_t>(random.below(3)),
                              .subject = static_cast<std::uint32_t>(random.below(shape.contents)),
                              .sequence = random.below(8) == 0 ? 1 : sequence++};
            queue.push(event);
            reference.insert(event);
        } else {
            const Event expected = *reference.begin();
            REQUIRE(queue.top() == expected);
            REQUIRE(queue.pop() == expected);
            reference.erase(reference.begin());
            now = expected.time.time_since_epoch().count();
        }
        REQUIRE(queue.size() == reference.size());
    }
    while (!reference.empty()) {
        REQUIRE(queue.pop() == *reference.begin());
        reference.erase(reference.begin());
    }
    REQUIRE(queue.empty());
}

Event at(std::int64_t time,
         std::uint32_t kind = 0,
         std::uint32_t subject = 0,
         std::uint64_t sequence = 0) {
    return {.time = Time(Duration(time)), .kind = kind, .subject = subject, .sequence = sequence};
}

}  // namespace

TEST_CASE("every stream of events is popped in the order of a multiset") {
    for (const StreamCase& stream : streams()) {
        for (const Shape shape : {Shape{3, 2}, Shape{80, 5}, Shape{1000, 1}, Shape{3000, 100000}}) {
            for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                play(stream, shape, seed);
            }
        }
        // Many enough for the widest buckets and for several digits of a burst.
        play(stream, Shape{20000, 100}, 4);
        play(stream, Shape{20000, 1'000'000'000}, 5);
    }
}

TEST_CASE("ties in time are broken by kind, then subject, then sequence, whoever pushes first") {
    const std::vector<Event> ordered{
        at(5, 0, 9, 9), at(5, 1, 0, 7), at(5, 1, 2, 0), at(5, 1, 2, 1), at(6)};
    EventQueue queue;
    for (auto event = ordered.rbegin(); event != ordered.rend(); ++event) {
        queue.push(*event);
    }
    for (const Event& event : ordered) {
        CHECK(queue.pop() == event);
    }
}

TEST_CASE("the order of pushes at one instant does not show in the order of pops") {
    std::vector<Event> events;
    for (std::uint32_t i = 0; i < 5000; ++i) {
        events.push_back(at(42, i % 3, i * 7919 % 5000 / 4, i));
    }
    EventQueue forwards;
    EventQueue backwards;
    for (std::size_t i = 0; i < events.size(); ++i) {
        forwards.push(events[i]);
        backwards.push(events[events.size() - 1 - i]);
    }
    while (!forwards.empty()) {
        REQUIRE(forwards.pop() == backwards.pop());
    }
    CHECK(backwards.empty());
}

TEST_CASE("a burst is in order whichever bits of its content vary") {
    constexpr std::array<std::uint32_t, 5> kMasks{0, 1, 0x3FFF, 0xFF00FF00U, 0xFFFFFFFFU};
    Random random(6);
    for (const std::size_t size : {40U, 60U, 70U, 3000U}) {
        for (const std::uint32_t kinds : kMasks) {
            for (const std::uint32_t subjects : kMasks) {
                CAPTURE(size);
                CAPTURE(kinds);
                CAPTURE(subjects);
                std::multiset<Event> expected;
                EventQueue queue;
                for (std::size_t i = 0; i < size; ++i) {
                    // A few events around the burst.
                    const std::uint64_t offset = random.below(20) == 0 ? random.below(20) : 10;
                    const Event event =
                        at(static_cast<std::int64_t>(offset),
                           0x01000000U | (static_cast<std::uint32_t>(random.bits()) & kinds),
                           static_cast<std::uint32_t>(random.bits()) & subjects,
                           random.below(size));
                    queue.push(event);
                    expected.insert(event);
                }
                for (const Event& event : expected) {
                    REQUIRE(queue.pop() == event);
                }
            }
        }
    }
}

TEST_CASE("an event equal in everything is kept as often as it is pushed") {
    EventQueue queue;
    for (int i = 0; i < 300; ++i) {
        queue.push(at(1, 1, 1, 1));
    }
    CHECK(queue.size() == 300);
    for (int i = 0; i < 300; ++i) {
        CHECK(queue.pop() == at(1, 1, 1, 1));
    }
    CHECK(queue.empty());
}

TEST_CASE("an event may be pushed before the one popped last") {
    EventQueue queue;
    queue.push(at(100));
    CHECK(queue.pop() == at(100));
    queue.push(at(200));
    queue.push(at(50));
    CHECK(queue.pop() == at(50));
    CHECK(queue.pop() == at(200));
}

TEST_CASE("the ends of int64 are instants like any other") {
    EventQueue queue;
    queue.push(at(kMax));
    queue.push(at(kMin));
    queue.push(at(0));
    CHECK(queue.pop() == at(kMin));
    queue.push(at(kMin));
    CHECK(queue.pop() == at(kMin));
    CHECK(queue.pop() == at(0));
    CHECK(queue.pop() == at(kMax));
}

TEST_CASE("a cleared queue is empty and works") {
    EventQueue queue;
    queue.reserve(10);
    for (int i = 0; i < 1000; ++i) {
        queue.push(at(i * 1000));
    }
    CHECK(queue.pop() == at(0));
    queue.clear();
    CHECK(queue.empty());
    queue.push(at(3));
    queue.push(at(2));
    CHECK(queue.pop() == at(2));
    CHECK(queue.pop() == at(3));
}

TEST_CASE("asking an empty queue for an event is our bug") {
    EventQueue queue;
    CHECK_THROWS_AS(queue.pop(), BugError);
    queue.push(at(1));
    CHECK(queue.pop() == at(1));
    CHECK_THROWS_AS((void)queue.top(), BugError);
}
