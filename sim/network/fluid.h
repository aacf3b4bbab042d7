#pragma once
// Max-min fair sharing among activities with link-usage vectors (progressive filling), incremental: only the component
// that an arrival or departure touches is solved again.
//
// All activities of a component rise together: rate = weight x level, until the activity's cap or a link on it is full.
//   level of a link = (capacity - what frozen activities take) / sum over the others of weight x coefficient
// Per-flow fairness on wires is the caller's choice of message unit and weight: two activities get equal wire rates on a
// link when weight x coefficient is the same for both, and k times as much when it is k times as large.
//
// Exact under folding and under any order of starts (design.md sections 5, 6, 8):
//  - a link's load is an integer sum of weight x coefficient;
//  - a link's capacity falls by load x level once per round, never flow by flow;
//  - an activity settles only when its rate's bits change; completion = start of the current rate + ceil(remaining / rate).
// So the bits depend on the set of activities only, not on ids or on the order of calls within an instant.
// Reference: Bertsekas & Gallager, "Data Networks", 2nd ed., section 6.5.2 (max-min flow control).
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/id.h"
#include "sim/core/units.h"

namespace memwall {

struct Usage {
    std::uint32_t link = 0;
    std::int64_t coefficient =
        0;  // 2^-20 bytes on the link per byte of message; folded: summed over the class's members
    auto operator<=>(const Usage&) const = default;
};

// What an activity puts on links while it flows. `cap`: its own limit [message bytes per second]; 0 = none.
// The range is sorted by link, each link once. The sum of weight x coefficient over all that share a link fits 63 bits.
struct FlowShape {
    std::uint32_t usage_begin = 0;  // into the usage array given to FluidNetwork
    std::uint32_t usage_end = 0;
    double cap = 0;
    std::int64_t weight = 1;  // flows (channels) it counts as on each of its links
};

using FlowId = Id<struct FlowTag>;

struct FlowState {
    Time since;            // start of the current rate
    double remaining = 0;  // bytes at `since`
    double rate = 0;       // bytes per second
};

class FluidNetwork {
  public:
    // capacities [B/s] per link; links with capacity <= 0 never bind.
    FluidNetwork(std::vector<double> capacities, std::vector<Usage> usages);

    // Ids are reused after stop(). No allocation once as many activities of each shape have been seen at the same time.
    FlowId start(const FlowShape& shape, Bytes message, Time now);
    void stop(FlowId flow, Time now);  // removes it, finished or not
    void set_capacity(std::uint32_t link, double capacity, Time now);
    // Re-solves what start/stop/set_capacity touched since the last call. Returns the flows whose completion time changed,
    // each once. Call it once per instant, before time moves on.
    std::span<const FlowId> settle(Time now);
    [[nodiscard]] Time completion(FlowId flow) const { return flows_[flow.index].completion; }
    [[nodiscard]] double rate(FlowId flow) const { return flows_[flow.index].rate; }
    [[nodiscard]] FlowState state(FlowId flow) const {
        const Flow& f = flows_[flow.index];
        return {f.since, f.remaining, f.rate};
    }
    [[nodiscard]] std::size_t active() const { return active_; }
    // All that is in progress now happens so much later. What links carry in between is the caller's to count.
    void shift(Duration by);
    // Bytes carried by each link so far, for the report. Exact integers up to the last rounding to double.
    [[nodiscard]] std::vector<double> carried(Time now) const;
    // Completion of this flow if nothing else is there: what a collective alone takes after its delay.
    [[nodiscard]] Duration alone(const FlowShape& shape, Bytes message) const;

  private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

    struct LinkState {
        double capacity = 0;
        double left = 0;             // during a solve: not yet taken by frozen flows
        std::int64_t load = 0;       // during a solve: of flows that are not frozen, 2^-20
        std::int64_t freezing = 0;   // during a round: load that is frozen in it
        std::uint32_t head = kNone;  // first entry of the list of flows on this link
        std::uint32_t epoch = 0;
        std::uint32_t slot = 0;  // in levels_
        bool tracked = false;    // flows are listed only on links that can bind
    };
    // One link of one active flow, in a doubly linked list per link.
    struct Entry {
        std::int64_t load = 0;  // weight x coefficient
        std::uint32_t link = 0;
        std::uint32_t flow = 0;
        std::uint32_t next = kNone;
        std::uint32_t previous = kNone;
    };
    // A distinct (usage range, weight): keeps its blocks of entries for reuse.
    struct Shape {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        std::int64_t weight = 1;
        std::uint32_t entries = 0;         // links that can bind
        std::uint32_t free_block = kNone;  // chained through Entry::next of a block's first entry
        std::uint32_t other = kNone;       // next shape with the same begin
        std::uint32_t version = 0;         // of the capacities that `level` was computed from
        double level = 0;                  // of the tightest link when alone
        std::int64_t done = 0;             // message bytes that finished or stopped flows moved
    };
    struct Flow {
        Time since;  // start of the current rate
        Time completion;
        double remaining = 0;  // bytes at `since`
        double rate = 0;
        double next_rate = 0;
        double cap = 0;
        std::int64_t message = 0;
        std::uint32_t shape = 0;
        std::uint32_t block = kNone;
        std::uint32_t epoch = 0;
        bool active = false;
        bool fresh = false;  // has no rate yet
        bool frozen = false;
    };

    std::uint32_t intern(const FlowShape& shape);
    [[nodiscard]] std::uint32_t find(const FlowShape& shape) const;
    [[nodiscard]] double alone_level(const Shape& shape) const;
    [[nodiscard]] double moved(const Flow& flow, Time now) const;
    std::uint32_t take_block(std::uint32_t shape);
    bool link_entries(std::uint32_t flow);
    void unlink_entries(std::uint32_t flow);
    void track(std::uint32_t link);
    void collect(std::uint32_t seed);
    void solve(std::uint32_t seed, Time now);
    void fill();
    void open_links();
    void sort_caps();
    bool freeze_capped(double level);
    void freeze_full(double level);
    [[nodiscard]] double lowest_level() const;
    void freeze(std::uint32_t flow, double rate);
    void finish_round(double level);
    void compact();
    void set_rate(std::uint32_t flow, double rate, Time now);
    void set_rate_alone(std::uint32_t flow, Time now);

    std::vector<Usage> usages_;
    std::vector<LinkState> links_;
    std::vector<std::uint32_t> shape_of_;  // by usage_begin: first shape
    std::vector<Shape> shapes_;
    std::vector<Entry> entries_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> free_flows_;
    std::size_t active_ = 0;
    std::uint32_t version_ = 1;
    std::uint32_t epoch_ = 0;
    // Since the last settle: flows that share a link with what changed, and flows that found all their links empty.
    std::vector<std::uint32_t> touched_;
    std::vector<std::uint32_t> lonely_;
    std::vector<FlowId> changed_;
    // Of the component being solved.
    std::vector<std::uint32_t> component_;
    std::vector<std::uint32_t> component_links_;
    std::vector<double> levels_;  // per link still open; parallel to open_
    std::vector<std::uint32_t> open_;
    std::size_t closed_ = 0;  // of open_: links on which nothing rises any more
    std::vector<std::uint32_t> round_links_;
    std::vector<std::uint32_t> full_;
    struct Capped {
        double level = 0;
        std::uint32_t flow = 0;
    };
    std::vector<Capped> caps_;
    std::size_t next_cap_ = 0;
};

}  // namespace memwall
