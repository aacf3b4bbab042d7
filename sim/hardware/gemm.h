#pragma once
// Matrix products: tiles on SMs in waves, against memory.
//
//   for every tile (bm,bn) and split s of k in {1,2,4,8} (s > 1 only if k/s >= 128):
//     w    = ceil(m/bm) ceil(n/bn) s nb / SM                    waves on the free SMs, a real number
//     weff = q max(ceil(w), 1) + (1-q) max(w, 1)                q = 1: whole waves, 0: perfectly balanced
//     e    = (1 + h/85.33) / (1 + h (bm+bn)/(bm bn))            starvation of small tiles; 1 at 256 x 128
//     Tw   = weff 2 bm bn (64 ceil(k/s/64) + K0) SM / (P e)     K0: prologue and epilogue as extra depth
//     Tw  += s > 1 ? 8 s m n nb / B : 0                         fp32 partial sums, written and read
//   Tw = min over tiles and splits: the library is assumed to choose the best
//   Tc = max(Tw (1 + rb), flops / Ps)                           sustained; burst: rb (1 - 1/(1 + Tw/tau))
//   S  = nb (m k eb + n k eb + m n ob)                          eb, ob: bytes per input and output element
//   f  = hit clip((1.2 L2 - S) / (0.4 L2), 0, 1)                share of the activations found in L2
//   Tm = nb (n k eb + (m k eb + m n ob)(1-f)) / B
//   t  = role ((Tc^4 + Tm^4)^(1/4) + t0)                        role: memory layout of the product, times its alignment:
//                                                               of batches with n or k off multiples of 8, else of 64
//
// Neglects: refetches of operands per wave, alignment of single products below 64, clocks that differ between boards.
// Fitted with neighbouring sizes that scatter by 3 %; constants and residuals: topologies/gpus. Wave quantisation and
// tile efficiency as in NVIDIA, "Matrix Multiplication Background User's Guide".
#include "sim/hardware/kernel_time.h"

namespace memwall {

[[nodiscard]] KernelBreakdown gemm_time(const Gpu& gpu,
                                        const Gemm& gemm,
                                        const KernelConditions& conditions);

}  // namespace memwall
