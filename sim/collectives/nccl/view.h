#pragma once
// What the NCCL laws see of a group: counts and rates in microseconds and bytes per microsecond (1 GB/s = 1e3 B/us).
#include "sim/collectives/shape.h"
#include "sim/collectives/split.h"
#include "sim/spec/collective.h"
#include "sim/spec/plan.h"

namespace memwall {

struct NcclView {
    double n = 1;     // ranks
    double m = 1;     // nodes
    double p = 1;     // ranks per node
    double ring = 0;  // B: ring rate per GPU and direction in the node
    double wire = 0;  // e_W W: usable NIC rate of a node, one direction
    double full = 1;  // share of the GPU's links that the group uses: scales the tuner's bus rate
    Medium medium = Medium::NvLink;
    bool nvls = false;        // switch, GPUs that can, more than two ranks in the node
    double cross_socket = 1;  // i
    NcclConstants gpu;
    FabricNccl net;
};

[[nodiscard]] NcclView nccl_view(const Machine& machine, const GroupShape& shape);

// B of the book: what a ring reaches on the group's slowest hop inside a node.
[[nodiscard]] Bandwidth ring_rate(const Node& node, Medium medium, Bandwidth port);

[[nodiscard]] constexpr double us(Duration d) {
    return static_cast<double>(d.count()) * 1e-6;
}
[[nodiscard]] constexpr double per_us(Bandwidth b) {
    return b.value * 1e-6;
}

}  // namespace memwall
