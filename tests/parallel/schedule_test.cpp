#include "sim/parallel/schedule.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "sim/parallel/pipeline.h"

using namespace memwall;

namespace {

std::vector<PipelineShape> shapes(const ScheduleEntry& entry) {
    std::vector<PipelineShape> result;
    for (const int p : {2, 3, 4, 5, 8}) {
        for (const int v : {1, 2, 3, 6}) {
            for (const int groups : {1, 2, 3, 5}) {
                if (v == 1 || entry.interleaves) {
                    result.push_back({.p = p, .v = v, .m = p * groups});
                }
            }
        }
    }
    if (!entry.interleaves) {
        for (const int m : {1, 2, 3, 5, 7}) {
            result.push_back(
                {.p = 4, .v = 1, .m = m});  // fewer micro-batches than stages, and no multiples
        }
    }
    return result;
}

// When each pass ends if a forward takes `forward` and a backward `backward`, messages take no time; -1 = never.
std::int64_t makespan(const std::vector<std::vector<Slot>>& orders,
                      const PipelineShape& shape,
                      std::int64_t forward,
                      std::int64_t backward) {
    const int last = shape.p * shape.v - 1;
    std::map<std::tuple<int, int, bool>, std::int64_t>
        end;  // (virtual stage, micro-batch, backward)
    std::vector<std::size_t> next(orders.size(), 0);
    std::vector<std::int64_t> clock(orders.size(), 0);
    bool moved = true;
    while (moved) {
        moved = false;
        for (std::size_t stage = 0; stage < orders.size(); ++stage) {
            while (next[stage] < orders[stage].size()) {
                const Slot& slot = orders[stage][next[stage]];
                const int virtual_stage = slot.chunk * shape.p + static_cast<int>(stage);
                std::int64_t ready = 0;
                const auto need = [&](int from, bool pass) {
                    const auto known = end.find({from, slot.micro_batch, pass});
                    ready = known == end.end() ? -1 : std::max(ready, known->second);
                };
                if (!slot.backward && virtual_stage > 0) {
                    need(virtual_stage - 1, false);
                } else if (slot.backward) {
                    need(virtual_stage < last ? virtual_stage + 1 : virtual_stage,
                         virtual_stage < last);
                }
                if (ready < 0) {
                    break;
                }
                clock[stage] = std::max(clock[stage], ready) + (slot.backward ? backward : forward);
                end[{virtual_stage, slot.micro_batch, slot.backward}] = clock[stage];
                ++next[stage];
                moved = true;
            }
        }
    }
    for (std::size_t stage = 0; stage < orders.size(); ++stage) {
        if (next[stage] != orders[stage].size()) {
            return -1;
        }
    }
    return *std::max_element(clock.begin(), clock.end());
}

std::vector<std::vector<Slot>> all_orders(Schedule schedule, const PipelineShape& shape) {
    std::vector<std::vector<Slot>> orders;
    for (int stage = 0; stage < shape.p; ++stage) {
        orders.push_back(schedule_order(schedule, shape, stage));
    }
    return orders;
}

}  // namespace

TEST_CASE(
    "every schedule runs each pass of each micro-batch and chunk once, forward before backward") {
    for (const ScheduleEntry& entry : schedule_table()) {
        for (const PipelineShape& shape : shapes(entry)) {
            for (const auto& order : all_orders(entry.schedule, shape)) {
                std::set<Slot> seen;
                for (const Slot& slot : order) {
                    CHECK(seen.insert(slot).second);
                    if (slot.backward) {
                        CHECK(seen.contains({.backward = false,
                                             .micro_batch = slot.micro_batch,
                                             .chunk = slot.chunk}));
                    }
                    CHECK(slot.micro_batch >= 0);
                    CHECK(slot.micro_batch < shape.m);
                    CHECK(slot.chunk >= 0);
                    CHECK(slot.chunk < shape.v);
                }
                CHECK(seen.size() ==
                      2 * static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.v));
            }
        }
    }
}

// Ideal time m v (f + b); the pipeline adds (p-1)(f + b) of a chunk pass. Bubble share (p-1)/(v m + p-1).
TEST_CASE("every schedule meets its closed-form bubble, for equal and unequal pass times") {
    for (const ScheduleEntry& entry : schedule_table()) {
        for (const PipelineShape& shape : shapes(entry)) {
            for (const auto& [f, b] :
                 {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 2}, {3, 5}}) {
                const std::int64_t expected =
                    (std::int64_t{shape.m} * shape.v + shape.p - 1) * (f + b);
                INFO(entry.name << " p " << shape.p << " v " << shape.v << " m " << shape.m);
                CHECK(makespan(all_orders(entry.schedule, shape), shape, f, b) == expected);
            }
        }
    }
}

