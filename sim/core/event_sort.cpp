#include "sim/core/event_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "sim/core/event_queue.h"

namespace memwall {

namespace {

std::uint64_t content_of(const Event& event) {
    return std::uint64_t{event.kind} << 32U | event.subject;
}

std::uint64_t time_of(const Event& event) {
    return static_cast<std::uint64_t>(event.time.time_since_epoch().count()) ^
           (std::uint64_t{1} << 63U);
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
// the fastest for the few events of a bucket. False, and nothing is done, when two keys are equal.
template <class Key, class KeyOf>
bool sort_by_rank(std::span<Event> events, std::vector<Event>& scratch, KeyOf key_of) {
    std::array<Key, kFewEvents> keys;
    std::array<Key, kFewEvents> ranks;
    const std::size_t n = events.size();
    for (std::size_t i = 0; i < n; ++i) {
        keys[i] = key_of(events[i]);
    }
    Key sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        Key rank = 0;
        for (std::size_t j = 0; j < n; ++j) {
            rank += static_cast<Key>(keys[j] > keys[i]);
        }
        ranks[i] = rank;
        sum += rank;
    }
    if (static_cast<std::size_t>(sum) != n * (n - 1) / 2) {
        return false;
    }
    std::copy(events.begin(), events.end(), scratch.begin());
    for (std::size_t i = 0; i < n; ++i) {
        events[static_cast<std::size_t>(ranks[i])] = scratch[i];
    }
    return true;
}

// At most kFewEvents.
void sort_few(std::span<Event> events, std::vector<Event>& scratch) {
    if (events.size() > 1 && !sort_by_rank<std::uint64_t>(events, scratch, time_of)) {
        std::sort(events.begin(), events.end(), greater);
    }
}

// At most kFewEvents, all at one instant.
void sort_few_by_content(std::span<Event> events, std::vector<Event>& scratch) {
    std::uint32_t kinds = 0;
    std::uint32_t subjects = 0;
    for (const Event& event : events) {
        kinds |= event.kind;
        subjects |= event.subject;
    }
    // Kinds below 2^8 and subjects below 2^23 make a key of 31 bits, of which four are compared at once.
    const bool narrow = kinds < (1U << 8U) && subjects < (1U << 23U);
    const auto narrow_key = [](const Event& e) {
        return static_cast<std::int32_t>(e.kind << 23U | e.subject);
    };
    const bool sorted = narrow ? sort_by_rank<std::int32_t>(events, scratch, narrow_key)
                               : sort_by_rank<std::uint64_t>(events, scratch, content_of);
    if (!sorted) {
        std::sort(events.begin(), events.end(), greater);
    }
}

// Events at one instant: radix sort by kind and subject, least significant digit first; then the sequences of those that agree.
void sort_burst(std::span<Event> events, std::vector<Event>& scratch) {
    constexpr int kBits = 8;
    constexpr std::size_t kDigits = std::size_t{1} << kBits;
    const std::size_t n = events.size();
    std::uint32_t kinds = 0;
    std::uint32_t subjects = 0;
    for (const Event& event : events) {
        kinds |= event.kind;
        subjects |= event.subject;
    }
    const int subject_bits = 32 - std::countl_zero(subjects);
    const int bits = subject_bits + 32 - std::countl_zero(kinds);
    Event* from = events.data();
    Event* to = scratch.data();
    for (int shift = 0; shift < bits; shift += kBits) {
        const auto digit = [&](const Event& event) {
            const std::uint64_t key = std::uint64_t{event.kind} << subject_bits | event.subject;
            return kDigits - 1 - (key >> shift & (kDigits - 1));
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
    }
    if (from != events.data()) {
        std::copy(from, from + n, events.data());
    }
    sort_sequences(events);
}

}  // namespace

void sort_descending(std::span<Event> events, std::vector<Event>& scratch) {
    constexpr std::size_t kVeryFew = 16;  // the events of a usual bucket
    scratch.resize(std::max(scratch.size(), events.size()));
    if (events.size() <= kVeryFew) {
        sort_few(events, scratch);
        return;
    }
    // If many are at one instant, the median of a few is there too.
    std::array<Time, 7> times;
    for (std::size_t i = 0; i < times.size(); ++i) {
        times[i] = events[i * events.size() / times.size()].time;
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    const Time instant = times[times.size() / 2];
    const auto equal = std::partition(
        events.begin(), events.end(), [&](const Event& e) { return e.time > instant; });
    const auto before =
        std::partition(equal, events.end(), [&](const Event& e) { return e.time == instant; });
    const auto sort_part = [&](auto first, auto last) {
        const std::span<Event> part(first, last);
        if (part.size() <= kFewEvents) {
            sort_few(part, scratch);
        } else {
            std::sort(first, last, greater);
        }
    };
    sort_part(events.begin(), equal);
    sort_part(before, events.end());
    const std::span<Event> burst(equal, before);
    if (burst.size() <= kFewEvents) {
        sort_few_by_content(burst, scratch);
    } else {
        sort_burst(burst, scratch);
    }
}

}  // namespace memwall
