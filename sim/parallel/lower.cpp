#include "sim/parallel/lower.h"

#include <array>
#include <deque>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/parallel/chunk.h"
#include "sim/parallel/optimizer.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/resident.h"
#include "sim/parallel/slots.h"
#include "sim/parallel/strategy.h"

namespace memwall {
namespace {

// Layer kinds as one rank runs them, with and without recomputation.
struct RankKind {
    RankLayer layer;
    RankParameters parameters;
    LayerPasses kept;
    LayerPasses recomputed;
};

// Each direction on its own stream; nothing waits for a send, and a receive waits for nothing: its buffer is ready.
void single_message(const PipelineAction& action, Op& op) {
    op.records = kNoSlot;
    if (action.send_next) {
        op.stream = Stream::PpSendNext;
    } else if (action.send_prev) {
        op.stream = Stream::PpSendPrev;
    } else {
        op.stream = action.recv_prev ? Stream::PpRecvPrev : Stream::PpRecvNext;
        op.records = action.recv_prev ? kSlotRecvPrev : kSlotRecvNext;
        op.waits = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
    }
}

class Lowerer {
  public:
    Lowerer(const Job& job, const WorkloadTrace& trace)
        : job_(job),
          trace_(trace),
          shape_{
              .p = job.degrees.pp, .v = job.degrees.vpp, .m = static_cast<int>(job.micro_batches)},
          single_(single_messages(job.parallel.schedule, shape_, job.stack.overlap.p2p)),
          lowering_(job, trace, programs_) {
        check();
        prepare();
    }

    ProgramSet run() {
        for (int stage = 0; stage < shape_.p; ++stage) {
            programs_.program(lower_stage(make_stage(stage)));
        }
        return programs_.take();
    }

  private:
    void check() const;
    void prepare();
    [[nodiscard]] Stage make_stage(int index) const;
    [[nodiscard]] Chunk make_chunk(int stage, int index) const;
    [[nodiscard]] Unit make_unit(std::uint32_t kind, bool recompute) const;
    Program lower_stage(const Stage& stage);
    void append_step(const Items& items, Program& program);
    void append_pass(const Items& items, const Slot& slot, Program& program);
    Item exchange_item(int stage, const PipelineAction& action);

