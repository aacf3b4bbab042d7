#pragma once
// Fused (flash) attention: query tiles of 128 rows spread over the SMs; the exponential unit adds to the matrix units.
//
//   nq   = ceil(s/128)                                  query tiles of one head
//   ext  = mean keys per query tile: full k; causal k - s + 128 (nq+1)/2 (whole diagonal tiles); window: at most w + 128
//   F    = flop per score element: forward 2 (dq + dv), backward 2 (3 dq + 2 dv)
//   el   = (F/Pm + 1/X) SM, with dq > 128: x g192          time per score element on one SM
//   work = b h nq (128 ext el + tov) / SM               tov: per query tile (prologue, epilogue, dQ conversion)
//   tile = 128 kmax el + tov                            the longest tile: kmax = k, or ext under a window
//   T    = max(work + 0.75 tile, tile) (1 + rb)         0.75: mean tail; burst: rb (1 - 1/(1 + T/1 ms))
//   Tm   = (forward 1, backward 3) eb b (s h + k kh) (dq + dv) / B
//   t    = (T^4 + Tm^4)^(1/4) + t0
//
// Key heads kh enter through bytes only. Neglects: deterministic backward (6-40 % slower), head dimensions that libraries
// pad. The flop counted here is what the kernel executes, not the half square of published TFLOP/s figures.
#include "sim/hardware/kernel_time.h"

namespace memwall {

[[nodiscard]] KernelBreakdown attention_time(const Gpu& gpu,
                                             const Attention& attention,
                                             const KernelConditions& conditions);

}  // namespace memwall
