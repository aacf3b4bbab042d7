#include "sim/core/check.h"
#include "sim/parallel/schedule.h"

namespace memwall {

const std::vector<ScheduleEntry>& schedule_table() {
    static const std::vector<ScheduleEntry> table = {
        {Schedule::GPipe, "gpipe", gpipe_order, gpipe_warm_up, false},
        {Schedule::OneForwardOneBackward, "1f1b", one_f_one_b_order, one_f_one_b_warm_up, false},
        {Schedule::Interleaved, "interleaved_1f1b", interleaved_order, interleaved_warm_up, true},
    };
    return table;
}

const ScheduleEntry& schedule_entry(Schedule schedule) {
    for (const ScheduleEntry& entry : schedule_table()) {
        if (entry.schedule == schedule) {
            return entry;
        }
    }
    bug(__FILE__, __LINE__, "a schedule without a line in the table");
}

std::vector<Slot> schedule_order(Schedule schedule, const PipelineShape& shape, int stage) {
    for (const int count : {shape.p, shape.v, shape.m}) {
        MW_CHECK(count >= 1, "an empty pipeline");
    }
    MW_CHECK(stage >= 0, "a stage before the first");
    MW_CHECK(stage < shape.p, "a stage beyond the last");
    if (shape.p == 1) {
        return one_f_one_b_order({.p = 1, .v = 1, .m = shape.m}, 0);
    }
    const ScheduleEntry& entry = schedule_entry(schedule);
    if (!entry.interleaves) {
        MW_CHECK(shape.v == 1, "model chunks in a schedule that does not interleave");
    }
    return entry.order(shape, stage);
}

}  // namespace memwall
