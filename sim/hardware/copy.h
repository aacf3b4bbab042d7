#pragma once
// Host <-> device copies of pinned memory by a copy engine: t = fixed + bytes / (host link rate x reached share).
// Both directions are equal and independent; SMs held by communication do not matter. Sharing of a host link or switch
// by several GPUs is the node's business.
#include "sim/hardware/kernel_time.h"

namespace memwall {

[[nodiscard]] KernelBreakdown copy_time(const Gpu& gpu, const Copy& copy);

}  // namespace memwall
