// ZeRO-2: gradients are sharded, so every micro-batch reduces its own. A layer's whole gradients live from its backward
// pass until the bucket behind theirs is issued (the collective reads them on another stream).
// Source: Rajbhandari et al., SC20, section 5.2; DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py (reduce buckets).
#include <cmath>

#include "sim/parallel/reduction.h"
#include "sim/parallel/strategy.h"

namespace memwall {
namespace {

MemoryEvent gradient_event(Lowering& lowering,
                           const Chunk& chunk,
                           std::size_t unit,
                           bool allocate) {
    const Unit& u = chunk.units[unit];
    const std::int64_t bytes =
        std::llround(static_cast<double>(u.parameters.trained) * lowering.precision.gradient_bytes);
    return {.memory = TensorClass::GradientBuckets,
            .bytes = allocate ? bytes : -bytes,
            .tensor = lowering.programs.tensor("gradients", u.position, 0, u.owner + " gradients")};
}

}  // namespace

Items zero2_backward(Lowering& lowering,
                     const Stage& /*stage*/,
                     const Chunk& chunk,
                     MicroBatch /*micro_batch*/) {
    Items items;
    const std::int64_t size = bucket_parameters(lowering);
    const bool overlap = lowering.overlaps_reduction();
    std::int64_t pending = 0;
    std::size_t end = chunk.units.size();
    std::vector<MemoryEvent> release;  // gradients that the bucket in flight reads
    for (std::size_t i = chunk.units.size(); i-- > 0;) {
        pending += chunk.units[i].parameters.trained;
        if (i > 0 && (size == 0 || pending < size)) {
            continue;
        }
        SegmentRequest request{.backward = true, .begin = i, .end = end};
        std::vector<MemoryEvent> frees;
        for (std::size_t k = end; k-- > i;) {
            if (chunk.units[k].parameters.trained > 0) {
                request.memory.push_back(
                    {.unit = k, .after = false, .event = gradient_event(lowering, chunk, k, true)});
                frees.push_back(gradient_event(lowering, chunk, k, false));
            }
        }
        if (!overlap) {
            request.entry = {reduction_slot(lowering)};
        }
        append_segment(lowering, chunk, request, items);
        end = i;
        for (; size > 0 && pending >= size; pending -= size) {
            append_reduction(lowering, {.parameters = size}, release, items);
            release.clear();
        }
        if (i == 0 && pending > 0) {
            append_reduction(lowering, {.parameters = pending}, release, items);
            release.clear();
        }
        release.insert(release.end(), frees.begin(), frees.end());
    }
    if (!release.empty()) {
        items.push_back(memory_item(lowering, "release gradients", release, true));
    }
    return items;
}

}  // namespace memwall
