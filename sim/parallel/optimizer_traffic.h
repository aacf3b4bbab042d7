#pragma once
// HBM traffic and kernels of one optimizer step, from the states that the precision policy holds and the passes of the stack.
//
//   bytes per parameter = update + passes beside it, of states with
//     g  gradient_bytes              G  gradient that the update reads: 4 where the stack copies 16-bit gradients to fp32, else g
//     M  master_bytes                P  what the update writes: M, or w without a master copy
//     w  weight_bytes                v  moment_bytes, all moments together
//   update, one fused kernel:   G + 2 P + 2 v: gradient read; parameter and moments read and written
//   update, kernel by kernel:   see `update_accesses`
//   weights from the master copy: w written; M read once more where that is a kernel of its own
//   copy to fp32: g + 4;  unscaling (loss-scaled fp16): 2 G;  clipping: 2 G
//   Adam, g 4, M 4, w 2, v 8: 4 + 8 + 16 = 28; Megatron clips (8) and casts apart (6): 42. fp16 gradients in 2021: 56.
// Neglects caching between passes (states exceed any L2) and what a gradient of zero would save.
#include "sim/spec/stack.h"
#include "sim/spec/strategy.h"

namespace memwall {

// Reads and writes of each state by the update itself.
struct UpdateAccesses {
    double gradient = 0;
    double parameter = 0;    // master copy, or the weights without one
    double moments = 0;      // of all moments together
    double temporaries = 0;  // tensors as wide as the parameter
    int kernels = 1;         // per tensor; a fused update is one for all tensors
};

[[nodiscard]] bool is_fused(OptimizerKind kind, const StackKernels& kernels);
[[nodiscard]] UpdateAccesses update_accesses(OptimizerKind kind, bool fused);
[[nodiscard]] double optimizer_bytes_per_parameter(const Training& training,
                                                   const StackKernels& kernels);

}  // namespace memwall
