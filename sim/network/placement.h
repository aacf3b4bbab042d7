#pragma once
// Devices that sit alike. Routes follow from where devices sit relative to each other: in the same server, domain, leaf and
// pod or so many further on. Devices that sit relative to their first as others do to theirs have the same routes, over
// links that are a fixed distance further on in each tier; capacities of those links may differ.
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/fabric.h"

namespace memwall {

struct Place {
    int node = 0;
    int rail = 0;
    int domain = 0;
    int leaf = 0;  // of the device's NIC; -1 where the tier does not exist
    int pod = 0;
    auto operator<=>(const Place&) const = default;
};

// From the links of some devices to those of others that sit alike.
struct LinkShift {
    std::uint32_t in_nodes = 0;  // modulo 2^32: a shift may go back
    std::uint32_t leaves = 0;
    std::uint32_t pods = 0;
};

class Placements {
  public:
    explicit Placements(const Fabric& fabric);

    // Places relative to the first device, one for each. False where links depend on more than that: on a hash of the ports.
    [[nodiscard]] bool relative(std::span<const DeviceId> devices, std::span<Place> to) const;

    // Between the first devices of two that sit alike.
    [[nodiscard]] LinkShift shift(DeviceId from, DeviceId to) const;

    [[nodiscard]] std::uint32_t shifted(std::uint32_t link, const LinkShift& by) const {
        return link + (link < leaf_begin_ ? by.in_nodes : link < pod_begin_ ? by.leaves : by.pods);
    }

  private:
    const Fabric& fabric_;
    std::vector<Place> places_;  // by device
    // Every GPU has its own NIC and its own port on an NVLink switch: GPUs of a node differ in nothing.
    bool rails_alike_ = false;
    bool hashed_ = false;
    std::uint32_t leaf_begin_ = 0;
    std::uint32_t pod_begin_ = 0;
};

}  // namespace memwall
