#include "sim/parallel/chunk.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/parallel/slots.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

std::string range_name(const Chunk& chunk, std::size_t begin, std::size_t end) {
    const std::string& first = chunk.units[begin].owner;
    return end - begin == 1 ? first : fmt::format("{}..{}", first, chunk.units[end - 1].owner);
}

std::vector<std::int64_t> cache_key(const Chunk& chunk, const SegmentRequest& request) {
    std::vector<std::int64_t> key = {chunk.key_number,
                                     request.backward ? 1 : 0,
                                     static_cast<std::int64_t>(request.begin),
                                     static_cast<std::int64_t>(request.end),
                                     -1};
    key.insert(key.end(), request.entry.begin(), request.entry.end());
    for (const UnitMemory& memory : request.memory) {
        key.insert(key.end(),
                   {-2,
                    static_cast<std::int64_t>(memory.unit),
                    memory.after ? 1 : 0,
                    memory.event.tensor,
                    memory.event.bytes,
                    static_cast<std::int64_t>(memory.event.memory)});
    }
    return key;
}

bool has_ops(const Chunk& chunk, const SegmentRequest& request) {
    return std::any_of(
        chunk.units.begin() + static_cast<std::ptrdiff_t>(request.begin),
        chunk.units.begin() + static_cast<std::ptrdiff_t>(request.end),
        [&](const Unit& unit) {
            const LayerPasses& passes = *unit.passes;
            return !(request.backward ? passes.backward : passes.forward).ops.empty();
        });
}

std::vector<Item> build_segment(Lowering& lowering,
                                const Chunk& chunk,
                                const SegmentRequest& request) {
    const bool enters = request.backward ? request.end == chunk.units.size() : request.begin == 0;
    const bool receives = enters && (request.backward ? !chunk.last : !chunk.first);
    std::vector<std::uint16_t> waits = request.entry;
    if (enters) {
        const auto& p2p = request.backward ? lowering.backward_entry : lowering.forward_entry;
        waits.insert(waits.end(), p2p.begin(), p2p.end());
    }
    SegmentBuilder builder(lowering.programs, lowering.policy, waits);
    if (receives && lowering.gather_boundary) {
        builder.add_collective(
            {.kind = CollectiveKind::AllGather,
             .role = GroupRole::Tp,
             .bytes = lowering.boundary_bytes()},
            request.backward ? "gather received gradient" : "gather received activation");
    }
    const auto move_memory = [&](std::size_t unit, bool after) {
        for (const UnitMemory& memory : request.memory) {
            if (memory.unit == unit && memory.after == after) {
                builder.add_memory(memory.event);
            }
        }
    };
    for (std::size_t k = request.begin; k < request.end; ++k) {
        const std::size_t i = request.backward ? request.end - 1 - (k - request.begin) : k;
        const Unit& unit = chunk.units[i];
        move_memory(i, false);
        builder.add(*unit.layer,
                    request.backward ? unit.passes->backward : unit.passes->forward,
                    unit.owner,
                    unit.position);
        move_memory(i, true);
    }
    return builder.finish(fmt::format("{} {}",
                                      request.backward ? "backward" : "forward",
                                      range_name(chunk, request.begin, request.end)),
                          request.backward);
}

}  // namespace

std::int64_t Lowering::gathered_bytes(const Unit& unit) const {
    const double each = gathered_bytes_per_parameter(precision);
    const int shard = job.degrees.shard;
    const std::int64_t low = job.stack.kernels.quantised_gather ? unit.quantised : 0;
    const double of_low = bytes_per_element(recipe_dtype(job.training.recipe, Dtype::Fp8));
    return std::llround(static_cast<double>(padded(unit.parameters.all() - low, shard)) * each) +
           std::llround(static_cast<double>(padded(low, shard)) * of_low);
}

std::vector<RankParameters> Stage::units() const {
    std::vector<RankParameters> result;
    for (const Chunk& chunk : chunks) {
        for (const Unit& unit : chunk.units) {
            result.push_back(unit.parameters);
        }
    }
    return result;
}

void number_keys(Lowering& lowering, Stage& stage) {
    for (Chunk& chunk : stage.chunks) {
        const auto next = static_cast<std::int64_t>(lowering.chunk_keys.size());
        chunk.key_number = lowering.chunk_keys.try_emplace(chunk.key, next).first->second;
    }
}

void append_segment(Lowering& lowering,
                    const Chunk& chunk,
                    const SegmentRequest& request,
                    Items& items) {
    MW_CHECK(request.begin < request.end, "a segment of no units");
    MW_CHECK(request.end <= chunk.units.size(), "a segment beyond its chunk");
    if (!has_ops(chunk, request)) {
        std::vector<MemoryEvent> memory;
        memory.reserve(request.memory.size());
        for (const UnitMemory& moved : request.memory) {
            memory.push_back(moved.event);
        }
        items.push_back(memory_item(lowering, "nothing to run", memory, true));
        return;
    }
    std::vector<std::int64_t> key = cache_key(chunk, request);
    auto known = lowering.segments.find(key);
    if (known == lowering.segments.end()) {
        known = lowering.segments.emplace(std::move(key), build_segment(lowering, chunk, request))
                    .first;
    }
    for (const Item& item : known->second) {
        items.push_back({.item = item, .of_pass = true});
    }
}

Items segment_items(Lowering& lowering, const Chunk& chunk, const SegmentRequest& request) {
    Items items;
    append_segment(lowering, chunk, request, items);
    return items;
}

PlannedItem memory_item(Lowering& lowering,
                        const char* label,
                        std::span<const MemoryEvent> memory,
                        bool of_pass) {
    Op op;
    op.kind = OpKind::HostWork;
    op.category = Category::None;
    op.label = lowering.programs.label(label);
    return {.item = lowering.programs.op_item(op, memory), .of_pass = of_pass};
}

Op after_segment(const Lowering& lowering,
                 Stream stream,
                 Category category,
                 std::uint16_t records) {
    Op op;
    op.stream = stream;
    op.category = category;
    op.records = records;
    add_wait(op, kSlotCompute);
    if (lowering.policy.tensor_parallel) {
        add_wait(op, kSlotTp);
    }
    return op;
}

}  // namespace memwall
