#pragma once
// How a collective or a point-to-point message uses the machine: the result of choosing an algorithm and a protocol.
// time alone = delay + bytes / min(cap, what the links allow): a delay during which the SMs are held but no link, then one fluid flow.
#include <span>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/fabric.h"
#include "sim/network/fluid.h"
#include "sim/spec/collective.h"

namespace memwall {

struct Transfer {
    Duration delay{};
    double cap = 0;              // message bytes per second
    std::vector<Usage> usage;    // sorted by link, coefficients merged
    std::int64_t weight = 1;
    int blocks = 0;              // SMs held on each member while it runs (the whole time, delay included)
    bool crosses_nodes = false;
    std::string algorithm;       // "ring", "tree", "nvls", "p2p", ...
    std::string protocol;        // "ll", "ll128", "simple"; empty for law: steps
};

// Why it was chosen: each candidate with its nominal and modelled time.
struct Candidate {
    std::string algorithm;
    std::string protocol;
    double nominal_us = 0;
    double modelled_us = 0;
    bool chosen = false;
};

// members: devices in rank order of the group; size 1 gives a transfer of no time and no usage.
[[nodiscard]] Transfer plan_collective(const Fabric& fabric, const CollectiveCall& call, std::span<const DeviceId> members,
                                       std::vector<Candidate>* explain = nullptr);
[[nodiscard]] Transfer plan_message(const Fabric& fabric, DeviceId from, DeviceId to, Bytes bytes);

}  // namespace memwall
