// GPipe: all forward passes, then all backward passes, micro-batches in order.
//   bubble (p-1)/(m+p-1) of the step for equal stages; all m micro-batches in flight.
// Source: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", NeurIPS 2019.
// The backward order is that of PyTorch's ScheduleGPipe (first micro-batch first); the paper's figure reverses it, which
// changes neither bubble nor peak.
#include "sim/parallel/schedule.h"

namespace memwall {

int gpipe_warm_up(const PipelineShape& shape, int /*stage*/) {
    return shape.m;
}

std::vector<Slot> gpipe_order(const PipelineShape& shape, int /*stage*/) {
    std::vector<Slot> order;
    order.reserve(2 * static_cast<std::size_t>(shape.m));
    for (const bool backward : {false, true}) {
        for (int micro_batch = 0; micro_batch < shape.m; ++micro_batch) {
            order.push_back({.backward = backward, .micro_batch = micro_batch, .chunk = 0});
        }
    }
    return order;
}

}  // namespace memwall
