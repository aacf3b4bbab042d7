#pragma once
// How a collective or a point-to-point message uses the machine: the result of choosing an algorithm and a protocol.
// time alone = delay + bytes / min(cap, what the links allow): a delay during which the SMs are held but no link, then one fluid flow.
//
// Two ways in:
//   plan_collective / plan_message   everything at once, for a few transfers;
//   shape_of -> collective_time      once per (shape, call): choice, delay, cap;
//   usage_of                         once per group instance and variant: the links.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "sim/collectives/shape.h"
#include "sim/core/units.h"
#include "sim/network/fabric.h"
#include "sim/network/fluid.h"
#include "sim/spec/collective.h"

namespace memwall {

enum class Algorithm : std::uint8_t {
    None,  // group of one, or zero bytes: nothing happens
    Ring,
    Tree,          // double binary tree between nodes, chain inside
    Hierarchical,  // reduce-scatter in the node, all-reduce across, all-gather in the node
    Nvls,          // reduction in the NVLink switch; across nodes with a tree between the switches
    Pairwise,      // all-to-all
    PointToPoint,
};
enum class Protocol : std::uint8_t { None, Ll, Ll128, Simple };

struct Variant {
    Algorithm algorithm = Algorithm::None;
    Protocol protocol = Protocol::None;  // None for law: steps
    auto operator<=>(const Variant&) const = default;
};

[[nodiscard]] std::string_view name_of(
    Algorithm algorithm);  // "ring", "tree", "hierarchical", "nvls", "pairwise", "p2p"
[[nodiscard]] std::string_view name_of(
    Protocol protocol);  // "ll", "ll128", "simple"; empty for None

// Weights are in units of 1/1024 of a flow per message byte rate: share on the busiest link = weight x coefficient,
// so that fair sharing is per flow (channel, queue pair) whatever the coefficients are.
inline constexpr std::int64_t kFlowWeight = 1024;

// The part of a transfer that does not depend on which links it runs over.
struct CollectiveTime {
    Variant variant;
    Duration alone{};  // = delay + bytes / cap, in whole picoseconds
    Duration delay{};
    double cap = 0;  // message bytes per second; 0 when there are no bytes to move
    std::int64_t weight = kFlowWeight;
    int blocks = 0;  // SMs held on each member while it runs (the whole time, delay included)
    bool crosses_nodes = false;
};

// Why it was chosen: each candidate with its nominal and modelled time.
struct Candidate {
    std::string algorithm;
    std::string protocol;
    double nominal_us = 0;   // the library's own estimate: decides where it is known; 0 = not used
    double modelled_us = 0;  // decides across nodes that have NVLS
    bool chosen = false;
};

// Obeys machine.law, machine.fidelity (ideal: no latency) and machine.algorithm. The name selects among the algorithms of
// all-reduce ("ring", "tree", "hierarchical", "nvls"); the other collectives have one
// algorithm each and keep it. The error says why a named algorithm cannot run on this group: it is never replaced.
[[nodiscard]] tl::expected<CollectiveTime, std::string> collective_time(
    const Machine& machine,
    const GroupShape& shape,
    const CollectiveCall& call,
    std::vector<Candidate>* explain = nullptr);

// Why a group cannot play such a collective message by message (fidelity: stepwise); empty = it can.
[[nodiscard]] std::string stepwise_obstacle(const Machine& machine,
                                            const GroupShape& shape,
                                            CollectiveKind kind);

// Bytes on each link per byte of message, sorted by link, merged; LL and LL128 count their wire bytes. Independent of the
// size. Empty for fidelity ideal and alpha_beta, which share nothing.
[[nodiscard]] std::vector<Usage> usage_of(const Fabric& fabric,
                                          std::span<const DeviceId> members,
                                          CollectiveKind kind,
                                          Variant variant);

// What FluidNetwork shares out, by link: raw capacity, of which events leave a share, between nodes times the usable fraction of the NICs under
// law: nccl; plus 2^-40 of slack, so that a cap equal to the link's rate binds and ends on its own picosecond.
// Not-binding links get 0. Use these and not Link::capacity.
[[nodiscard]] std::vector<double> link_capacities(const Fabric& fabric);

// The message rate that these links allow to one transfer; infinity when none binds.
[[nodiscard]] double link_limit(std::span<const double> capacities, std::span<const Usage> usage);

struct Transfer {
    Duration delay{};
    double cap = 0;            // message bytes per second
    std::vector<Usage> usage;  // sorted by link, coefficients merged
    std::int64_t weight = kFlowWeight;
    int blocks = 0;  // SMs held on each member while it runs (the whole time, delay included)
    bool crosses_nodes = false;
    std::string algorithm;  // "ring", "tree", "nvls", "p2p", ...
    std::string protocol;   // "ll", "ll128", "simple"; empty for law: steps
};

// members: devices in rank order of the group; size 1 gives a transfer of no time and no usage.
// Under ideal and alpha_beta the links' own limit is in the cap and the usage is empty: one path for every fidelity.
[[nodiscard]] tl::expected<Transfer, std::string> plan_collective(
    const Fabric& fabric,
    const CollectiveCall& call,
    std::span<const DeviceId> members,
    std::vector<Candidate>* explain = nullptr);

// Point to point. The time depends on the route only through its kind.
struct MessageShape {
    bool crosses_nodes = false;
    Medium medium = Medium::NvLink;
    Bandwidth slowest;  // raw rate of the slowest link on the route
    Duration latency{};
    auto operator<=>(const MessageShape&) const = default;
};
struct MessagePath {
    MessageShape shape;
    std::vector<Usage> usage;  // sorted by link, merged; empty for ideal and alpha_beta
};
[[nodiscard]] MessagePath message_path(const Fabric& fabric, DeviceId from, DeviceId to);
// Of a StepMessage: by the NIC or port of `from` itself, no relay inside the node.
[[nodiscard]] MessagePath step_path(const Fabric& fabric, DeviceId from, DeviceId to);
[[nodiscard]] CollectiveTime message_time(const Machine& machine,
                                          const MessageShape& shape,
                                          Bytes bytes);
[[nodiscard]] Transfer plan_message(const Fabric& fabric, DeviceId from, DeviceId to, Bytes bytes);

// Fidelity stepwise: the explicit schedule. Step k + 1 starts when every message of step k has arrived; a message is one
// flow over the route from `from` to `to`, after the route's latency.
struct StepMessage {
    DeviceId from;  // whose NIC or port it leaves by
    DeviceId to;
    Bytes bytes;
    auto operator<=>(const StepMessage&) const = default;
};
struct PlannedStep {
    std::vector<StepMessage> messages;
    std::int64_t repeat = 1;  // so many steps in a row are alike, as those of a ring
};
struct StepPlan {
    std::vector<PlannedStep> steps;
};
[[nodiscard]] tl::expected<StepPlan, std::string> plan_steps(const Fabric& fabric,
                                                             const CollectiveCall& call,
                                                             std::span<const DeviceId> members);

}  // namespace memwall
