// ZeRO-3 and FSDP: parameters are gathered unit by unit before use and let go after it; gradients are reduce-scattered
// unit by unit. The unit is a block; embedding and head are the root unit, gathered once per micro-batch and kept.
//   forward:  gather(i + prefetch) is issued before block i and waits for block i-1: at most prefetch + 1 blocks gathered
//   backward: the same in reverse, then reduce-scatter(i) behind block i-1 when the stack overlaps
// Without overlap of gathers the prefetch is 0: block i-1, gather(i), block i. Gathers and reductions of one process group
// share one queue. Volume per rank, S bytes of blocks: 3 (n-1)/n S with resharding after forward, 2 (n-1)/n S without.
// With reshard_after_forward off, and several micro-batches in a pipeline or without synchronisation, parameters stay
// gathered over the whole step. Without synchronisation gradients stay whole in the reduction's type until the last micro-batch.
// Source: Zhao et al., "PyTorch FSDP", VLDB 2023; pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py.
#include <cmath>

#include "sim/core/check.h"
#include "sim/parallel/reduction.h"
#include "sim/parallel/slots.h"
#include "sim/parallel/strategy.h"

namespace memwall {
namespace {

enum class Keep : std::uint8_t { Pass, MicroBatch, Step };

struct FsdpPolicy {
    int prefetch = 0;
    bool communicates = false;
    Keep blocks = Keep::Pass;  // how long a gathered block lives
    Keep root = Keep::MicroBatch;
    bool sync_every = true;
    bool blocking_reduce = false;  // compute waits for each reduction
};

FsdpPolicy policy_of(const Lowering& lowering) {
    const Sharding& sharding = lowering.job.parallel.sharding;
    const bool pipeline = lowering.job.degrees.pp > 1;
    FsdpPolicy policy;
    policy.prefetch = lowering.job.stack.overlap.parameter_gather ? sharding.prefetch : 0;
    policy.communicates = lowering.job.degrees.shard > 1;
    policy.blocking_reduce = !lowering.job.stack.overlap.gradient_reduce &&
                             lowering.job.degrees.dp * lowering.job.degrees.cp > 1;
    policy.sync_every = sharding.sync_every_micro_batch;
    const bool over_step = pipeline || !sharding.sync_every_micro_batch;
    if (!sharding.reshard_after_forward) {
        policy.blocks = over_step ? Keep::Step : Keep::MicroBatch;
    }
    // In a pipeline several micro-batches are in flight: the root is needed all the time.
    policy.root = over_step ? Keep::Step : Keep::MicroBatch;
    return policy;
}

std::uint16_t unit_slot(const FsdpPolicy& policy, std::size_t unit) {
    return static_cast<std::uint16_t>(kSlotUnit +
                                      unit % (static_cast<std::size_t>(policy.prefetch) + 1));
}

// One forward or backward pass of a chunk.
class FsdpPass {
  public:
    FsdpPass(Lowering& lowering, const Chunk& chunk, MicroBatch micro_batch)
        : lowering_(lowering),
          chunk_(chunk),
          micro_batch_(micro_batch),
          policy_(policy_of(lowering)) {
        for (std::size_t i = 0; i < chunk.units.size(); ++i) {
            if (chunk.units[i].block) {
                blocks_.push_back(i);
            } else {
                root_.push_back(i);
            }
        }
    }

    Items forward();
    Items backward();

  private:
    [[nodiscard]] bool gathers(Keep keep, bool forward) const {
        if (!policy_.communicates) {
            return false;
        }
        switch (keep) {
        case Keep::Pass:
            return true;
        case Keep::MicroBatch:
            return forward;
        case Keep::Step:
            return forward && micro_batch_.first;
        }
        return false;
    }

