// 1F1B (PipeDream-Flush): stage i runs min(m, p-1-i) warm-up forwards, then one forward and one backward in turn, then the
// remaining backwards.
//   bubble (p-1)/(m+p-1) of the step for equal stages; at most min(m, p-i) micro-batches in flight on stage i.
// Source: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021; Megatron-LM
// megatron/core/pipeline_parallel/schedules.py, forward_backward_pipelining_without_interleaving.
#include <algorithm>

#include "sim/parallel/schedule.h"

namespace memwall {

int one_f_one_b_warm_up(const PipelineShape& shape, int stage) {
    return std::min(shape.m, shape.p - 1 - stage);
}

std::vector<Slot> one_f_one_b_order(const PipelineShape& shape, int stage) {
    const int warm_up = one_f_one_b_warm_up(shape, stage);
    std::vector<Slot> order;
    order.reserve(2 * static_cast<std::size_t>(shape.m));
    for (int k = 0; k < warm_up; ++k) {
        order.push_back({.backward = false, .micro_batch = k, .chunk = 0});
    }
    for (int k = 0; k < shape.m; ++k) {
        if (warm_up + k < shape.m) {
            order.push_back({.backward = false, .micro_batch = warm_up + k, .chunk = 0});
        }
        order.push_back({.backward = true, .micro_batch = k, .chunk = 0});
    }
    return order;
}

}  // namespace memwall
