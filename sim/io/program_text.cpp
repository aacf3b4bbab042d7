#include "sim/io/program_text.h"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/quantity.h"
#include "sim/parallel/describe.h"

namespace memwall {
namespace {

struct Line {
    const Op* op = nullptr;
    const Item* item = nullptr;
};

std::vector<Line> lines_of(const ProgramSet& set,
                           const Program& program,
                           std::size_t limit,
                           std::size_t& total) {
    std::vector<Line> lines;
    total = 0;
    const auto add = [&](const Op& op, const Item& item) {
        ++total;
        if (limit == 0 || lines.size() < limit) {
            lines.push_back({&op, &item});
        }
    };
    for (const Item& item : program.items) {
        if (item.kind == Item::Kind::Op) {
            add(set.ops[item.index], item);
            continue;
        }
        for (const Op& op : set.segments[item.index].ops) {
            add(op, item);
        }
    }
    return lines;
}

std::string work_text(const ProgramSet& set, const Op& op) {
    switch (op.kind) {
    case OpKind::Compute:
        return describe_kernel(set.kernels[op.work]);
    case OpKind::Collective:
        return describe_collective(set.collectives[op.work]);
    case OpKind::Exchange:
        return describe_exchange(set.exchanges[op.work]);
    case OpKind::HostWork:
        return "host only";
    case OpKind::Drain:
        return "the host waits for the GPU";
    }
    return "";
}

std::string waits_text(const Op& op) {
    std::string text;
    for (const std::uint16_t slot : op.waits) {
        if (slot != kNoSlot) {
            text += fmt::format("{}{}", text.empty() ? "" : ",", slot);
        }
    }
    return text;
}

}  // namespace

std::string program_text(const ProgramSet& set, const Program& program, std::size_t limit) {
    std::size_t total = 0;
    const std::vector<Line> lines = lines_of(set, program, limit, total);
    std::string text = fmt::format("stage {}: {} ops in one step, {} parameters\n",
                                   program.stage,
                                   human_count(static_cast<std::int64_t>(total)),
                                   human_count(program.parameters));
    text += fmt::format("{:>4} {:>3}  {:<20} {:<34} {:<44} {:>9}  {}\n",
                        "mb",
                        "ch",
                        "stream",
                        "op",
                        "work",
                        "host",
                        "events");
    for (const Line& line : lines) {
        const std::string waits = waits_text(*line.op);
        const std::string records =
            line.op->records == kNoSlot ? "" : fmt::format("records {}", line.op->records);
        const std::string micro_batch =
            line.item->micro_batch < 0 ? "" : std::to_string(line.item->micro_batch);
        const std::string chunk = line.item->chunk < 0 ? "" : std::to_string(line.item->chunk);
        text += fmt::format("{:>4} {:>3}  {:<20} {:<34} {:<44} {:>9}  {}{}{}\n",
                            micro_batch,
                            chunk,
                            stream_name(line.op->stream),
                            set.labels.at(line.op->label),
                            work_text(set, *line.op),
                            human(line.op->host),
                            waits.empty() ? "" : "waits " + waits,
                            waits.empty() || records.empty() ? "" : "; ",
                            records);
    }
    if (lines.size() < total) {
        text += fmt::format("... {} more; --limit 0 prints all\n",
                            human_count(static_cast<std::int64_t>(total - lines.size())));
    }
    return text;
}

std::string program_json(const ProgramSet& set, const Program& program, std::size_t limit) {
    using Json = nlohmann::ordered_json;
    std::size_t total = 0;
    Json ops = Json::array();
    for (const Line& line : lines_of(set, program, limit, total)) {
        Json waits = Json::array();
        for (const std::uint16_t slot : line.op->waits) {
            if (slot != kNoSlot) {
                waits.push_back(slot);
            }
        }
        ops.push_back({{"label", set.labels.at(line.op->label)},
                       {"stream", stream_name(line.op->stream)},
                       {"micro_batch", line.item->micro_batch},
                       {"chunk", line.item->chunk},
                       {"work", work_text(set, *line.op)},
                       {"host_s", to_seconds(line.op->host)},
                       {"waits", waits},
                       {"records", line.op->records == kNoSlot ? Json() : Json(line.op->records)}});
    }
    const Json document = {{"schema_version", "memwall/program/1"},
                           {"stage", program.stage},
                           {"parameters", program.parameters},
                           {"ops_in_step", total},
                           {"ops", ops}};
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace memwall
