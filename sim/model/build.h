#pragma once
// The workload trace of a model on a software stack: which kernels run, what they move, what they keep for backward.
// Kernel lists follow the code of the stacks (sources beside each layer kind); the stack's switches decide what is fused.
#include "sim/model/trace.h"
#include "sim/spec/model.h"
#include "sim/spec/stack.h"

namespace memwall {

struct TraceShape {
    std::int64_t micro_batch = 1;
    std::int64_t sequence = 0;
    std::int64_t padded_vocabulary = 0;  // 0 = the model's own
    Dtype compute =
        Dtype::Bf16;  // of the matrix products; activations are stored in 16 bits below fp32
    Recipe recipe = Recipe::None;  // of the linear layers, but those of the layers skipped
    std::int64_t recipe_skips_first = 0;
    std::int64_t recipe_skips_last = 0;
    bool quantises_weights = false;  // in every pass: weights come gathered, not kept quantised
    double gradient_bytes = 2;  // of an element of the accumulation buffer: 4 = fp32 main gradients
};

[[nodiscard]] WorkloadTrace build_trace(const Model& model,
                                        const Stack& stack,
                                        const TraceShape& shape);

}  // namespace memwall