TEST_CASE("no stage has more passes in flight than its warm-up and one") {
    for (const ScheduleEntry& entry : schedule_table()) {
        for (const PipelineShape& shape : shapes(entry)) {
            for (int stage = 0; stage < shape.p; ++stage) {
                int in_flight = 0;
                int peak = 0;
                for (const Slot& slot : schedule_order(entry.schedule, shape, stage)) {
                    in_flight += slot.backward ? -1 : 1;
                    peak = std::max(peak, in_flight);
                }
                CHECK(in_flight == 0);
                const int bound = std::min(shape.m * shape.v, entry.warm_up(shape, stage) + 1);
                CHECK(peak == bound);
            }
        }
    }
}

// Narayanan et al., SC21, figure 4: p = 4, v = 2, m = 8. First device: 1 2 3 4 (chunk 0), 1 2 3 4 (chunk 1), 5 6 7 8 ...
TEST_CASE("the interleaved order of the first stage is that of the paper's figure") {
    const auto order = interleaved_order({.p = 4, .v = 2, .m = 8}, 0);
    // Warm-up (4-1) 2 + 4 = 10 forwards.
    const std::vector<Slot> warm_up = {{false, 0, 0},
                                       {false, 1, 0},
                                       {false, 2, 0},
                                       {false, 3, 0},
                                       {false, 0, 1},
                                       {false, 1, 1},
                                       {false, 2, 1},
                                       {false, 3, 1},
                                       {false, 4, 0},
                                       {false, 5, 0}};
    CHECK(std::equal(warm_up.begin(), warm_up.end(), order.begin()));
    CHECK(order[10] == Slot{false, 6, 0});
    CHECK(order[11] == Slot{true, 0, 1});
    CHECK(order.back() == Slot{true, 7, 0});
}

TEST_CASE("one stage accumulates gradients whatever the schedule") {
    for (const ScheduleEntry& entry : schedule_table()) {
        const auto order = schedule_order(entry.schedule, {.p = 1, .v = 1, .m = 3}, 0);
        const std::vector<Slot> expected = {
            {false, 0, 0}, {true, 0, 0}, {false, 1, 0}, {true, 1, 0}, {false, 2, 0}, {true, 2, 0}};
        CHECK(order == expected);
    }
}

TEST_CASE("a ragged interleaved schedule still runs everything once and ends") {
    for (const PipelineShape shape : {PipelineShape{.p = 4, .v = 2, .m = 6},
                                      {.p = 3, .v = 3, .m = 7},
                                      {.p = 2, .v = 2, .m = 1}}) {
        const auto orders = all_orders(Schedule::Interleaved, shape);
        for (const auto& order : orders) {
            CHECK(std::set<Slot>(order.begin(), order.end()).size() == order.size());
            CHECK(order.size() ==
                  2 * static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.v));
        }
        CHECK(makespan(orders, shape, 1, 2) > 0);
    }
}

TEST_CASE("a schedule refuses what it cannot play") {
    CHECK_THROWS_AS((void)schedule_order(Schedule::GPipe, {.p = 4, .v = 2, .m = 4}, 0), BugError);
    CHECK_THROWS_AS(
        (void)schedule_order(Schedule::OneForwardOneBackward, {.p = 4, .v = 1, .m = 0}, 0),
        BugError);
    CHECK_THROWS_AS(
        (void)schedule_order(Schedule::OneForwardOneBackward, {.p = 4, .v = 1, .m = 4}, 4),
        BugError);
}

// Each pass is preceded by the receipt of its input, followed by the sending of its output; a rendezvous of all exchanges ends.
TEST_CASE(
    "exchanges of neighbouring stages meet without deadlock, in every kind of send and receive") {
    for (const ScheduleEntry& entry : schedule_table()) {
        for (const PipelineShape& shape : shapes(entry)) {
            for (const P2pKind p2p : {P2pKind::Blocking, P2pKind::Batched, P2pKind::Overlapped}) {
                std::vector<std::vector<PipelineAction>> actions;
                for (int stage = 0; stage < shape.p; ++stage) {
                    actions.push_back(pipeline_actions(entry.schedule, shape, stage, p2p));
                }
                // Passes keep the order of the schedule.
                for (int stage = 0; stage < shape.p; ++stage) {
                    std::vector<Slot> passes;
                    int messages = 0;
                    for (const PipelineAction& a : actions[static_cast<std::size_t>(stage)]) {
                        if (a.kind == PipelineAction::Kind::Pass) {
                            passes.push_back(a.slot);
                        }
                        messages += (a.send_next ? 1 : 0) + (a.send_prev ? 1 : 0);
                    }
                    CHECK(passes == schedule_order(entry.schedule, shape, stage));
                    const int links =
                        shape.v - (stage == shape.p - 1 ? 1 : 0) + shape.v - (stage == 0 ? 1 : 0);
                    CHECK(messages == shape.m * links);
                }
            }
        }
    }
}
