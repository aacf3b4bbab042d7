#pragma once
// How the members of a group inside one node reach each other: the medium, and over which links a ring through all of
// them runs. Channels rotate, so each member's traffic is spread evenly over its direct links to other members.
#include <span>
#include <vector>

#include "sim/collectives/shape.h"
#include "sim/network/fabric.h"

namespace memwall {

struct RingHop {
    int from = 0;  // index into the span of devices
    int to = 0;
    double share = 1;  // of what `from` sends
};

struct NodeWiring {
    Medium medium = Medium::NvLink;
    bool switched = false;      // an NVLink switch: any pair at the port's rate
    std::vector<RingHop> hops;  // empty for one device
};

[[nodiscard]] NodeWiring wiring_of(const Fabric& fabric, std::span<const DeviceId> devices);

}  // namespace memwall
