#pragma once
// Sorting for the event queue: few events without mispredicted branches; more of them by digits, of their time where
// instants differ and of their content where they are one, so that a burst of events costs no more each than a few do.
#include <cstddef>
#include <span>
#include <vector>

namespace memwall {

struct Event;

// At most so many events are few.
inline constexpr std::size_t kFewEvents = 64;

// Descending. `scratch` is kept between calls, so that it need not be allocated again.
void sort_descending(std::span<Event> events, std::vector<Event>& scratch);

}  // namespace memwall
