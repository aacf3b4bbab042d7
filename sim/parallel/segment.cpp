#include "sim/parallel/segment.h"

#include <algorithm>
#include <utility>

#include "sim/core/check.h"
#include "sim/parallel/slots.h"

namespace memwall {

SegmentBuilder::SegmentBuilder(ProgramBuilder& programs,
                               const SegmentPolicy& policy,
                               std::span<const std::uint16_t> entry)
    : programs_(programs),
      policy_(policy),
      entry_(entry.begin(), entry.end()),
      wait_tp_(policy.tensor_parallel) {}  // the segment before may have ended on the Tp stream

void SegmentBuilder::add(const RankLayer& layer,
                         const LayerPass& pass,
                         const std::string& owner,
                         int position) {
    std::size_t next = 0;
    const auto move_memory = [&](std::size_t before_op) {
        for (; next < pass.memory.size() && pass.memory[next].before_op <= before_op; ++next) {
            const TensorEvent& event = pass.memory[next];
            add_memory(
                {.memory = event.memory,
                 .bytes = event.bytes,
                 .tensor = programs_.tensor(layer.kind,
                                            position,
                                            event.tensor,
                                            owner + ' ' + layer.tensors[event.tensor].name)});
        }
    };
    const bool forward = !pass.ops.empty() && pass.ops[0].forward_list && !pass.ops[0].replay;
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        move_memory(i);
        const PassOp& op = pass.ops[i];
        add_op(op.forward_list ? layer.forward[op.op] : layer.backward[op.op], op, owner);
        if (i == 0 && forward && layer.kind == "head") {
            segment_.ops.back().host += policy_.head;
        }
    }
    move_memory(pass.ops.size());
}

void SegmentBuilder::add_op(const RankOp& op, const PassOp& pass_op, const std::string& owner) {
    Op result;
    result.label = programs_.label(owner + ' ' + op.name);
    if (op.collective && op.collective->role == GroupRole::Cp) {
        result.work = programs_.collective(*op.collective);
        push_exchange(result, op);
        return;
    }
    if (op.collective) {
        const bool may_overlap = policy_.overlap_input_gradient && !pass_op.forward_list;
        const bool beside_weights = may_overlap && (op.boundary == BoundaryKind::GatherAgain ||
                                                    op.boundary == BoundaryKind::ColumnInput);
        if (policy_.pipelined_parts > 1 && !beside_weights) {
            const bool done = op.collective->kind == CollectiveKind::AllGather
                                  ? push_gather_in_parts(result, *op.collective)
                                  : op.collective->kind == CollectiveKind::ReduceScatter &&
                                        push_scatter_in_parts(result, *op.collective);
            if (done) {
                return;
            }
        }
        result.work = programs_.collective(*op.collective);
        push_collective(result,
                        may_overlap && op.boundary == BoundaryKind::GatherAgain,
                        may_overlap && op.boundary == BoundaryKind::ColumnInput);
        return;
    }
    result.kind = OpKind::Compute;
    result.stream = Stream::Compute;
    result.category = pass_op.replay ? Category::Recompute : Category::Compute;
    result.work = programs_.kernel(op.kernel);
    const Duration launch = pass_op.replay         ? policy_.recompute_launch
                            : pass_op.forward_list ? policy_.kernel_launch
                                                   : policy_.backward_launch;
    result.host = launch * op.launches;
    if (op.context_wait >= 0) {
        close_segment();
        add_wait(result, static_cast<std::uint16_t>(kSlotContext + op.context_wait));
    }
    push_kernel(result, op.pass);
}

void SegmentBuilder::add_collective(const CollectiveCall& call, const std::string& name) {
    Op op;
    op.label = programs_.label(name);
    op.work = programs_.collective(call);
    push_collective(op, false, false);
}

void SegmentBuilder::add_memory(const MemoryEvent& event) {
    MemoryEvent placed = event;
    placed.before_op = static_cast<std::uint32_t>(segment_.ops.size());
    segment_.memory.push_back(placed);
}

void SegmentBuilder::push_collective(Op op, bool gather_again, bool reduce_input) {
    MW_CHECK(policy_.tensor_parallel, "a tensor-parallel collective at tp 1");
    op.kind = OpKind::Collective;
    op.stream = Stream::Tp;
    op.category = Category::TpComm;
    op.host = policy_.collective_launch;
    op.records = gather_again ? kSlotTpGather : kSlotTp;
    add_wait(op, kSlotCompute);
    if (segment_.ops.empty()) {
        for (const std::uint16_t slot : entry_) {
            add_wait(op, slot);
        }
    }
    if (last_kernel_ >= 0) {
        segment_.ops[static_cast<std::size_t>(last_kernel_)].records = kSlotCompute;
    }
    if (gather_again) {
        wait_gather_ = true;
    } else if (reduce_input) {
        wait_reduce_ = true;
    } else {
        wait_tp_ = true;
    }
    segment_.ops.push_back(op);
}

