#pragma once
// The law of collectives that is in force, and what it reads. Fidelity stepwise and ideal count steps whatever `law` says; the
// laws of NCCL contain the latency of links and switches, an ideal network has none.
#include <array>
#include <string_view>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"
#include "sim/spec/plan.h"
#include "sim/spec/write.h"

namespace memwall {

inline constexpr std::array<std::string_view, 3> kLatencyKeys = {
    "machine.cluster.fabric.hop_latency",
    "machine.cluster.node.nvlink_latency",
    "machine.cluster.node.pcie_latency"};

[[nodiscard]] bool reads_latencies(const Machine& machine);

// Makes machine.law the one in force, derived where the fidelity decides it. W0410 for another one stated, and for a latency
// that --set changes without effect.
void take_law(Machine& machine,
              const DocNode& composed,
              Derivations& derivations,
              Diagnostics& diagnostics);

}  // namespace memwall
