#include "sim/parallel/lower.h"

#include <array>
#include <map>

#include "sim/core/check.h"
#include "sim/parallel/chunk.h"
#include "sim/parallel/optimizer.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/resident.h"
#include "sim/parallel/slots.h"
#include "sim/parallel/stage.h"
#include "sim/parallel/strategy.h"

namespace memwall {
namespace {

// Where a micro-batch stands in the step: strategies treat the first and the last one differently.
constexpr std::size_t kPlaces = 4;
std::size_t place_of(int micro_batch, int micro_batches) {
    return (micro_batch == 0 ? 1U : 0U) | (micro_batch == micro_batches - 1 ? 2U : 0U);
}

// Items of one (chunk, direction), for each place.
using PassPlans = std::array<Items, kPlaces>;

class Lowerer {
  public:
    Lowerer(const Job& job, const WorkloadTrace& trace)
        : job_(job),
          shape_{
              .p = job.degrees.pp, .v = job.degrees.vpp, .m = static_cast<int>(job.micro_batches)},
          single_(single_messages(job.parallel.schedule, shape_, job.stack.overlap.p2p)),
          lowering_(job, trace, programs_),
          stages_(job, trace) {
        prepare();
    }

    ProgramSet run() {
        for (int stage = 0; stage < shape_.p; ++stage) {
            programs_.program(lower_stage(stages_.stage(stage)));
        }
        return programs_.take();
    }

  private:
    void prepare();
    Program lower_stage(Stage stage);
    void append_pipeline(const Stage& stage, const Strategy& strategy, Program& program);
    std::vector<std::array<PassPlans, 2>> plan_passes(const Stage& stage, const Strategy& strategy);
    Item exchange_item(int stage, const PipelineAction& action);
    Item host_item(OpKind kind, Duration host, const char* label);

