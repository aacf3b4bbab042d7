#include "sim/run/stepwise.h"

#include "sim/collectives/transfer.h"

namespace memwall {

std::string StepwiseBinder::add(std::uint32_t transfer,
                                const CollectiveCall& call,
                                std::span<const DeviceId> members) {
    const auto plan = plan_steps(fabric_, call, members);
    if (!plan) {
        return plan.error();
    }
    const auto size = [](const auto& all) { return static_cast<std::uint32_t>(all.size()); };
    bound_.transfers[transfer].steps_begin = size(bound_.collective_steps);
    for (const PlannedStep& step : plan->steps) {
        const std::uint32_t begin = size(bound_.step_messages);
        for (const StepMessage& m : step.messages) {
            const auto [found, fresh] = routes_.try_emplace({m.from, m.to});
            BoundMessage& route = found->second;
            if (fresh) {
                const MessagePath path = step_path(fabric_, m.from, m.to);
                route.latency = path.shape.latency.count();
                route.cap = path.shape.slowest.value;
                route.weight = kFlowWeight;
                route.usage_begin = size(bound_.usages);
                bound_.usages.insert(bound_.usages.end(), path.usage.begin(), path.usage.end());
                route.usage_end = size(bound_.usages);
            }
            BoundMessage message = route;
            message.bytes = m.bytes.value;
            bound_.step_messages.push_back(message);
        }
        bound_.collective_steps.push_back({begin, size(bound_.step_messages), step.repeat});
    }
    bound_.transfers[transfer].steps_end = size(bound_.collective_steps);
    return {};
}

}  // namespace memwall
