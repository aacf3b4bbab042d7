#include "sim/validation/collective_row.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "sim/validation/machine_text.h"
#include "sim/validation/words.h"

namespace memwall {
namespace {

tl::unexpected<NotMapped> refuse(std::string reason, bool not_yet = false) {
    return tl::unexpected(NotMapped{std::move(reason), not_yet});
}

struct CollectiveWord {
    std::string_view word;
    CollectiveKind kind;
    std::string_view name;
};
constexpr std::array kCollectives = {
    CollectiveWord{"all_reduce", CollectiveKind::AllReduce, "all-reduce"},
    CollectiveWord{"allreduce", CollectiveKind::AllReduce, "all-reduce"},
    CollectiveWord{"all_gather", CollectiveKind::AllGather, "all-gather"},
    CollectiveWord{"allgather", CollectiveKind::AllGather, "all-gather"},
    CollectiveWord{"reduce_scatter", CollectiveKind::ReduceScatter, "reduce-scatter"},
    CollectiveWord{"reducescatter", CollectiveKind::ReduceScatter, "reduce-scatter"},
    CollectiveWord{"broadcast", CollectiveKind::Broadcast, "broadcast"},
    CollectiveWord{"alltoall", CollectiveKind::AllToAll, "all-to-all"},
    CollectiveWord{"all_to_all", CollectiveKind::AllToAll, "all-to-all"}};

std::string_view size_band(double bytes) {
    return bytes < 65536 ? "below 64 KiB" : bytes < 16777216 ? "64 KiB-16 MiB" : "16 MiB and more";
}

}  // namespace

std::vector<DeviceId> CollectiveCase::members() const {
    std::vector<DeviceId> all;
    for (int node = 0; node < nodes; ++node) {
        for (int local = 0; local < gpus / nodes; ++local) {
            all.emplace_back(static_cast<std::size_t>(node) *
                                 static_cast<std::size_t>(gpus_per_node) +
                             static_cast<std::size_t>(local));
        }
    }
    return all;
}

tl::expected<CollectiveCase, NotMapped> collective_case(const Row& row) {
    CollectiveCase out;
    const std::string_view name = row.text("gpu");
    const auto gpu = known_gpu(name);
    if (!gpu) {
        return refuse(name.empty() ? "it names no GPU" : fmt::format("GPU '{}' has no file", name));
    }
    out.gpu = gpu->file;
    if (!gpu->assumption.empty()) {
        out.assumptions.push_back(fmt::format("gpu '{}': {}", name, gpu->assumption));
    }
    const std::string word =
        plain_word(row.has("collective") ? row.text("collective") : "all_reduce");
    const auto known =
        std::find_if(kCollectives.begin(), kCollectives.end(), [&](const CollectiveWord& c) {
            return plain_word(c.word) == word;
        });
    if (known == kCollectives.end()) {
        return refuse(fmt::format("'{}' is not a collective that is modelled alone", word), true);
    }
    out.gpus = row.whole("n_gpus").value_or(0);
    out.nodes = row.whole("n_nodes").value_or(1);
    if (out.gpus < 2 || out.nodes < 1 || out.gpus % out.nodes != 0) {
        return refuse("it does not state the GPUs, or not as many on every node");
    }
    const auto bytes = row.number("message_bytes");
    out.time_s = row.number("time_us").value_or(0) * 1e-6;
    if (!bytes || *bytes < 1 || *bytes > 1e15 || out.time_s <= 0) {
        return refuse("it states no size or no time");
    }
    out.call = {known->kind, GroupRole::World, Bytes(static_cast<std::int64_t>(*bytes))};
    out.gpus_per_node =
        std::max(out.gpus / out.nodes, row.whole("gpus_per_node").value_or(out.gpus / out.nodes));
    out.group = fmt::format(
        "{} {}, {}", known->name, out.nodes == 1 ? "in a node" : "across nodes", size_band(*bytes));
    const RowMachine machine =
        machine_of(row, *gpu, out.nodes * out.gpus_per_node, out.gpus_per_node, out.assumptions);
    out.scenario = fmt::format(
        "schema: memwall/scenario/1\nname: row\n{}workload:\n  model: gpt2\n  sequence: 1024\n"
        "batch: {{global: {}, micro: 1}}\nparallel:\n  dp: {}\nstack: pytorch-ddp-2024\n",
        machine.text,
        out.nodes * out.gpus_per_node,
        out.nodes * out.gpus_per_node);
    return out;
}

}  // namespace memwall
