#pragma once
// What follows a datasheet value of a card that is overridden alone. The rates of the kernel laws are constants of their own,
// fitted to measurements: without this, `peak.bf16=2000TFLOPS` would move the MFU and not the time.
//   memory             -> usable
//   hbm                -> memory of gemm, attention_*, flash2_*, of every number format
//   peak.<format>      -> burst and sustained of gemm.<format>, matrix of attention_* and flash2_* of that format
//   links, link_rate   -> nccl.ring, nccl.nvls
// They move in proportion: the share of the datasheet value that was measured stays. Their origin is then `derived`. What is
// overridden itself, in the same file, `with:` or among the same --set, is left as it was given. Not moved: what has another
// cause (exponentials, fixed times, clock_drop), and what NCCL's tuner takes for nominal.
#include "sim/spec/document.h"

namespace memwall {

// `gpu` after a layer of overrides, `before` without it.
void follow_overrides(const DocNode& before, DocNode& gpu);

}  // namespace memwall