    const Job& job_;
    const WorkloadTrace& trace_;
    PipelineShape shape_;
    bool single_;
    ProgramBuilder programs_;
    Lowering lowering_;
    std::deque<RankKind> kinds_;
};

void Lowerer::check() const {
    const Degrees& d = job_.degrees;
    MW_CHECK(d.cp == 1, "lowering of context parallelism");
    MW_CHECK(d.ep == 1, "lowering of expert parallelism");
    MW_CHECK(job_.micro_batches >= 1, "a step without micro-batches");
    MW_CHECK(d.pp >= 1 && d.vpp >= 1 && d.tp >= 1 && d.dp >= 1, "degrees must be known");
    MW_CHECK(d.pp > 1 || d.vpp == 1, "model chunks without a pipeline");
    MW_CHECK(static_cast<int>(job_.stages.size()) == d.pp, "one layout per stage");
    for (const auto& chunks : job_.stages) {
        MW_CHECK(static_cast<int>(chunks.size()) == d.vpp, "one layout per chunk");
    }
    if (shards_optimizer(job_.parallel.sharding.kind)) {
        MW_CHECK(d.shard >= 1 && d.shard * d.replicate == d.dp * d.cp,
                 "shard x replicate must be dp x cp");
    }
}

void Lowerer::prepare() {
    const Degrees& d = job_.degrees;
    const TensorParallel tensor{.tp = d.tp,
                                .sequence_parallel = job_.parallel.sequence_parallel && d.tp > 1};
    const RecomputePolicy policy{.kind = job_.training.recompute,
                                 .modules = job_.training.recompute_modules};
    for (const LayerTrace& trace : trace_.kinds) {
        RankKind& kind = kinds_.emplace_back();
        kind.layer = shard_layer(trace, tensor);
        kind.parameters = rank_parameters(trace, d.tp);
        kind.kept = layer_passes(kind.layer, {});
        kind.recomputed = layer_passes(kind.layer, policy);
    }
    lowering_.policy = {.kernel_launch = job_.stack.host.kernel_launch,
                        .collective_launch = job_.stack.host.collective_launch,
                        .tensor_parallel = d.tp > 1,
                        .overlap_input_gradient = job_.stack.overlap.tp_backward_all_reduce};
    lowering_.boundary = trace_.boundary_bytes;
    lowering_.gather_boundary =
        job_.stack.overlap.p2p_scatter_gather && d.tp > 1 && !tensor.sequence_parallel && d.pp > 1;
    if (d.pp > 1) {
        if (single_) {
            lowering_.forward_entry = {kSlotRecvPrev};
            lowering_.backward_entry = {kSlotRecvNext};
        } else if (job_.stack.overlap.p2p != P2pKind::Blocking) {
            lowering_.forward_entry = {kSlotExchange};
            lowering_.backward_entry = {kSlotExchange};
        }
    }
}

Unit Lowerer::make_unit(std::uint32_t kind, bool recompute) const {
    MW_CHECK(kind < kinds_.size(), "a layer kind outside the trace");
    const RankKind& k = kinds_[kind];
    Unit unit;
    unit.layer = &k.layer;
    unit.passes = recompute ? &k.recomputed : &k.kept;
    unit.parameters = k.parameters;
    return unit;
}

Chunk Lowerer::make_chunk(int stage, int index) const {
    const ChunkLayout& layout =
        job_.stages[static_cast<std::size_t>(stage)][static_cast<std::size_t>(index)];
    MW_CHECK(layout.layers > 0 || layout.embedding || layout.head, "an empty chunk");
    Chunk chunk;
    chunk.stage = stage;
    chunk.index = index;
    chunk.first = stage == 0 && index == 0;
    chunk.last = stage == shape_.p - 1 && index == shape_.v - 1;
    const int recomputed = job_.training.recompute_layers.value_or(layout.layers);
    if (layout.embedding) {
        Unit unit = make_unit(trace_.embedding, false);
        unit.owner = "embedding";
        unit.position = -1;
        unit.block = false;
        chunk.units.push_back(std::move(unit));
    }
    chunk.key = {
        layout.embedding ? 1 : 0, layout.head ? 1 : 0, chunk.first ? 1 : 0, chunk.last ? 1 : 0};
    for (int i = 0; i < layout.layers; ++i) {
        const std::uint32_t kind =
            trace_.layers.at(static_cast<std::size_t>(layout.first_layer + i));
        Unit unit = make_unit(kind, i < recomputed);
        unit.owner = fmt::format("L{}", i);
        unit.position = i;
        chunk.units.push_back(std::move(unit));
        chunk.key.insert(chunk.key.end(),
                         {static_cast<std::int64_t>(kind), i < recomputed ? 1 : 0});
    }
    if (layout.head) {
        Unit unit = make_unit(trace_.head, false);
        unit.owner = "head";
        unit.position = -2;
        unit.block = false;
        if (unit.parameters.tied > 0 && holds_embedding(job_, stage)) {
            unit.parameters.trained -= unit.parameters.tied;  // the table of this very stage
            unit.parameters.tied = 0;
        }
        chunk.units.push_back(std::move(unit));
    }
    return chunk;
}

Stage Lowerer::make_stage(int index) const {
    Stage stage;
    stage.index = index;
    const std::int64_t tied_output = kinds_[trace_.head].parameters.tied;
    for (int chunk = 0; chunk < shape_.v; ++chunk) {
        stage.chunks.push_back(make_chunk(index, chunk));
        for (const Unit& unit : stage.chunks.back().units) {
            stage.trained += unit.parameters.trained;
        }
    }
    const bool embedding = holds_embedding(job_, index);
    const bool head = holds_head(job_, index);
    stage.tied_copy = embedding != head ? tied_output : 0;
    return stage;
}

void Lowerer::append_step(const Items& items, Program& program) {
    for (const PlannedItem& planned : items) {
        program.items.push_back(planned.item);
    }
}

void Lowerer::append_pass(const Items& items, const Slot& slot, Program& program) {
    for (const PlannedItem& planned : items) {
        Item item = planned.item;
        if (planned.of_pass) {
            item.micro_batch = slot.micro_batch;
            item.chunk = static_cast<std::int16_t>(slot.chunk);
            item.backward = slot.backward;
        }
        program.items.push_back(item);
    }
}

Item Lowerer::exchange_item(int stage, const PipelineAction& action) {
    const int next = (stage + 1) % shape_.p;
    const int previous = (stage + shape_.p - 1) % shape_.p;
    const bool divided = job_.degrees.tp > 1 &&
                         (job_.parallel.sequence_parallel || job_.stack.overlap.p2p_scatter_gather);
    const std::int64_t parts = divided ? job_.degrees.tp : 1;
    const Bytes bytes((trace_.boundary_bytes.value + parts - 1) / parts);
    Exchange exchange;
    const auto add = [&](bool present, bool send, int peer, std::uint8_t channel) {
        if (present) {
            exchange.transfers.push_back(
                {.send = send, .stage = peer, .channel = channel, .bytes = bytes});
        }
    };
    add(action.send_next, true, next, 0);
    add(action.recv_prev, false, previous, 0);
    add(action.send_prev, true, previous, 1);
    add(action.recv_next, false, next, 1);
    Op op = after_segment(lowering_, Stream::PpSendNext, Category::PpComm, kSlotExchange);
    op.kind = OpKind::Exchange;
    op.host = job_.stack.host.collective_launch;
    op.work = programs_.exchange(exchange);
    op.label =
        programs_.label(action.send_next || action.send_prev
                            ? (action.recv_prev || action.recv_next ? "send and receive" : "send")
                            : "receive");
    if (single_) {
        single_message(action, op);
    } else if (job_.stack.overlap.p2p == P2pKind::Blocking) {
        op.stream = Stream::Compute;
        op.records = kSlotCompute;
    }
    return programs_.op_item(op);
}

Program Lowerer::lower_stage(const Stage& stage) {
    const Strategy& strategy = strategy_entry(job_.parallel.sharding.kind);
    Program program;
    program.stage = stage.index;
    describe_resident(lowering_, stage, program);

    const auto host_op = [&](OpKind kind, Duration host, const char* label) {
        Op op;
        op.kind = kind;
        op.category = Category::None;
        op.host = host;
        op.label = programs_.label(label);
        return programs_.op_item(op);
    };
    if (job_.stack.host.step.count() > 0) {
        program.items.push_back(host_op(OpKind::HostWork, job_.stack.host.step, "begin step"));
    }
    append_step(strategy.begin_step(lowering_, stage), program);

    // Plans of each (chunk, direction, place of the micro-batch in the step), made once.
    struct Plans {
        std::array<Items, 4> of_micro_batch;  // middle, first, last, first and last
    };
    std::vector<std::array<Plans, 2>> plans(stage.chunks.size());
    for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
        for (std::size_t place = 0; place < 4; ++place) {
            const MicroBatch mb{.first = (place & 1U) != 0, .last = (place & 2U) != 0};
            if ((shape_.m == 1) != (place == 3) || (shape_.m == 2 && place == 0)) {
                continue;  // no such micro-batch
            }
            plans[c][0].of_micro_batch[place] =
                strategy.forward(lowering_, stage, stage.chunks[c], mb);
            plans[c][1].of_micro_batch[place] =
                strategy.backward(lowering_, stage, stage.chunks[c], mb);
        }
    }

