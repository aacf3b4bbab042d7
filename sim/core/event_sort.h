#pragma once
// Sorting for the event queue: few events without mispredicted branches, and many events at one instant by their content.
#include <cstddef>
#include <span>
#include <vector>

namespace memwall {

struct Event;

// At most so many events are sorted by sort_few().
inline constexpr std::size_t kFewEvents = 64;

// Descending. `scratch` is kept between calls, so that it need not be allocated again.
void sort_descending(std::span<Event> events, std::vector<Event>& scratch);

}  // namespace memwall
