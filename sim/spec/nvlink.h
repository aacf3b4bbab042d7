#pragma once
// Which GPUs NVLink joins: all of a node behind NVLink switches, the connected parts of a mesh (bridged pairs), none over
// PCIe alone.
#include <vector>

#include "sim/spec/cluster.h"

namespace memwall {

// For each GPU of a node the lowest GPU that NVLink joins it with, itself included. Racks join whole nodes beyond that.
[[nodiscard]] std::vector<int> nvlink_parts(const Node& node);

// GPUs of the smallest NVLink domain; 1 = some GPU has no NVLink.
[[nodiscard]] int nvlink_domain(const Node& node);

// True when each run of n consecutive GPUs (0..n-1, n..2n-1, ...) lies within one NVLink domain.
[[nodiscard]] bool nvlink_joins_runs(const Node& node, int n);

}  // namespace memwall