    const bool drains = job_.stack.host.drain_each_micro_batch;
    const bool paced = drains || job_.stack.host.micro_batch.count() > 0;
    const Item pace = paced ? host_op(drains ? OpKind::Drain : OpKind::HostWork,
                                      job_.stack.host.micro_batch,
                                      "begin micro-batch")
                            : Item{};
    std::map<unsigned, Item> exchanges;
    for (const PipelineAction& action :
         pipeline_actions(job_.parallel.schedule, shape_, stage.index, job_.stack.overlap.p2p)) {
        if (action.kind == PipelineAction::Kind::Exchange) {
            const unsigned mask = (action.send_next ? 1U : 0U) | (action.recv_prev ? 2U : 0U) |
                                  (action.send_prev ? 4U : 0U) | (action.recv_next ? 8U : 0U);
            auto known = exchanges.find(mask);
            if (known == exchanges.end()) {
                known = exchanges.emplace(mask, exchange_item(stage.index, action)).first;
            }
            Item item = known->second;
            item.micro_batch = action.slot.micro_batch;
            item.chunk = static_cast<std::int16_t>(action.slot.chunk);
            item.backward = action.slot.backward;
            program.items.push_back(item);
            continue;
        }
        if (paced && !action.slot.backward && action.slot.chunk == 0) {
            Item item = pace;
            item.micro_batch = action.slot.micro_batch;
            item.chunk = 0;
            program.items.push_back(item);
        }
        const std::size_t place = (action.slot.micro_batch == 0 ? 1U : 0U) |
                                  (action.slot.micro_batch == shape_.m - 1 ? 2U : 0U);
        append_pass(plans[static_cast<std::size_t>(action.slot.chunk)][action.slot.backward ? 1 : 0]
                        .of_micro_batch[place],
                    action.slot,
                    program);
    }
    append_step(strategy.end_step(lowering_, stage), program);
    append_step(optimizer_items(lowering_, stage), program);
    append_step(strategy.after_optimizer(lowering_, stage), program);
    return program;
}

}  // namespace

TraceShape trace_shape(const Job& job) {
    const bool accumulates = !shards_gradients(job.parallel.sharding.kind);
    return {
        .micro_batch = job.batch.micro,
        .sequence = job.sequence,
        .padded_vocabulary = job.padded_vocabulary,
        .compute = job.training.precision.compute,
        .gradient_bytes =
            accumulates ? with_stack(job.training.precision, job.stack.memory).gradient_bytes : 0};
}

ProgramSet lower(const Job& job, const WorkloadTrace& trace) {
    return Lowerer(job, trace).run();
}

}  // namespace memwall
