#pragma once
// What the engine runs: compiled programs with ranks, groups, transfers and links, all as flat arrays. Made by bind.h from a
// plan, or by fold.h from a larger one: then a rank stands for a class of identical ranks, and a link for a class of links.
#include <array>
#include <cstdint>
#include <vector>

#include "sim/network/fluid.h"
#include "sim/run/code.h"
#include "sim/run/kernel_times.h"

namespace memwall {

// A collective of one group, or a message of one pair.
struct BoundTransfer {
    Ps delay = 0;  // SMs held, no link
    Ps flow = 0;   // then this long, when nothing else uses its links
    std::int64_t bytes = 0;
    double cap = 0;  // bytes per second
    std::int64_t weight = 1;
    std::int32_t blocks = 0;    // communication blocks on each member
    bool isolated = true;       // nothing else can slow it down: never enters the network
    std::int32_t at_once = 1;   // a message: that many of its pair can be in progress together
    std::uint16_t streams = 1;  // called on these, as bits; a group can have one at a time on each
    std::uint32_t usage_begin = 0;
    std::uint32_t usage_end = 0;
    std::uint32_t owner = 0;  // a group or a pair of ranks; ascending
    // Fidelity stepwise: a collective is played message by message, not by delay, cap and usage, which then only count.
    std::uint32_t steps_begin = 0;  // into Bound::collective_steps
    std::uint32_t steps_end = 0;
};

// A step of a collective: it begins when all messages of the step before have arrived.
struct BoundStep {
    std::uint32_t messages_begin = 0;  // into Bound::step_messages
    std::uint32_t messages_end = 0;
    std::int64_t repeat = 1;  // so many alike, one after the other
};

struct BoundMessage {
    Ps latency = 0;
    std::int64_t bytes = 0;
    double cap = 0;  // bytes per second
    std::int64_t weight = 1;
    std::uint32_t usage_begin = 0;
    std::uint32_t usage_end = 0;
};

struct BoundGroup {
    std::uint32_t members_begin = 0;  // into Bound::members, distinct, ascending
    std::uint32_t members_end = 0;
    std::uint32_t transfers = 0;  // into Bound::group_transfers, by Bound::call_in_role
    std::uint32_t transfers_end = 0;
    GroupRole role = GroupRole::Tp;
    bool isolated = true;  // all its transfers are
};

struct BoundRank {
    std::uint32_t program = 0;                        // of Code::programs
    std::uint32_t kind = 0;                           // of device: KernelTimes
    std::array<std::uint32_t, kGroupRoles> groups{};  // kNone32 where it is in no group of the role
    std::uint32_t peers = 0;                          // into Bound::peers, by CodeProgram::peers
    std::uint32_t messages = 0;        // into Bound::message_transfers, by CodeProgram::messages
    std::uint32_t representative = 0;  // lowest rank of its job that it stands for
    std::uint64_t multiplicity = 1;
};

struct BoundLink {
    std::uint32_t representative = 0;
    std::uint64_t multiplicity = 1;
    double capacity = 0;  // bytes per second, for the utilisation
    std::uint32_t side =
        0;  // tier and direction: links of different sides are never folded together
};

struct Bound {
    Code code;
    std::vector<BoundRank> ranks;  // job by job
    std::vector<BoundGroup> groups;
    std::vector<std::uint32_t> members;
    std::vector<std::uint32_t> call_in_role;  // by collective (of all jobs)
    std::vector<std::uint32_t> group_transfers;
    std::vector<std::uint32_t> peers;
    std::vector<std::uint32_t> message_transfers;
    std::vector<BoundTransfer> transfers;
    std::vector<BoundStep> collective_steps;
    std::vector<BoundMessage> step_messages;
    std::vector<Usage> usages;
    std::vector<BoundLink> links;
    std::vector<double> capacities;  // by link, as FluidNetwork shares them; <= 0 never binds
    std::vector<Ps> job_start;
    KernelTimes kernels;
    int steps = 2;
};

// Sets `isolated` of transfers and groups: no link of theirs can be slowed by another owner's traffic. A link binds for
// several owners only if the sum of what each could put on it, alone on the machine, exceeds its capacity. Links that not even
// the caps of all transfers together can fill never bind: their capacity is set to 0.
void find_isolated(Bound& bound);

}  // namespace memwall