    const Job& job_;
    PipelineShape shape_;
    bool single_;
    ProgramBuilder programs_;
    Lowering lowering_;
    StageFactory stages_;
};

void check(const Job& job) {
    const Degrees& d = job.degrees;
    MW_CHECK(d.ep == 1, "lowering of expert parallelism");
    MW_CHECK(job.micro_batches >= 1, "a step without micro-batches");
    for (const int degree : {d.tp, d.cp, d.pp, d.vpp, d.dp}) {
        MW_CHECK(degree >= 1, "degrees must be known");
    }
    if (d.pp == 1) {
        MW_CHECK(d.vpp == 1, "model chunks without a pipeline");
    }
    MW_CHECK(static_cast<int>(job.stages.size()) == d.pp, "one layout per stage");
    for (const auto& chunks : job.stages) {
        MW_CHECK(static_cast<int>(chunks.size()) == d.vpp, "one layout per chunk");
    }
    if (shards_optimizer(job.parallel.sharding.kind)) {
        MW_CHECK(d.shard >= 1, "shard must be known");
        MW_CHECK(d.shard * d.replicate == d.dp * d.cp, "shard x replicate must be dp x cp");
    }
}

void Lowerer::prepare() {
    const TensorParallel tensor = tensor_parallel(job_);
    const bool pipeline = job_.degrees.pp > 1;
    const StackHost& host = job_.stack.host;
    const auto or_kernel = [&](Duration launch) {
        return launch > Duration{} ? launch : host.kernel_launch;
    };
    lowering_.policy = {
        .kernel_launch = host.kernel_launch,
        .recompute_launch = or_kernel(host.recompute_launch),
        .backward_launch = or_kernel(host.backward_launch),
        .collective_launch = host.collective_launch + host.collective_member * (tensor.tp - 1),
        .exchange_launch = host.collective_launch,
        .head = host.head,
        .tensor_parallel = tensor.tp > 1,
        .overlap_input_gradient = job_.stack.overlap.tp_backward_all_reduce,
        .pipelined_parts =
            job_.stack.overlap.tp_pipelined && tensor.sequence_parallel ? tensor.tp : 1};
    lowering_.gather_boundary = job_.stack.overlap.p2p_scatter_gather && tensor.tp > 1 &&
                                !tensor.sequence_parallel && pipeline;
    if (pipeline && single_) {
        lowering_.forward_entry = {kSlotRecvPrev};
        lowering_.backward_entry = {kSlotRecvNext};
    } else if (pipeline && job_.stack.overlap.p2p != P2pKind::Blocking) {
        lowering_.forward_entry = {kSlotExchange};
        lowering_.backward_entry = {kSlotExchange};
    }
}

void append_step(const Items& items, Program& program) {
    for (const PlannedItem& planned : items) {
        program.items.push_back(planned.item);
    }
}

Item in_pass(Item item, const Slot& slot) {
    item.micro_batch = slot.micro_batch;
    item.chunk = static_cast<std::int16_t>(slot.chunk);
    item.backward = slot.backward;
    return item;
}

Program Lowerer::lower_stage(Stage stage) {
    number_keys(lowering_, stage);
    const Strategy& strategy = strategy_entry(job_.parallel.sharding.kind);
    Program program;
    program.stage = stage.index;
    describe_resident(lowering_, stage, program);
    if (job_.stack.host.step.count() > 0) {
        program.items.push_back(host_item(OpKind::HostWork, job_.stack.host.step, "begin step"));
    }
    append_step(strategy.begin_step(lowering_, stage), program);
    append_pipeline(stage, strategy, program);
    append_step(strategy.end_step(lowering_, stage), program);
    append_step(optimizer_items(lowering_, stage), program);
    append_step(strategy.after_optimizer(lowering_, stage), program);
    return program;
}

void Lowerer::append_pipeline(const Stage& stage, const Strategy& strategy, Program& program) {
    const StackHost& host = job_.stack.host;
    const bool paced = host.drain_each_micro_batch || host.micro_batch.count() > 0;
    Item pace;
    if (paced) {
        const OpKind kind = host.drain_each_micro_batch ? OpKind::Drain : OpKind::HostWork;
        pace = host_item(kind, host.micro_batch, "begin micro-batch");
    }
    const std::vector<std::array<PassPlans, 2>> plans = plan_passes(stage, strategy);
    std::map<unsigned, Item> exchanges;  // by the messages they have
    for (const PipelineAction& action :
         pipeline_actions(job_.parallel.schedule, shape_, stage.index, job_.stack.overlap.p2p)) {
        const Slot& slot = action.slot;
        if (action.kind == PipelineAction::Kind::Exchange) {
            auto known = exchanges.find(action.messages());
            if (known == exchanges.end()) {
                known =
                    exchanges.emplace(action.messages(), exchange_item(stage.index, action)).first;
            }
            program.items.push_back(in_pass(known->second, slot));
            continue;
        }
        if (paced && !slot.backward && slot.chunk == 0) {
            program.items.push_back(in_pass(pace, slot));
        }
        const PassPlans& plan = plans[static_cast<std::size_t>(slot.chunk)][slot.backward ? 1 : 0];
        for (const PlannedItem& planned : plan[place_of(slot.micro_batch, shape_.m)]) {
            program.items.push_back(planned.of_pass ? in_pass(planned.item, slot) : planned.item);
        }
    }
}

std::vector<std::array<PassPlans, 2>> Lowerer::plan_passes(const Stage& stage,
                                                           const Strategy& strategy) {
    std::array<bool, kPlaces> occurs{};
    for (const int micro_batch : {0, 1, shape_.m - 1}) {
        if (micro_batch < shape_.m) {
            occurs[place_of(micro_batch, shape_.m)] = true;
        }
    }
    std::vector<std::array<PassPlans, 2>> plans(stage.chunks.size());
    for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
        for (std::size_t place = 0; place < kPlaces; ++place) {
            if (occurs[place]) {
                const MicroBatch mb{.first = (place & 1U) != 0, .last = (place & 2U) != 0};
                plans[c][0][place] = strategy.forward(lowering_, stage, stage.chunks[c], mb);
                plans[c][1][place] = strategy.backward(lowering_, stage, stage.chunks[c], mb);
            }
        }
    }
    return plans;
}

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

const char* exchange_label(const PipelineAction& action) {
    const bool sends = action.send_next || action.send_prev;
    const bool receives = action.recv_prev || action.recv_next;
    if (sends && receives) {
        return "send and receive";
    }
    return sends ? "send" : "receive";
}

Item Lowerer::exchange_item(int stage, const PipelineAction& action) {
    const int next = (stage + 1) % shape_.p;
    const int previous = (stage + shape_.p - 1) % shape_.p;
    const TensorParallel tensor = tensor_parallel(job_);
    const bool divided = tensor.sequence_parallel || lowering_.gather_boundary;
    const std::int64_t parts = divided ? tensor.tp : 1;
    const Bytes bytes((lowering_.boundary_bytes().value + parts - 1) / parts);
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
    op.label = programs_.label(exchange_label(action));
    if (single_) {
        single_message(action, op);
    } else if (job_.stack.overlap.p2p == P2pKind::Blocking) {
        op.stream = Stream::Compute;
        op.records = kSlotCompute;
    }
    return programs_.op_item(op);
}

Item Lowerer::host_item(OpKind kind, Duration host, const char* label) {
    Op op;
    op.kind = kind;
    op.category = Category::None;
    op.host = host;
    op.label = programs_.label(label);
    return programs_.op_item(op);
}

}  // namespace

TraceShape trace_shape(const Job& job) {
    const bool accumulates = !shards_gradients(job.parallel.sharding.kind);
    const Precision& precision = job.training.precision;
    return {.micro_batch = job.batch.micro,
            .sequence = job.sequence,
            .padded_vocabulary = job.padded_vocabulary,
            .compute = precision.compute,
            .recipe = job.training.recipe,
            .recipe_skips_first = job.training.recipe_skips_first,
            .recipe_skips_last = job.training.recipe_skips_last,
            .quantises_weights = shards_parameters(job.parallel.sharding.kind),
            .gradient_bytes = accumulates ? precision.gradient_bytes : 0};
}

ProgramSet lower(const Job& job, const WorkloadTrace& trace) {
    check(job);
    return Lowerer(job, trace).run();
}

}  // namespace memwall
