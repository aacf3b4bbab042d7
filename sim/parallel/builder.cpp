#include "sim/parallel/builder.h"

#include <algorithm>

#include "sim/core/check.h"

namespace memwall {
namespace {

template <class Key, class Value>
std::uint32_t intern(std::map<Key, std::uint32_t>& index,
                     std::vector<Value>& values,
                     const Key& key,
                     const Value& value) {
    const auto [place, added] = index.try_emplace(key, static_cast<std::uint32_t>(values.size()));
    if (added) {
        values.push_back(value);
    }
    return place->second;
}

}  // namespace

std::uint32_t ProgramBuilder::kernel(const Kernel& kernel) {
    return intern(kernels_, set_.kernels, kernel, kernel);
}

std::uint32_t ProgramBuilder::collective(const CollectiveCall& call) {
    return intern(collectives_, set_.collectives, call, call);
}

std::uint32_t ProgramBuilder::exchange(const Exchange& exchange) {
    MW_CHECK(!exchange.transfers.empty(), "an exchange without transfers");
    return intern(exchanges_, set_.exchanges, exchange.transfers, exchange);
}

std::uint32_t ProgramBuilder::label(const std::string& text) {
    return intern(labels_, set_.labels, text, text);
}

std::uint32_t ProgramBuilder::tensor(const std::string& owner,
                                     int position,
                                     std::uint32_t index,
                                     const std::string& name) {
    return intern(tensors_, set_.tensors, std::tuple(owner, position, index), name);
}

std::uint32_t ProgramBuilder::segment(Segment segment) {
    for (const Op& op : segment.ops) {
        for (const std::uint16_t slot : op.waits) {
            use_slot(slot);
        }
        use_slot(op.records);
    }
    set_.segments.push_back(std::move(segment));
    return static_cast<std::uint32_t>(set_.segments.size() - 1);
}

Item ProgramBuilder::segment_item(std::uint32_t segment, bool backward) const {
    Item item;
    item.kind = Item::Kind::Segment;
    item.index = segment;
    item.backward = backward;
    return item;
}

Item ProgramBuilder::op_item(const Op& op, std::span<const MemoryEvent> memory) {
    for (const std::uint16_t slot : op.waits) {
        use_slot(slot);
    }
    use_slot(op.records);
    Item item;
    item.kind = Item::Kind::Op;
    item.index = static_cast<std::uint32_t>(set_.ops.size());
    set_.ops.push_back(op);
    item.memory_begin = static_cast<std::uint32_t>(set_.memory.size());
    set_.memory.insert(set_.memory.end(), memory.begin(), memory.end());
    item.memory_end = static_cast<std::uint32_t>(set_.memory.size());
    return item;
}

std::size_t ProgramBuilder::program(Program program) {
    set_.programs.push_back(std::move(program));
    return set_.programs.size() - 1;
}

void ProgramBuilder::use_slot(std::uint16_t slot) {
    if (slot != kNoSlot) {
        set_.slots = std::max(set_.slots, static_cast<std::uint16_t>(slot + 1));
    }
}

ProgramSet ProgramBuilder::take() {
    return std::move(set_);
}

void add_wait(Op& op, std::uint16_t slot) {
    if (slot == kNoSlot) {
        return;
    }
    for (std::uint16_t& wait : op.waits) {
        if (wait == slot) {
            return;
        }
        if (wait == kNoSlot) {
            wait = slot;
            return;
        }
    }
    bug(__FILE__, __LINE__, "an op that waits for more slots than it can name");
}

}  // namespace memwall
