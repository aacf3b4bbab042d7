#include "sim/core/event_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "sim/core/event_queue.h"

namespace memwall {

namespace {

constexpr std::size_t kVeryFew = 16;  // up to this, dealing costs more than comparing

std::uint64_t content_of(const Event& event) {
    return std::uint64_t{event.kind} << 32U | event.subject;
}

std::uint64_t time_of(const Event& event) {
    return static_cast<std::uint64_t>(event.time.time_since_epoch().count()) ^
           (std::uint64_t{1} << 63U);
}

int width_of(std::uint64_t x) {
    return 64 - std::countl_zero(x);
}

bool greater(const Event& a, const Event& b) {
    return a > b;
}

// Each event is put where the number of greater ones says: quadratic, but without a branch to mispredict, which makes it
// the fastest for the few events of a bucket. False, and nothing is done, when two keys are equal. Keys of 32 bits, of
// which the vector instructions of any x86-64 compare four at once.
template <class KeyOf>
bool sort_by_rank(std::span<const Event> from, std::span<Event> to, KeyOf key_of) {
    std::array<std::int32_t, kFewEvents> keys;
    std::array<std::int32_t, kFewEvents> ranks;
    const std::size_t n = from.size();
    for (std::size_t i = 0; i < n; ++i) {
        keys[i] = key_of(from[i]);
    }
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        std::int32_t rank = 0;
        for (std::size_t j = 0; j < n; ++j) {
            rank += keys[j] > keys[i] ? 1 : 0;
        }
        ranks[i] = rank;
        sum += rank;
    }
    if (static_cast<std::size_t>(sum) != n * (n - 1) / 2) {
        return false;
    }
    for (std::size_t i = 0; i < n; ++i) {
        to[static_cast<std::size_t>(ranks[i])] = from[i];
    }
    return true;
}

// At most kFewEvents, all at one instant, from one place to another.
void sort_few_by_content(std::span<const Event> from, std::span<Event> to) {
    std::uint32_t kinds = 0;
    std::uint32_t subjects = 0;
    for (const Event& event : from) {
        kinds |= event.kind;
        subjects |= event.subject;
    }
    const auto key_of = [](const Event& e) {
        return static_cast<std::int32_t>(e.kind << 23U | e.subject);
    };
    if (kinds >= 1U << 8U || subjects >= 1U << 23U || !sort_by_rank(from, to, key_of)) {
        std::copy(from.begin(), from.end(), to.begin());
        std::sort(to.begin(), to.end(), greater);
    }
}

// At most kFewEvents.
void sort_few(std::span<Event> events, std::span<Event> scratch) {
    if (events.size() < 2) {
        return;
    }
    std::uint64_t first = time_of(events[0]);
    std::uint64_t last = first;
    for (std::size_t i = 0; i < events.size(); ++i) {
        first = std::min(first, time_of(events[i]));
        last = std::max(last, time_of(events[i]));
        scratch[i] = events[i];
    }
    const std::span<const Event> copy = scratch.first(events.size());
    if (first == last) {
        sort_few_by_content(copy, events);
        return;
    }
    const int shift = std::max(width_of(last - first) - 31, 0);
    const auto key_of = [=](const Event& e) {
        return static_cast<std::int32_t>((time_of(e) - first) >> shift);
    };
    if (!sort_by_rank(copy, events, key_of)) {
        std::sort(events.begin(), events.end(), greater);
    }
}

// Insertion sort, for what is nearly in order.
template <class Less>
void insert(std::span<Event> events, Less less) {
    for (std::size_t i = 1; i < events.size(); ++i) {
        if (less(events[i - 1], events[i])) {
            const Event event = events[i];
            std::size_t j = i;
            for (; j > 0 && less(events[j - 1], event); --j) {
                events[j] = events[j - 1];
            }
            events[j] = event;
        }
    }
}

// The digits by which events are dealt: few enough that the counters and the ends of the bins stay cached.
constexpr int kDigitBits = 8;
int digit_bits_of(std::size_t n) {
    return n <= kFewEvents ? 6 : kDigitBits;
}

// Deals events by a digit, the greatest first, into another place; `sort_bin` is called for what shares a digit and is
// more than very few.
template <class DigitOf, class SortBin, class Less>
void deal(std::span<const Event> from,
          std::span<Event> to,
          int digit_bits,
          DigitOf digit_of,
          SortBin sort_bin,
          Less less) {
    const std::size_t digits = std::size_t{1} << digit_bits;
    std::array<std::uint32_t, std::size_t{1} << kDigitBits>
        at;  // where the next event of the digit goes
    std::fill_n(at.begin(), digits, 0);
    for (const Event& event : from) {
        ++at[digit_of(event)];
    }
    std::uint32_t sum = 0;
    std::uint32_t most = 0;
    for (std::size_t d = digits; d-- > 0;) {
        const std::uint32_t count = at[d];
        most = std::max(most, count);
        at[d] = sum;
        sum += count;
    }
    for (const Event& event : from) {
        to[at[digit_of(event)]++] = event;
    }
    // What lies between large bins is nearly in order.
    std::size_t begin = 0;
    std::size_t sorted = 0;
    for (std::size_t d = most > kVeryFew ? digits : 0; d-- > 0;) {
        const std::size_t end = at[d];
        if (end - begin > kVeryFew) {
            insert(to.subspan(sorted, begin - sorted), less);
            sort_bin(to.subspan(begin, end - begin));
            sorted = end;
        }
        begin = end;
    }
    insert(to.subspan(sorted), less);
}

void sort_burst(std::span<Event> events, std::span<Event> scratch);

// As sort_burst(), from one place to another. `varying`: the bits of content_of() that are not the same in all.
void deal_burst(std::span<const Event> from,
                std::span<Event> to,
                std::span<Event> scratch,
                std::uint64_t varying) {
    if (varying == 0) {
        // Their sequences remain, often in order.
        std::copy(from.begin(), from.end(), to.begin());
        if (!std::is_sorted(to.begin(), to.end(), greater)) {
            std::sort(to.begin(), to.end(), greater);
        }
        return;
    }
    // Bits above the varying ones say nothing: without them, kind and subject are packed and their highest bits taken.
    const int kind_bits = width_of(varying >> 32U);
    const int subject_bits = width_of(varying & 0xFFFFFFFFU);
    const int bits = kind_bits + subject_bits;
    const int digit_bits = digit_bits_of(from.size());
    const int shift = std::max(bits - digit_bits, 0);
    const std::uint64_t kind_mask = (std::uint64_t{1} << kind_bits) - 1;
    const std::uint64_t subject_mask = (std::uint64_t{1} << subject_bits) - 1;
    deal(
        from,
        to,
        digit_bits,
        [=](const Event& e) {
            return ((e.kind & kind_mask) << subject_bits | (e.subject & subject_mask)) >> shift;
        },
        [&](std::span<Event> bin) { sort_burst(bin, scratch); },
        [](const Event& a, const Event& b) {
            const std::uint64_t x = content_of(a);
            const std::uint64_t y = content_of(b);
            return x < y || (x == y && a.sequence < b.sequence);
        });
}

// Events at one instant, by their content.
void sort_burst(std::span<Event> events, std::span<Event> scratch) {
    if (events.size() <= kFewEvents) {
        sort_few(events, scratch);
        return;
    }
    const std::span<Event> copy = scratch.first(events.size());
    const std::uint64_t first = content_of(events[0]);
    std::uint64_t varying = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        varying |= content_of(events[i]) ^ first;
        copy[i] = events[i];
    }
    deal_burst(copy, events, scratch, varying);
}