    [[nodiscard]] MemoryEvent event(
        const char* what, std::size_t unit, TensorClass memory, std::int64_t bytes, bool step) {
        // Tensors of the step are told apart by chunk, those of a pass by the item's chunk.
        const Unit& u = chunk_.units[unit];
        const std::string owner =
            step ? std::string(what) + " of step, chunk " + std::to_string(chunk_.index) : what;
        return {.memory = memory,
                .bytes = bytes,
                .tensor = lowering_.programs.tensor(owner, u.position, 0, u.owner + ' ' + what)};
    }
    [[nodiscard]] MemoryEvent gathered(std::size_t unit, bool allocate) {
        const std::int64_t bytes = lowering_.gathered_bytes(chunk_.units[unit]);
        const Keep keep = chunk_.units[unit].block ? policy_.blocks : policy_.root;
        return event("gathered",
                     unit,
                     TensorClass::GatheredShards,
                     allocate ? bytes : -bytes,
                     keep == Keep::Step);
    }
    [[nodiscard]] MemoryEvent gradient(std::size_t unit, bool allocate) {
        const double each = gathered_bytes_per_parameter(lowering_.precision);
        const std::int64_t bytes =
            std::llround(static_cast<double>(chunk_.units[unit].parameters.trained) * each);
        return event(
            "gradient", unit, TensorClass::GradientBuckets, allocate ? bytes : -bytes, false);
    }
    // The reduction's buffer, or the gradients accumulated whole over the step.
    [[nodiscard]] MemoryEvent wide_gradient(std::size_t unit, bool allocate, bool step) {
        const std::int64_t whole =
            padded(chunk_.units[unit].parameters.trained, lowering_.job.degrees.shard);
        const std::int64_t bytes =
            std::llround(static_cast<double>(whole) * lowering_.reduce_bytes());
        return event(step ? "accumulated gradient" : "reduce buffer",
                     unit,
                     TensorClass::GradientBuckets,
                     allocate ? bytes : -bytes,
                     step);
    }

    void gather(std::span<const std::size_t> units, std::uint16_t slot, const char* label);
    void gather_block(std::size_t k);
    void reduce(std::span<const std::size_t> units, const std::string& label);
    void backward_segment(std::size_t begin, std::size_t end, std::vector<std::uint16_t> entry);
    void backward_by_blocks(bool gathers_blocks, bool reduces);
    void allocate_accumulated();
    void end_backward();

