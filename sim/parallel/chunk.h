#pragma once
// What a pipeline stage holds, and the segments that its passes are made of. Shared by all strategies.
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/memory/states.h"
#include "sim/model/trace.h"
#include "sim/parallel/builder.h"
#include "sim/parallel/recompute.h"
#include "sim/parallel/segment.h"
#include "sim/spec/plan.h"

namespace memwall {

// A layer, the embedding or the head on one rank.
struct Unit {
    const RankLayer* layer = nullptr;
    const LayerPasses* passes = nullptr;
    std::string owner;  // "L3" (third layer of its chunk, from 0), "embedding", "head"
    int position = 0;   // layers: from 0 within the chunk; embedding -1, head -2
    RankParameters parameters;
    std::int64_t quantised = 0;  // of the parameters: weights of low-precision products
    bool block = true;           // false: embedding or head (FSDP: the root unit)
};

struct Chunk {
    int stage = 0;
    int index = 0;
    std::vector<Unit> units;  // in forward order
    bool first = false;       // of the whole pipeline: receives no activation
    bool last = false;
    // Chunks with equal keys run the same segments. A key is as long as its chunk: each segment keeps the number of the key,
    // not the key itself.
    std::vector<std::int64_t> key;
    std::int64_t key_number = 0;  // number_keys()
};

struct Stage {
    int index = 0;
    std::vector<Chunk> chunks;
    std::int64_t trained = 0;
    std::int64_t replicated = 0;  // of them: whole on every tensor-parallel rank
    std::int64_t quantised = 0;   // weights of low-precision products
    std::int64_t tied_copy = 0;   // parameters that the other end of the pipeline holds too
    [[nodiscard]] std::vector<RankParameters> units() const;
};

struct MicroBatch {
    bool first = false;  // of the step
    bool last = false;
};

// Items of a pass or of a part of the step. `of_pass` items take micro-batch and chunk of the pass they are used in; the
// others belong to the step as a whole (micro_batch = -1), and so do the tensors that they allocate.
struct PlannedItem {
    Item item;
    bool of_pass = true;
};
using Items = std::vector<PlannedItem>;

struct Lowering {
    Lowering(const Job& j, const WorkloadTrace& t, ProgramBuilder& p)
        : job(j), trace(t), programs(p), precision(j.training.precision) {}

    const Job& job;
    const WorkloadTrace& trace;
    ProgramBuilder& programs;
    const Precision& precision;
    SegmentPolicy policy;
    std::vector<std::uint16_t> forward_entry;  // slots of p2p that a pass waits for
    std::vector<std::uint16_t> backward_entry;
    bool gather_boundary = false;  // scatter/gather p2p: the receiver gathers within tp
    std::map<std::vector<std::int64_t>, std::int64_t> chunk_keys;  // seen before -> key_number
    std::map<std::vector<std::int64_t>, std::vector<Item>>
        segments;  // built before, by chunk key, range and entry

    [[nodiscard]] bool overlaps_reduction() const {
        return job.stack.overlap.gradient_reduce && job.parallel.gradients.bucket.value > 0;
    }
    // Handed from stage to stage by the ranks of one tensor-parallel group.
    [[nodiscard]] Bytes boundary_bytes() const {
        const std::int64_t cp = job.degrees.cp;
        return Bytes((trace.boundary_bytes.value + cp - 1) / cp);
    }
    // Of the parameters of a unit, padded to equal shards.
    [[nodiscard]] std::int64_t gathered_bytes(const Unit& unit) const;
    [[nodiscard]] double reduce_bytes() const {
        return bytes_per_element(job.parallel.gradients.reduce_dtype);
    }
};

// Before any of their segments is asked for.
void number_keys(Lowering& lowering, Stage& stage);

// Memory that a strategy moves when a unit of the segment begins or has ended.
struct UnitMemory {
    std::size_t unit = 0;
    bool after = false;
    MemoryEvent event;
};

// Units [begin, end) of a chunk in one pass; backward runs them in reverse order.
struct SegmentRequest {
    bool backward = false;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::vector<std::uint16_t> entry = {};  // slots to wait for beside those of the pipeline
    std::vector<UnitMemory> memory = {};
};

// A segment; several, with the exchanges of context parallelism between them, where there are such. Equal requests share
// them. Units without ops in this pass give an item without work.
void append_segment(Lowering& lowering,
                    const Chunk& chunk,
                    const SegmentRequest& request,
                    Items& items);
[[nodiscard]] Items segment_items(Lowering& lowering,
                                  const Chunk& chunk,
                                  const SegmentRequest& request);

// An op without work that carries memory events.
[[nodiscard]] PlannedItem memory_item(Lowering& lowering,
                                      const char* label,
                                      std::span<const MemoryEvent> memory,
                                      bool of_pass);

// An op that waits for everything a segment did before it.
[[nodiscard]] Op after_segment(const Lowering& lowering,
                               Stream stream,
                               Category category,
                               std::uint16_t records);

}  // namespace memwall
