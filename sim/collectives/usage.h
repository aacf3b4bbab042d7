#pragma once
// Collects what a collective puts on links, per byte of message, and turns it into a sorted vector of integers.
#include <span>
#include <utility>
#include <vector>

#include "sim/collectives/layout.h"
#include "sim/network/fabric.h"
#include "sim/network/fluid.h"

namespace memwall {

class UsageBuilder {
  public:
    UsageBuilder(const Fabric& fabric, std::span<const DeviceId> members)
        : fabric_(&fabric), members_(members) {}

    // Everything on the way from one member to another.
    void add_route(int from, int to, double bytes);
    // Every member of a node sends (and receives) `bytes` to others of the node, spread as a ring's channels do.
    void spread(const Layout& layout, int node, double bytes);
    // In the node: over ports alone where there is an NVLink switch, else along the route.
    void add_hop(int from, int to, double bytes);
    // A member's traffic with its NVLink switch; nothing where there is none.
    void add_port(int member, double out, double in);

    // wire: bytes on the wire per byte of payload. Coefficients are rounded down: a link never slows a transfer
    // because of rounding.
    [[nodiscard]] std::vector<Usage> build(double wire);
    [[nodiscard]] const Fabric& fabric() const { return *fabric_; }
    [[nodiscard]] bool switched() const;

  private:
    [[nodiscard]] DeviceId device(int member) const {
        return members_[static_cast<std::size_t>(member)];
    }
    void add(LinkId link, double bytes);
    void merge_parts();  // to one per link, by link

    const Fabric* fabric_;
    std::span<const DeviceId> members_;
    std::vector<std::pair<std::uint32_t, double>> parts_;  // link, bytes; a link may come again
    // By link, once there are so many parts that a sum for every link of the machine is less than sorting.
    std::vector<double> sums_;
};

}  // namespace memwall
