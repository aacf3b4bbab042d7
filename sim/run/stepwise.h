#pragma once
// Fidelity stepwise: gives collectives their messages, step by step, each with its route. Internal to bind.h.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "sim/network/fabric.h"
#include "sim/run/bound.h"
#include "sim/spec/collective.h"

namespace memwall {

class StepwiseBinder {
  public:
    // Both must outlive the binder; `bound` is added to.
    StepwiseBinder(const Fabric& fabric, Bound& bound) : fabric_(fabric), bound_(bound) {}

    // members: devices of the group in rank order. Returns why the call cannot be played step by step; empty = done.
    [[nodiscard]] std::string add(std::uint32_t transfer,
                                  const CollectiveCall& call,
                                  std::span<const DeviceId> members);

  private:
    const Fabric& fabric_;
    Bound& bound_;
    std::map<std::pair<DeviceId, DeviceId>, BoundMessage> routes_;  // bytes not filled
};

}  // namespace memwall
