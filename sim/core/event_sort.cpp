#include "sim/core/event_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "sim/core/event_queue.h"

namespace memwall {

namespace {

// Time and content in one number, less the sequence: compared by two instructions, without a branch.
__extension__ typedef unsigned __int128
    Wide;  // NOLINT(modernize-use-using): __extension__ needs it

std::uint64_t content_of(const Event& event) {
    return std::uint64_t{event.kind} << 32U | event.subject;
}

Wide key_of(const Event& event) {
    const auto time = static_cast<std::uint64_t>(event.time.time_since_epoch().count()) ^
                      (std::uint64_t{1} << 63U);
    return Wide{time} << 64U | content_of(event);
}

bool greater(const Event& a, const Event& b) {
    return a > b;
}

// Descending order of what is in order but for the sequences of events that agree in all else.
void sort_sequences(std::span<Event> events) {
    const auto same = [](const Event& a, const Event& b) {
        return a.time == b.time && a.kind == b.kind && a.subject == b.subject;
    };
    for (std::size_t i = 1; i < events.size(); ++i) {
        if (same(events[i - 1], events[i])) {
            std::size_t end = i + 1;
            while (end < events.size() && same(events[i], events[end])) {
                ++end;
            }
            std::sort(&events[i - 1], events.data() + end, greater);
            i = end;
        }
    }
}

// Each event is put where the number of greater ones says: quadratic, but without a branch to mispredict, which makes it
// the fastest for the few events of a bucket.
void sort_few(std::span<Event> events) {
    std::array<Event, kFewEvents> copy;
    std::array<Wide, kFewEvents> keys;
    const std::size_t n = events.size();
    for (std::size_t i = 0; i < n; ++i) {
        copy[i] = events[i];
        keys[i] = key_of(events[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t rank = 0;
        for (std::size_t j = 0; j < i; ++j) {
            rank += keys[j] >= keys[i] ? 1U : 0U;
        }
        for (std::size_t j = i + 1; j < n; ++j) {
            rank += keys[j] > keys[i] ? 1U : 0U;
        }
        events[rank] = copy[i];
    }
    sort_sequences(events);
}

// Events at one instant: radix sort by kind and subject, least significant digit first, over the bits in which they differ;
// then the sequences of those that still agree.
void sort_burst(std::span<Event> events, std::vector<Event>& scratch) {
    constexpr unsigned kBits = 8;
    constexpr std::size_t kDigits = std::size_t{1} << kBits;
    const std::size_t n = events.size();
    std::uint64_t differ = 0;
    for (const Event& event : events) {
        differ |= content_of(event) ^ content_of(events[0]);
    }
    scratch.resize(std::max(scratch.size(), n));
    Event* from = events.data();
    Event* to = scratch.data();
    while (differ != 0) {
        const auto shift = static_cast<unsigned>(std::countr_zero(differ));
        const auto digit = [&](const Event& event) {
            return kDigits - 1 - (content_of(event) >> shift & (kDigits - 1));
        };
        std::array<std::uint32_t, kDigits + 1> at{};
        for (std::size_t i = 0; i < n; ++i) {
            ++at[digit(from[i]) + 1];
        }
        for (std::size_t d = 1; d < kDigits; ++d) {
            at[d] += at[d - 1];
        }
        for (std::size_t i = 0; i < n; ++i) {
            to[at[digit(from[i])]++] = from[i];
        }
        std::swap(from, to);
        differ = shift + kBits >= 64 ? 0 : differ >> (shift + kBits) << (shift + kBits);
    }
    if (from != events.data()) {
        std::copy(from, from + n, events.data());
    }
    sort_sequences(events);
}

}  // namespace

void sort_descending(std::span<Event> events, std::vector<Event>& scratch) {
    if (events.size() <= kFewEvents) {
        sort_few(events);
        return;
    }
    // If many are at one instant, the median of a few is there too.
    std::array<Time, 15> times;
    for (std::size_t i = 0; i < times.size(); ++i) {
        times[i] = events[i * events.size() / times.size()].time;
    }
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    const Time instant = times[7];
    const auto equal = std::partition(
        events.begin(), events.end(), [&](const Event& e) { return e.time > instant; });
    const auto before =
        std::partition(equal, events.end(), [&](const Event& e) { return e.time == instant; });
    const auto sort_part = [&](auto first, auto last, bool burst) {
        const std::span<Event> part(first, last);
        if (part.size() <= kFewEvents) {
            sort_few(part);
        } else if (burst) {
            sort_burst(part, scratch);
        } else {
            std::sort(first, last, greater);
        }
    };
    sort_part(events.begin(), equal, false);
    sort_part(equal, before, true);
    sort_part(before, events.end(), false);
}

}  // namespace memwall
