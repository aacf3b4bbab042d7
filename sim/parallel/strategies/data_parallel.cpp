// Plain data parallelism (and the gradient side of ZeRO-1): whole gradients on every rank, reduced once per step. Buckets
// behind the backward pass of the last micro-batch when the stack overlaps, else one after another at the end.
// A bucket is cut where a layer ends: a layer's gradients are complete there. Source: Li et al., "PyTorch Distributed",
// VLDB 2020, section 3.2; Megatron-LM megatron/core/distributed/param_and_grad_buffer.py.
#include "sim/parallel/reduction.h"
#include "sim/parallel/strategy.h"

namespace memwall {

Items backward_reducing_last(Lowering& lowering,
                             const Stage& /*stage*/,
                             const Chunk& chunk,
                             MicroBatch micro_batch) {
    const std::size_t count = chunk.units.size();
    if (!micro_batch.last || !lowering.overlaps_reduction()) {
        return segment_items(lowering, chunk, {.backward = true, .end = count});
    }
    Items items;
    const std::int64_t size = bucket_parameters(lowering);
    std::int64_t pending = 0;
    std::size_t end = count;
    for (std::size_t i = count; i-- > 0;) {
        pending += chunk.units[i].parameters.trained;
        if (pending < size && i > 0) {
            continue;
        }
        append_segment(lowering, chunk, {.backward = true, .begin = i, .end = end}, items);
        end = i;
        for (; pending >= size; pending -= size) {
            append_reduction(lowering, {.parameters = size}, {}, items);
        }
        if (i == 0 && pending > 0) {
            append_reduction(lowering, {.parameters = pending}, {}, items);
        }
    }
    return items;
}

Items reduce_at_end(Lowering& lowering, const Stage& stage) {
    Items items;
    if (lowering.overlaps_reduction()) {
        return items;
    }
    const std::int64_t size = bucket_parameters(lowering);
    std::int64_t pending = stage.trained;
    for (; size > 0 && pending > size; pending -= size) {
        append_reduction(lowering, {.parameters = size, .of_pass = false}, {}, items);
    }
    if (pending > 0) {
        append_reduction(lowering, {.parameters = pending, .of_pass = false}, {}, items);
    }
    return items;
}

}  // namespace memwall