void sort_any(std::span<Event> events, std::span<Event> scratch);

// Events at many instants.
void sort_spread(std::span<Event> events, std::span<Event> scratch) {
    const std::span<Event> copy = scratch.first(events.size());
    std::uint64_t first = time_of(events[0]);
    std::uint64_t last = first;
    for (std::size_t i = 0; i < events.size(); ++i) {
        first = std::min(first, time_of(events[i]));
        last = std::max(last, time_of(events[i]));
        copy[i] = events[i];
    }
    const int digit_bits = digit_bits_of(events.size());
    const int shift = std::max(width_of(last - first) - digit_bits, 0);
    deal(
        copy,
        events,
        digit_bits,
        [=](const Event& e) { return (time_of(e) - first) >> shift; },
        [&](std::span<Event> bin) { sort_any(bin, scratch); },
        [](const Event& a, const Event& b) { return a < b; });
}

// Events of which many are at `instant`: these and the rest apart.
void sort_around(std::span<Event> events, std::span<Event> scratch, Time instant) {
    const auto is_at = [=](const Event& e) { return e.time == instant; };
    const std::uint64_t content = content_of(*std::find_if(events.begin(), events.end(), is_at));
    std::uint64_t varying = 0;
    std::size_t equal = 0;
    std::size_t others = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        // Written to both places and kept in one: a branch would be mispredicted.
        const bool here = is_at(events[i]);
        varying |= here ? content_of(events[i]) ^ content : 0;
        scratch[equal] = events[i];
        events[others] = events[i];
        equal += here ? 1 : 0;
        others += here ? 0 : 1;
    }
    const std::span<Event> rest = events.first(others);
    if (others <= kVeryFew) {
        sort_few(rest, scratch.subspan(equal));
    } else {
        sort_spread(rest, scratch.subspan(equal));
    }
    const auto earlier = std::partition_point(
        rest.begin(), rest.end(), [=](const Event& e) { return e.time > instant; });
    const std::span<Event> burst =
        events.subspan(static_cast<std::size_t>(earlier - rest.begin()), equal);
    std::move_backward(earlier, rest.end(), events.end());
    if (equal <= kFewEvents) {
        sort_few_by_content(scratch.first(equal), burst);
    } else {
        deal_burst(scratch.first(equal), burst, scratch, varying);
    }
}

// Every call deals by a range of times that is 64 times smaller, or takes an instant away first: linear, but for the digits.
void sort_any(std::span<Event> events, std::span<Event> scratch) {
    if (events.size() <= kVeryFew) {
        sort_few(events, scratch);
        return;
    }
    constexpr std::size_t kSamples = 8;
    std::array<Time, kSamples> times;
    for (std::size_t i = 0; i < kSamples; ++i) {
        times[i] = events[i * events.size() / kSamples].time;
    }
    std::size_t most = 0;
    Time instant = times[0];
    for (const Time candidate : times) {
        const auto count =
            static_cast<std::size_t>(std::count(times.begin(), times.end(), candidate));
        instant = count > most ? candidate : instant;
        most = std::max(count, most);
    }
    if (most > kSamples / 4) {
        sort_around(events, scratch, instant);
    } else {
        sort_spread(events, scratch);
    }
}

}  // namespace

void sort_descending(std::span<Event> events, std::vector<Event>& scratch) {
    scratch.resize(std::max(scratch.size(), events.size()));
    sort_any(events, scratch);
}

}  // namespace memwall
