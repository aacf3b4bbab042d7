#include "sim/collectives/schedule.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace memwall {

namespace {

// Bytes that each member's port or NIC sends and receives in one step.
struct Loads {
    std::vector<double> port_out, port_in, nic_out, nic_in;

    explicit Loads(std::size_t n) : port_out(n), port_in(n), nic_out(n), nic_in(n) {}
    void clear() {
        for (std::vector<double>* v : {&port_out, &port_in, &nic_out, &nic_in}) {
            std::fill(v->begin(), v->end(), 0.0);
        }
    }
};

double largest(const std::vector<double>& v) {
    return v.empty() ? 0 : *std::max_element(v.begin(), v.end());
}

}  // namespace

ChunkSchedule listed(std::vector<ChunkStep> steps) {
    ChunkSchedule schedule;
    schedule.steps = static_cast<int>(steps.size());
    schedule.step = [all = std::move(steps)](int index) {
        return all[static_cast<std::size_t>(index)];
    };
    return schedule;
}

double schedule_seconds(const ChunkSchedule& schedule,
                        const Layout& layout,
                        const HopRates& rates,
                        double bytes) {
    const auto n = static_cast<std::size_t>(layout.ranks);
    std::vector<int> node_of(n);
    for (int node = 0; node < layout.nodes(); ++node) {
        for (int i = 0; i < layout.ranks_in(node); ++i) {
            node_of[static_cast<std::size_t>(layout.member(node, 0, i))] = node;
        }
    }
    const double chunk = bytes / schedule.chunks_per_message;
    Loads loads(n);
    double total = 0;
    for (int index = 0; index < schedule.steps; ++index) {
        loads.clear();
        double latency = 0;
        for (const ChunkMessage& message : schedule.step(index)) {
            const auto via = static_cast<std::size_t>(message.via);
            const auto to = static_cast<std::size_t>(message.to);
            const double size = chunk * message.chunks;
            const bool across = node_of[via] != node_of[to];
            (across ? loads.nic_out : loads.port_out)[via] += size;
            (across ? loads.nic_in : loads.port_in)[to] += size;
            latency = std::max(latency, across ? rates.latency_across : rates.latency_in);
        }
        const double port = std::max(largest(loads.port_out), largest(loads.port_in));
        const double nic = std::max(largest(loads.nic_out), largest(loads.nic_in));
        total +=
            latency + std::max(port > 0 ? port / rates.port : 0, nic > 0 ? nic / rates.lane : 0);
    }
    return total;
}

}  // namespace memwall