void SegmentBuilder::push_exchange(Op op, const RankOp& exchange) {
    close_segment();
    op.kind = OpKind::Collective;
    op.stream = Stream::Cp;
    op.category = Category::CpComm;
    op.host = policy_.exchange_launch;
    op.records = static_cast<std::uint16_t>(kSlotContext + exchange.context_event);
    if (exchange.after_kernels) {
        add_wait(op, kSlotCompute);
    }
    for (const std::uint16_t slot : entry_) {
        add_wait(op, slot);
    }
    parts_.push_back({.segment = std::exchange(segment_, {}), .exchange = op});
}

// What follows is a segment of its own: only its first op may wait for the outside, so what is still to be waited for is
// waited for there.
void SegmentBuilder::close_segment() {
    if (segment_.ops.empty()) {
        return;
    }
    if (last_kernel_ >= 0) {
        segment_.ops[static_cast<std::size_t>(last_kernel_)].records = kSlotCompute;
        entry_.clear();
    }
    last_kernel_ = -1;
    wait_tp_ = wait_tp_ || wait_reduce_;
    wait_reduce_ = false;
    parts_.push_back({.segment = std::exchange(segment_, {}), .exchange = {}});
}

namespace {

// One of `parts`, and the others.
std::pair<CollectiveCall, CollectiveCall> in_parts(const CollectiveCall& call, int parts) {
    CollectiveCall one = call;
    one.bytes = Bytes((call.bytes.value + parts - 1) / parts);
    CollectiveCall others = call;
    others.bytes = Bytes(call.bytes.value - one.bytes.value);
    return {one, others};
}

}  // namespace

bool SegmentBuilder::push_gather_in_parts(Op op, const CollectiveCall& call) {
    const auto [first, others] = in_parts(call, policy_.pipelined_parts);
    Op rest = op;
    op.work = programs_.collective(first);
    push_collective(op, false, false);
    rest.kind = OpKind::Collective;
    rest.stream = Stream::Tp;
    rest.category = Category::TpComm;
    rest.host = policy_.collective_launch;
    rest.work = programs_.collective(others);
    rest.records = kSlotTp;
    rest_ = rest;
    return true;
}

bool SegmentBuilder::push_scatter_in_parts(Op op, const CollectiveCall& call) {
    // The product is the last op, a kernel before it has ended when the product begins, and neither waits for a transfer.
    const auto product = static_cast<std::size_t>(last_kernel_);
    if (last_kernel_ < 1 || product + 1 != segment_.ops.size() || wait_tp_ || wait_reduce_) {
        return false;
    }
    const Op& kernel = segment_.ops[product];
    Op& before = segment_.ops[product - 1];
    const bool waits =
        std::find(kernel.waits.begin(), kernel.waits.end(), kSlotTp) != kernel.waits.end() ||
        std::find(kernel.waits.begin(), kernel.waits.end(), kSlotTpGather) != kernel.waits.end();
    if (waits || before.stream != Stream::Compute) {
        return false;
    }
    const auto [last, others] = in_parts(call, policy_.pipelined_parts);
    before.records = kSlotCompute;
    Op rest = op;
    rest.kind = OpKind::Collective;
    rest.stream = Stream::Tp;
    rest.category = Category::TpComm;
    rest.host = policy_.collective_launch;
    rest.work = programs_.collective(others);
    add_wait(rest, kSlotCompute);
    segment_.ops.insert(segment_.ops.begin() + last_kernel_, rest);
    ++last_kernel_;
    for (MemoryEvent& event : segment_.memory) {
        event.before_op += event.before_op > product ? 1 : 0;
    }
    op.work = programs_.collective(last);
    push_collective(op, false, false);
    return true;
}

void SegmentBuilder::push_kernel(Op op, Pass pass) {
    const bool first = last_kernel_ < 0;
    if (first) {
        for (const std::uint16_t slot : entry_) {
            add_wait(op, slot);
        }
    }
    if (wait_tp_ || (wait_reduce_ && pass != Pass::WeightGradient)) {
        add_wait(op, kSlotTp);
        wait_tp_ = false;
        wait_reduce_ = false;
    }
    if (wait_gather_ && (pass != Pass::InputGradient || (first && !parts_.empty()))) {
        add_wait(op, kSlotTpGather);
        wait_gather_ = false;
    }
    last_kernel_ = static_cast<std::ptrdiff_t>(segment_.ops.size());
    segment_.ops.push_back(op);
    if (rest_) {
        segment_.ops.push_back(*std::exchange(rest_, {}));
        wait_tp_ = true;
    }
}

std::vector<Item> SegmentBuilder::finish(const std::string& name, bool backward) {
    MW_CHECK(!segment_.ops.empty(), "a segment without ops: " + name);
    close_segment();
    std::vector<Item> items;
    for (Part& part : parts_) {
        if (part.exchange) {
            items.push_back(programs_.op_item(*part.exchange, part.segment.memory));
            continue;
        }
        part.segment.name = name;
        items.push_back(
            programs_.segment_item(programs_.segment(std::move(part.segment)), backward));
    }
    return items;
}

}  // namespace memwall
