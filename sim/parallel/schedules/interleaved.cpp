// Interleaved 1F1B: each stage holds v model chunks. Micro-batches advance in groups of p: a group passes chunk 0 on all
// stages, then chunk 1, ... Backward is the mirror image (chunk v-1 first).
//   warm-up (p-1-i) 2 + (v-1) p passes, bubble (p-1)/(v m+p-1) of the step for equal stages without transfer time.
// A last group of fewer than p micro-batches (m mod p != 0) is played as a short group.
// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC21;
// Megatron-LM megatron/core/pipeline_parallel/schedules.py (get_model_chunk_id, get_schedule_table, get_pp_rank_microbatches).
#include <algorithm>

#include "sim/parallel/schedule.h"

namespace memwall {

int interleaved_warm_up(const PipelineShape& shape, int stage) {
    return std::min(shape.m * shape.v, (shape.p - 1 - stage) * 2 + (shape.v - 1) * shape.p);
}

std::vector<Slot> interleaved_sequence(const PipelineShape& shape, bool backward) {
    std::vector<Slot> sequence;
    sequence.reserve(static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.v));
    for (int first = 0; first < shape.m; first += shape.p) {
        const int end = std::min(shape.m, first + shape.p);
        for (int k = 0; k < shape.v; ++k) {
            for (int micro_batch = first; micro_batch < end; ++micro_batch) {
                sequence.push_back({.backward = backward,
                                    .micro_batch = micro_batch,
                                    .chunk = backward ? shape.v - 1 - k : k});
            }
        }
    }
    return sequence;
}

std::vector<Slot> interleaved_order(const PipelineShape& shape, int stage) {
    const std::vector<Slot> forward = interleaved_sequence(shape, false);
    const std::vector<Slot> backward = interleaved_sequence(shape, true);
    const auto warm_up = static_cast<std::size_t>(interleaved_warm_up(shape, stage));
    std::vector<Slot> order(forward.begin(),
                            forward.begin() + static_cast<std::ptrdiff_t>(warm_up));
    order.reserve(2 * forward.size());
    for (std::size_t k = 0; k < backward.size(); ++k) {
        if (warm_up + k < forward.size()) {
            order.push_back(forward[warm_up + k]);
        }
        order.push_back(backward[k]);
    }
    return order;
}

}  // namespace memwall
