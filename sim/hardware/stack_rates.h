#pragma once
// A GPU as the kernels of a stack find it.
#include "sim/spec/gpu.h"
#include "sim/spec/stack.h"

namespace memwall {

// Rates of matrix products, fused attention and memory-bound kernels times what the stack keeps of them on this
// architecture, and the alignment of its library (StackRates); unchanged where the stack says nothing. No memory-bound
// kernel gets beyond the datasheet.
[[nodiscard]] Gpu as_used_by(Gpu gpu, const Stack& stack);

}  // namespace memwall