    Lowering& lowering_;
    const Chunk& chunk_;
    MicroBatch micro_batch_;
    FsdpPolicy policy_;
    std::vector<std::size_t> blocks_;
    std::vector<std::size_t> root_;
    std::vector<MemoryEvent> release_;  // buffers that the reduction in flight reads
    Items items_;
};

void FsdpPass::gather(std::span<const std::size_t> units, std::uint16_t slot, const char* label) {
    std::int64_t bytes = 0;
    std::vector<MemoryEvent> memory;
    for (const std::size_t unit : units) {
        if (chunk_.units[unit].parameters.all() >
            0) {  // not a head that shares the embedding's table
            bytes += lowering_.gathered_bytes(chunk_.units[unit]);
            memory.push_back(gathered(unit, true));
        }
    }
    if (bytes == 0) {
        return;
    }
    const Keep keep = chunk_.units[units.front()].block ? policy_.blocks : policy_.root;
    Op op = after_segment(lowering_, Stream::Dp, Category::FsdpGather, slot);
    op.kind = OpKind::Collective;
    op.host = lowering_.job.stack.host.collective_launch;
    op.label = lowering_.programs.label(label);
    op.work = lowering_.programs.collective(
        {.kind = CollectiveKind::AllGather, .role = GroupRole::Shard, .bytes = Bytes(bytes)});
    items_.push_back(
        {.item = lowering_.programs.op_item(op, memory), .of_pass = keep != Keep::Step});
}

void FsdpPass::gather_block(std::size_t k) {
    const std::size_t unit = blocks_[k];
    gather({&unit, 1}, unit_slot(policy_, k), ("gather " + chunk_.units[unit].owner).c_str());
}

Items FsdpPass::forward() {
    const bool gathers_blocks = gathers(policy_.blocks, true);
    if (gathers(policy_.root, true) && !root_.empty()) {
        gather(root_, kSlotRoot, "gather root");
    }
    const auto prefetch = static_cast<std::size_t>(policy_.prefetch);
    if (!gathers_blocks || blocks_.empty()) {
        SegmentRequest whole{.backward = false, .begin = 0, .end = chunk_.units.size()};
        if (gathers(policy_.root, true) && !root_.empty()) {
            whole.entry = {kSlotRoot};
        }
        if (policy_.blocking_reduce) {
            whole.entry.push_back(reduction_slot(lowering_));
        }
        append_segment(lowering_, chunk_, whole, items_);
        return std::move(items_);
    }
    for (std::size_t k = 0; k < std::min(prefetch, blocks_.size()); ++k) {
        gather_block(k);
    }
    std::vector<std::uint16_t> entry;
    if (!root_.empty()) {
        entry = {kSlotRoot};
    }
    if (blocks_.front() > 0) {
        SegmentRequest embedding{.backward = false, .begin = 0, .end = blocks_.front()};
        embedding.entry = std::exchange(entry, {});
        append_segment(lowering_, chunk_, embedding, items_);
    }
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
        if (k + prefetch < blocks_.size()) {
            gather_block(k + prefetch);
        }
        const bool last = k + 1 == blocks_.size();
        SegmentRequest block{.begin = blocks_[k],
                             .end = last ? chunk_.units.size() : blocks_[k + 1]};
        block.entry = std::exchange(entry, {});
        block.entry.push_back(unit_slot(policy_, k));
        if (policy_.blocks == Keep::Pass && chunk_.units[blocks_[k]].parameters.all() > 0) {
            block.memory.push_back(
                {.unit = blocks_[k], .after = true, .event = gathered(blocks_[k], false)});
        }
        append_segment(lowering_, chunk_, block, items_);
    }
    return std::move(items_);
}

void FsdpPass::reduce(std::span<const std::size_t> units, const std::string& label) {
    std::int64_t parameters = 0;
    std::vector<MemoryEvent> memory = std::exchange(release_, {});
    for (const std::size_t unit : units) {
        if (chunk_.units[unit].parameters.trained == 0) {
            continue;
        }
        parameters += padded(chunk_.units[unit].parameters.trained, lowering_.job.degrees.shard);
        memory.push_back(wide_gradient(unit, true, false));
        memory.push_back(gradient(unit, false));
        release_.push_back(wide_gradient(unit, false, false));
    }
    append_reduction(
        lowering_,
        {.parameters = parameters, .label = label.c_str(), .category = Category::FsdpReduce},
        memory,
        items_);
}

// Gradients of the segment's units appear as they begin; a block's parameters go when it has ended.
void FsdpPass::backward_segment(std::size_t begin,
                                std::size_t end,
                                std::vector<std::uint16_t> entry) {
    const bool release_block = policy_.communicates && policy_.blocks != Keep::Step;
    SegmentRequest segment{.backward = true, .begin = begin, .end = end};
    if (policy_.blocking_reduce) {
        entry.push_back(reduction_slot(lowering_));
    }
    segment.entry = std::move(entry);
    const bool accumulates = !policy_.sync_every;
    for (std::size_t i = end; i-- > begin;) {
        const Unit& unit = chunk_.units[i];
        if (unit.parameters.trained > 0) {
            segment.memory.push_back({.unit = i, .after = false, .event = gradient(i, true)});
            if (accumulates && !micro_batch_.last) {
                segment.memory.push_back({.unit = i, .after = true, .event = gradient(i, false)});
            }
        }
        if (unit.block && release_block && unit.parameters.all() > 0) {
            segment.memory.push_back({.unit = i, .after = true, .event = gathered(i, false)});
        }
    }
    append_segment(lowering_, chunk_, segment, items_);
}

// Gradients that stay whole over the step.
void FsdpPass::allocate_accumulated() {
    std::vector<MemoryEvent> memory;
    for (std::size_t i = 0; i < chunk_.units.size(); ++i) {
        if (chunk_.units[i].parameters.trained > 0) {
            memory.push_back(wide_gradient(i, true, true));
        }
    }
    items_.push_back(memory_item(lowering_, "allocate gradients", memory, false));
}

Items FsdpPass::backward() {
    const bool gathers_blocks = gathers(policy_.blocks, false);
    const bool reduces = policy_.sync_every || micro_batch_.last;
    if (!policy_.sync_every && micro_batch_.first) {
        allocate_accumulated();
    }
    if (gathers_blocks || reduces) {
        backward_by_blocks(gathers_blocks, reduces);
    } else {
        backward_segment(0, chunk_.units.size(), {});
    }
    end_backward();
    return std::move(items_);
}

void FsdpPass::backward_by_blocks(bool gathers_blocks, bool reduces) {
    const std::size_t count = chunk_.units.size();
    const auto prefetch = static_cast<std::size_t>(policy_.prefetch);
    const std::size_t n = blocks_.size();
    for (std::size_t k = 0; gathers_blocks && k < std::min(prefetch, n); ++k) {
        gather_block(n - 1 - k);
    }
    const std::size_t head_begin = n == 0 ? 0 : blocks_.back() + 1;
    if (head_begin < count) {
        backward_segment(head_begin, count, {});
    }
    for (std::size_t k = n; k-- > 0;) {
        std::vector<std::uint16_t> entry;
        if (gathers_blocks) {
            if (k >= prefetch) {
                gather_block(k - prefetch);
            }
            entry.push_back(unit_slot(policy_, k));
        }
        backward_segment(blocks_[k], blocks_[k] + 1, entry);
        if (reduces) {
            reduce({&blocks_[k], 1}, "reduce " + chunk_.units[blocks_[k]].owner);
        }
    }
    if (n > 0 && blocks_.front() > 0) {
        backward_segment(0, blocks_.front(), {});
    }
    if (reduces && !root_.empty()) {
        reduce(root_, "reduce root");
    }
}

// Reduction buffers, root and whatever was kept for the micro-batch or the step are let go.
void FsdpPass::end_backward() {
    std::vector<MemoryEvent> pass = std::exchange(release_, {});
    std::vector<MemoryEvent> step;
    for (const std::size_t unit : root_) {
        if (policy_.communicates && chunk_.units[unit].parameters.all() > 0) {
            if (policy_.root == Keep::MicroBatch) {
                pass.push_back(gathered(unit, false));
            } else if (micro_batch_.last) {
                step.push_back(gathered(unit, false));
            }
        }
    }
    if (micro_batch_.last) {
        for (const std::size_t unit : blocks_) {
            if (policy_.communicates && policy_.blocks == Keep::Step &&
                chunk_.units[unit].parameters.all() > 0) {
                step.push_back(gathered(unit, false));
            }
        }
        for (std::size_t i = 0; i < chunk_.units.size() && !policy_.sync_every; ++i) {
            if (chunk_.units[i].parameters.trained > 0) {
                step.push_back(wide_gradient(i, false, true));
            }
        }
    }
    if (!pass.empty()) {
        items_.push_back(memory_item(lowering_, "release buffers", pass, true));
    }
    if (!step.empty()) {
        items_.push_back(memory_item(lowering_, "release parameters", step, false));
    }
}

}  // namespace

Items fsdp_forward(Lowering& lowering,
                   const Stage& /*stage*/,
                   const Chunk& chunk,
                   MicroBatch micro_batch) {
    return FsdpPass(lowering, chunk, micro_batch).forward();
}

Items fsdp_backward(Lowering& lowering,
                    const Stage& /*stage*/,
                    const Chunk& chunk,
                    MicroBatch micro_batch) {
    return FsdpPass(lowering, chunk, micro_batch).backward();
}

}  // namespace memwall
