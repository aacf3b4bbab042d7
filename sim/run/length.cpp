#include "sim/run/length.h"

#include <algorithm>

#include "sim/collectives/transfer.h"
#include "sim/hardware/kernel_time.h"
#include "sim/hardware/stack_rates.h"
#include "sim/run/bind.h"

namespace memwall {
namespace {

void add(RoughLength& sum, const RoughLength& part) {
    sum.kernels += part.kernels;
    sum.collectives += part.collectives;
    sum.messages += part.messages;
    sum.host += part.host;
}

// The messages of an exchange travel at once: the longest counts.
double exchange_seconds(const Fabric& fabric,
                        const Plan& plan,
                        const Job& job,
                        const Exchange& exchange,
                        std::size_t stage) {
    const auto per_stage = static_cast<std::uint32_t>(job.degrees.world() / job.degrees.pp);
    double longest = 0;
    for (const PeerTransfer& transfer : exchange.transfers) {
        const DeviceId from = device_of(plan, job, static_cast<std::uint32_t>(stage) * per_stage);
        const DeviceId to =
            device_of(plan, job, static_cast<std::uint32_t>(transfer.stage) * per_stage);
        const MessagePath path = message_path(fabric, from, to);
        longest = std::max(
            longest, to_seconds(message_time(plan.machine, path.shape, transfer.bytes).alone));
    }
    return longest;
}

}  // namespace

RoughLength rough_length(const Fabric& fabric,
                         const Plan& plan,
                         const Job& job,
                         const ProgramSet& programs,
                         const std::vector<std::vector<double>>& call_seconds) {
    double slower = 0;
    for (const Straggler& straggler : plan.machine.stragglers) {
        slower = std::max(slower, straggler.slower);
    }
    const Gpu gpu = as_used_by(plan.machine.cluster.node.gpu, job.stack);
    std::vector<double> kernels;
    for (const Kernel& kernel : programs.kernels) {
        kernels.push_back(to_seconds(kernel_time(gpu, kernel).duration) * (1 + slower));
    }
    RoughLength slowest;
    for (std::size_t stage = 0; stage < programs.programs.size(); ++stage) {
        std::vector<double> exchanges;
        for (const Exchange& exchange : programs.exchanges) {
            exchanges.push_back(exchange_seconds(fabric, plan, job, exchange, stage));
        }
        const auto length_of = [&](const Op& op) {
            RoughLength length;
            length.host = to_seconds(op.host);
            switch (op.kind) {
            case OpKind::Compute:
                length.kernels = kernels[op.work];
                break;
            case OpKind::Collective:
                length.collectives = call_seconds[stage][op.work];
                break;
            case OpKind::Exchange:
                length.messages = exchanges[op.work];
                break;
            case OpKind::HostWork:
            case OpKind::Drain:
                break;
            }
            return length;
        };
        std::vector<RoughLength> segments(programs.segments.size());
        for (std::size_t s = 0; s < segments.size(); ++s) {
            for (const Op& op : programs.segments[s].ops) {
                add(segments[s], length_of(op));
            }
        }
        RoughLength sum;
        for (const Item& item : programs.programs[stage].items) {
            add(sum,
                item.kind == Item::Kind::Op ? length_of(programs.ops[item.index])
                                            : segments[item.index]);
        }
        slowest = sum.sum() > slowest.sum() ? sum : slowest;
    }
    return slowest;
}

}  // namespace memwall
