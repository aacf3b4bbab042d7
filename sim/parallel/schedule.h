#pragma once
// A pipeline schedule is a pure function: the order in which one stage runs its passes. It knows no durations and no
// messages; sim/parallel/pipeline.h adds the exchanges. One file each in sim/parallel/schedules, one line in the table.
#include <string_view>
#include <vector>

#include "sim/spec/strategy.h"

namespace memwall {

// p stages, v model chunks per stage, m micro-batches. Virtual stage = chunk x p + stage.
struct PipelineShape {
    int p = 1;
    int v = 1;
    int m = 1;
};

struct Slot {
    bool backward = false;
    int micro_batch = 0;
    int chunk = 0;
    auto operator<=>(const Slot&) const = default;
};

struct ScheduleEntry {
    Schedule schedule;
    std::string_view name;  // as in scenario files
    std::vector<Slot> (*order)(const PipelineShape& shape, int stage);
    // Passes that a stage runs before its first backward: what bounds the activations in flight.
    int (*warm_up)(const PipelineShape& shape, int stage);
    bool interleaves;  // accepts v > 1
};

[[nodiscard]] const ScheduleEntry& schedule_entry(Schedule schedule);
[[nodiscard]] const std::vector<ScheduleEntry>& schedule_table();

// One stage has no pipeline: whatever the schedule, each micro-batch runs forward then backward (gradient accumulation).
[[nodiscard]] std::vector<Slot> schedule_order(Schedule schedule,
                                               const PipelineShape& shape,
                                               int stage);

std::vector<Slot> gpipe_order(const PipelineShape& shape, int stage);
int gpipe_warm_up(const PipelineShape& shape, int stage);
std::vector<Slot> one_f_one_b_order(const PipelineShape& shape, int stage);
int one_f_one_b_warm_up(const PipelineShape& shape, int stage);
std::vector<Slot> interleaved_order(const PipelineShape& shape, int stage);
int interleaved_warm_up(const PipelineShape& shape, int stage);

// The k-th forward (or backward) pass of every stage in the interleaved order: all stages run the same sequence.
[[nodiscard]] std::vector<Slot> interleaved_sequence(const PipelineShape& shape, bool backward);

}  // namespace memwall
