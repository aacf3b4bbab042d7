#pragma once
// Max-min fair sharing among activities with link-usage vectors (progressive filling), incremental: only the component
// that an arrival or departure touches is solved again. Exact under folding (design.md sections 5, 6, 8):
//  - a link's load is an integer sum of weight x coefficient x multiplicity;
//  - a link's capacity falls by count * share once per round, never flow by flow;
//  - an activity settles only when its rate's bits change; completion = start of the current rate + ceil(remaining / rate).
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/id.h"
#include "sim/core/units.h"

namespace memwall {

struct Usage {
    std::uint32_t link = 0;
    std::int64_t coefficient = 0;  // 2^-20 bytes on the link per byte of message; folded: summed over the class's members
};

// What an activity puts on links while it flows. `cap`: its own limit [message bytes per second].
struct FlowShape {
    std::uint32_t usage_begin = 0;  // into the usage array given to FluidNetwork
    std::uint32_t usage_end = 0;
    double cap = 0;
    std::int64_t weight = 1;        // flows (channels) it counts as on each of its links
};

using FlowId = Id<struct FlowTag>;

class FluidNetwork {
  public:
    // capacities [B/s] per link; links with capacity <= 0 never bind.
    FluidNetwork(std::vector<double> capacities, std::vector<Usage> usages);

    FlowId start(const FlowShape& shape, Bytes message, Time now);
    void stop(FlowId flow, Time now);          // removes it, finished or not
    void set_capacity(std::uint32_t link, double capacity, Time now);
    // Re-solves what start/stop/set_capacity touched since the last call. Returns the flows whose completion time changed.
    std::span<const FlowId> settle(Time now);
    [[nodiscard]] Time completion(FlowId flow) const;
    [[nodiscard]] double rate(FlowId flow) const;
    // Bytes carried by each link so far, for the report.
    [[nodiscard]] std::vector<double> carried(Time now) const;
    // Completion of this flow if nothing else is there: what a collective alone takes after its delay.
    [[nodiscard]] Duration alone(const FlowShape& shape, Bytes message) const;
};

}  // namespace memwall
