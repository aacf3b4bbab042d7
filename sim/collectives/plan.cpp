// From a call to a transfer: which algorithms can run, which one does, its time, its links.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "sim/collectives/algorithms/algorithms.h"
#include "sim/collectives/nccl/shared.h"
#include "sim/collectives/nccl/tuner.h"
#include "sim/collectives/split.h"
#include "sim/collectives/transfer.h"

namespace memwall {

namespace {

using Error = tl::unexpected<std::string>;

// A barrier is an all-reduce of one word.
constexpr std::int64_t kBarrierBytes = 4;

// An all-to-all numbers its n^2 blocks.
constexpr int kStepwiseRanksMax = 32768;

HopRates hop_rates(const GroupShape& shape) {
    return {.port = shape.port.value,
            .lane = shape.lane_rate.value,
            .latency_in = to_seconds(shape.hop_in_node),
            .latency_across = to_seconds(shape.hop_across)};
}

// The algorithm that machine.algorithm names for this kind; None: the library's choice.
tl::expected<Algorithm, std::string> named_algorithm(const Machine& machine, CollectiveKind kind) {
    if (machine.algorithm.empty()) {
        return Algorithm::None;
    }
    std::string known;
    for (const AlgorithmEntry& entry : algorithms()) {
        if (!entry.serves(CollectiveKind::AllReduce)) {
            continue;
        }
        if (name_of(entry.algorithm) == machine.algorithm) {
            return entry.serves(kind) ? entry.algorithm : Algorithm::None;
        }
        known += known.empty() ? "" : ", ";
        known += name_of(entry.algorithm);
    }
    return Error(fmt::format(
        "unknown collective algorithm '{}'; all-reduce has {}", machine.algorithm, known));
}

const AlgorithmEntry& stepwise_entry(Algorithm named, CollectiveKind kind) {
    return entry_of(named == Algorithm::None ? default_algorithm(kind) : named);
}

// Why the rates are not there.
std::string missing_rate(const Machine& machine, const GroupShape& shape) {
    if (shape.nodes > 1 && shape.lane_rate.value <= 0) {
        return fmt::format("node '{}' has no NIC for a group of {} ranks on {} nodes",
                           machine.cluster.node.name,
                           shape.ranks,
                           shape.nodes);
    }
    if (shape.ranks_per_node > 1 && !(shape.port.value > 0)) {
        return fmt::format("node '{}' has no path between its GPUs", machine.cluster.node.name);
    }
    return {};
}

// One share of the node's channels on each NIC: groups that split a node's ranks split its channels.
double flows_per_link(const Machine& machine, const GroupShape& shape, int blocks) {
    if (shape.nodes == 1) {
        return std::max(1, blocks);
    }
    const double gpus = std::max(shape.ranks_per_node, machine.cluster.node.gpus);
    return std::max(1.0, blocks * shape.ranks_per_node / gpus / shape.lanes);
}

int blocks_of(const NcclView& v, Variant variant, double bytes) {
    const int channels = v.gpu.channels;
    switch (variant.algorithm) {
    case Algorithm::Ring:
        if (variant.protocol == Protocol::Ll) {
            const double wanted = std::ceil(bytes / (v.n * kNcclFacts.ll_channel_bytes));
            return static_cast<int>(
                std::clamp(wanted, 1.0, std::max(1.0, static_cast<double>(channels))));
        }
        return channels;
    case Algorithm::Nvls:
        return v.m > 1 ? kNcclFacts.nvls_channels_across : v.gpu.nvls_channels;
    case Algorithm::Pairwise: {
        const double per_peer =
            std::max(1.0, std::ceil(bytes / v.n / kNcclFacts.p2p_channel_bytes));
        return static_cast<int>(std::min(static_cast<double>(channels), per_peer * (v.n - 1)));
    }
    case Algorithm::PointToPoint: {
        const double wanted = std::max(1.0, std::ceil(bytes / kNcclFacts.p2p_channel_bytes));
        return static_cast<int>(
            std::min(wanted, static_cast<double>(std::min(channels, kNcclFacts.p2p_channels_max))));
    }
    case Algorithm::Tree:
    case Algorithm::Hierarchical:
        return channels;
    case Algorithm::None:
        break;
    }
    return 0;
}

double wire_factor(Protocol protocol) {
    switch (protocol) {
    case Protocol::Ll:
        return kNcclFacts.ll_wire;
    case Protocol::Ll128:
        return kNcclFacts.ll128_wire;
    case Protocol::Simple:
    case Protocol::None:
        return 1;
    }
    return 1;
}

tl::expected<CollectiveTime, std::string> steps_time(const Machine& machine,
                                                     const GroupShape& shape,
                                                     CollectiveKind kind,
                                                     Algorithm named,
                                                     Bytes bytes,
                                                     std::vector<Candidate>* explain) {
    const AlgorithmEntry& entry =
        entry_of(named == Algorithm::None ? default_algorithm(kind) : named);
    if (std::string why = entry.obstacle(shape); !why.empty()) {
        return Error(why);
    }
    const StepsTime steps =
        entry.time(shape, hop_rates(shape), kind, static_cast<double>(bytes.value));
    CollectiveTime time;
    time.variant = {entry.algorithm, Protocol::None};
    time.blocks = machine.cluster.node.gpu.nccl.channels;
    time.weight = weight_of(1, entry.load(shape, kind));
    const double total = machine.fidelity == Fidelity::Ideal ? steps.flow : steps.total;
    set_split(time, {.total = total, .flow = steps.flow}, bytes);
    if (explain != nullptr) {
        explain->push_back(
            {std::string(name_of(entry.algorithm)), "", 0, to_seconds(time.alone) * 1e6, true});
    }
    return time;
}

std::string nccl_obstacle(const NcclView& v,
                          const GroupShape& shape,
                          Algorithm named,
                          const Machine& machine) {
    if (named == Algorithm::Nvls && !v.nvls) {
        if (!shape.nvls || v.gpu.nvls.value <= 0) {
            return fmt::format(
                "nvls needs an NVLink switch that reduces: gpu '{}' in node '{}' has none",
                machine.cluster.node.gpu.name,
                machine.cluster.node.name);
        }
        return fmt::format("nvls needs more than two ranks of a group in a node, here {}",
                           shape.ranks_per_node);
    }
    if (named == Algorithm::Hierarchical) {
        return entry_of(named).obstacle(shape);
    }
    if (v.ring <= 0 || v.gpu.channels <= 0) {
        return fmt::format(
            "gpu '{}' has no NCCL constants (nccl.ring, nccl.channels): use law: steps",
            machine.cluster.node.gpu.name);
    }
    return {};
}

// All variants of a call on a group.
std::vector<NcclCandidate> candidates_of(const NcclView& v,
                                         const GroupShape& shape,
                                         CollectiveKind kind,
                                         Algorithm named,
                                         double bytes) {
    if (kind == CollectiveKind::Shift) {
        return {
            {{Algorithm::PointToPoint, shift_protocol(v, bytes)}, 0, shift_law(v, shape, bytes)}};
    }
    return nccl_candidates(v, kind, named, bytes);
}

// A law is a fit: where its rate would exceed the wires, the wires hold.
LawSplit bounded_by_wires(const NcclView& v,
                          const GroupShape& shape,
                          CollectiveKind kind,
                          const NcclCandidate& chosen,
                          double bytes) {
    const double load =
        entry_of(chosen.variant.algorithm).load(shape, kind) * wire_factor(chosen.variant.protocol);
    const double rate = shape.nodes > 1 ? v.wire / shape.lanes : per_us(shape.port);
    const double flow = std::max(chosen.time.flow, bytes * load / rate);
    return {.total = std::max(chosen.time.total, flow) * 1e-6, .flow = flow * 1e-6};
}

tl::expected<CollectiveTime, std::string> nccl_time(const Machine& machine,
                                                    const GroupShape& shape,
                                                    CollectiveKind kind,
                                                    Algorithm named,
                                                    Bytes bytes,
                                                    std::vector<Candidate>* explain) {
    const NcclView view = nccl_view(machine, shape);
    if (std::string why = nccl_obstacle(view, shape, named, machine); !why.empty()) {
        return Error(why);
    }
    const auto size = static_cast<double>(bytes.value);
    const std::vector<NcclCandidate> candidates = candidates_of(view, shape, kind, named, size);
    const std::size_t choice = nccl_choice(candidates);
    const NcclCandidate& chosen = candidates[choice];
    CollectiveTime time;
    time.variant = chosen.variant;
    time.blocks = blocks_of(view, chosen.variant, size);
    time.weight = weight_of(flows_per_link(machine, shape, time.blocks),
                            entry_of(chosen.variant.algorithm).load(shape, kind) *
                                wire_factor(chosen.variant.protocol));
    set_split(time, bounded_by_wires(view, shape, kind, chosen, size), bytes);
    for (std::size_t i = 0; explain != nullptr && i < candidates.size(); ++i) {
        const NcclCandidate& c = candidates[i];
        explain->push_back({std::string(name_of(c.variant.algorithm)),
                            std::string(name_of(c.variant.protocol)),
                            c.nominal_us,
                            c.time.total,
                            i == choice});
    }
    return time;
}

// The fit of the law may pass more over a PCIe box's links than their stated rates allow (its all-to-all constants are
// measured as a whole): inside a node, what was measured alone is taken to fit.
void fit_in_node(std::vector<Usage>& usage, const Fabric& fabric, double rate) {
    for (Usage& u : usage) {
        const Link& link = fabric.links()[u.link];
        const bool inside = link.tier == LinkTier::NvLink || link.tier == LinkTier::Pcie ||
                            link.tier == LinkTier::HostBridge || link.tier == LinkTier::Socket;
        if (inside && link.capacity.value > 0) {
            const auto most =
                static_cast<std::int64_t>(link.capacity.value / rate * static_cast<double>(kUnit));
            u.coefficient = std::clamp<std::int64_t>(most, 1, u.coefficient);
        }
    }
}

// Message rate of a large transfer alone.
double rate_of_large(const Machine& machine,
                     const GroupShape& shape,
                     CollectiveKind kind,
                     Variant variant) {
    const NcclView view = nccl_view(machine, shape);
    const bool one_law = kind == CollectiveKind::AllToAll || kind == CollectiveKind::Broadcast ||
                         kind == CollectiveKind::Shift;
    const Algorithm named = one_law ? Algorithm::None : variant.algorithm;
    constexpr double kLarge = 1e12;
    double rate = std::numeric_limits<double>::infinity();
    for (const NcclCandidate& c : candidates_of(view, shape, kind, named, kLarge)) {
        if (c.variant.protocol == Protocol::Simple) {
            rate = kLarge / (bounded_by_wires(view, shape, kind, c, kLarge).flow);
        }
    }
    return rate;
}

}  // namespace

tl::expected<CollectiveTime, std::string> collective_time(const Machine& machine,
                                                          const GroupShape& shape,
                                                          const CollectiveCall& call,
                                                          std::vector<Candidate>* explain) {
    const auto named = named_algorithm(machine, call.kind);
    if (!named) {
        return Error(named.error());
    }
    const bool barrier = call.kind == CollectiveKind::Barrier;
    const Bytes bytes = barrier ? Bytes{kBarrierBytes} : call.bytes;
    if (shape.ranks < 2 || bytes.value <= 0) {
        return CollectiveTime{};
    }
    if (std::string why = missing_rate(machine, shape); !why.empty()) {
        return Error(why);
    }
    auto time = counts_steps(machine)
                    ? steps_time(machine, shape, call.kind, *named, bytes, explain)
                    : nccl_time(machine, shape, call.kind, *named, bytes, explain);
    if (time) {
        time->crosses_nodes = shape.nodes > 1;
        if (barrier) {  // the caller moves no bytes
            time->delay = time->alone;
            time->cap = 0;
        }
    }
    return time;
}

std::vector<Usage> usage_of(const Fabric& fabric,
                            std::span<const DeviceId> members,
                            CollectiveKind kind,
                            Variant variant) {
    const Machine& machine = fabric.machine();
    const bool shares =
        machine.fidelity == Fidelity::Fluid || machine.fidelity == Fidelity::Stepwise;
    if (!shares || variant.algorithm == Algorithm::None || members.size() < 2 ||
        kind == CollectiveKind::Barrier) {
        return {};
    }
    UsageBuilder builder(fabric, members);
    entry_of(variant.algorithm).use(builder, layout_of(fabric, members), kind);
    std::vector<Usage> usage = builder.build(wire_factor(variant.protocol));
    if (!builder.switched() && !counts_steps(machine)) {
        fit_in_node(
            usage, fabric, rate_of_large(machine, shape_of(fabric, members), kind, variant));
    }
    return usage;
}

tl::expected<Transfer, std::string> plan_collective(const Fabric& fabric,
                                                    const CollectiveCall& call,
                                                    std::span<const DeviceId> members,
                                                    std::vector<Candidate>* explain) {
    const auto time = collective_time(fabric.machine(), shape_of(fabric, members), call, explain);
    if (!time) {
        return Error(time.error());
    }
    Transfer transfer;
    transfer.delay = time->delay;
    transfer.cap = time->cap;
    transfer.usage = usage_of(fabric, members, call.kind, time->variant);
    transfer.weight = time->weight;
    transfer.blocks = time->blocks;
    transfer.crosses_nodes = time->crosses_nodes;
    transfer.algorithm = name_of(time->variant.algorithm);
    transfer.protocol = name_of(time->variant.protocol);
    return transfer;
}

std::string stepwise_obstacle(const Machine& machine,
                              const GroupShape& shape,
                              CollectiveKind kind) {
    const auto named = named_algorithm(machine, kind);
    if (!named) {
        return named.error();
    }
    if (shape.ranks > kStepwiseRanksMax) {
        return fmt::format(
            "fidelity: stepwise plays groups of at most {} ranks, here {}; use fluid",
            kStepwiseRanksMax,
            shape.ranks);
    }
    const AlgorithmEntry& entry = stepwise_entry(*named, kind);
    if (entry.algorithm == Algorithm::Nvls) {
        return "nvls has no messages between GPUs: the switch adds on the way; use fidelity: fluid";
    }
    const std::string missing = missing_rate(machine, shape);
    return missing.empty() ? entry.obstacle(shape) : missing;
}

tl::expected<StepPlan, std::string> plan_steps(const Fabric& fabric,
                                               const CollectiveCall& call,
                                               std::span<const DeviceId> members) {
    const Bytes bytes = call.kind == CollectiveKind::Barrier ? Bytes{kBarrierBytes} : call.bytes;
    StepPlan plan;
    if (members.size() < 2 || bytes.value <= 0) {
        return plan;
    }
    const GroupShape shape = shape_of(fabric, members);
    if (std::string why = stepwise_obstacle(fabric.machine(), shape, call.kind); !why.empty()) {
        return Error(why);
    }
    const AlgorithmEntry& entry =
        stepwise_entry(*named_algorithm(fabric.machine(), call.kind), call.kind);
    const int pieces =
        entry.pieces(shape, hop_rates(shape), call.kind, static_cast<double>(bytes.value));
    const ChunkSchedule schedule = entry.schedule(layout_of(fabric, members), call.kind, pieces);
    // Chunks differ by at most a byte and sum to the message.
    const int parts = schedule.chunks_per_message;
    const auto upto = [&](int chunk) {
        return (bytes.value / parts * chunk) + std::min<std::int64_t>(chunk, bytes.value % parts);
    };
    for (int index = 0; index < schedule.steps; ++index) {
        PlannedStep step;
        for (const ChunkMessage& m : schedule.step(index)) {
            const int first = m.first_chunk % parts;
            step.messages.push_back({.from = members[static_cast<std::size_t>(m.via)],
                                     .to = members[static_cast<std::size_t>(m.to)],
                                     .bytes = Bytes{upto(first + m.chunks) - upto(first)}});
        }
        if (!plan.steps.empty() && plan.steps.back().messages == step.messages) {
            ++plan.steps.back().repeat;
        } else {
            plan.steps.push_back(std::move(step));
        }
    }
    return plan;
}

}  // namespace memwall
