#include "tests/parallel/fixture.h"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

namespace memwall::test {
namespace {

TraceItem item(TraceOp op) {
    return {.op = std::move(op), .boundary = std::nullopt};
}
TraceItem item(BoundaryKind kind,
               Pass pass,
               TraceModule module = TraceModule::Other,
               int calls = 1) {
    return {.op = std::nullopt,
            .boundary = TraceBoundary{.kind = kind,
                                      .pass = pass,
                                      .bytes = Bytes(kBoundary),
                                      .calls = calls,
                                      .module = module}};
}

TraceOp gemm(const char* name,
             Pass pass,
             Gemm kernel,
             KernelSplit split,
             TraceModule module = TraceModule::Other) {
    TraceOp op;
    op.name = name;
    op.pass = pass;
    op.kernel = kernel;
    op.split = split;
    op.module = module;
    return op;
}

TraceOp memory_bound(const char* name,
                     Pass pass,
                     MemoryKind kind,
                     std::int64_t bytes,
                     Split split,
                     TraceModule module) {
    TraceOp op;
    op.name = name;
    op.pass = pass;
    op.kernel = MemoryBound{.kind = kind, .bytes = Bytes(bytes)};
    op.split.bytes = split;
    op.module = module;
    return op;
}

TraceTensor tensor(const char* name,
                   std::int64_t bytes,
                   Split split,
                   bool saved,
                   TraceModule module,
                   std::int32_t last) {
    TraceTensor t;
    t.name = name;
    t.bytes = Bytes(bytes);
    t.split = split;
    t.saved = saved;
    t.module = module;
    t.last_forward_item = last;
    return t;
}

// norm -> column-parallel up -> activation -> row-parallel down.
LayerTrace tiny_layer() {
    constexpr std::int64_t kFfn = 4 * kHidden;
    LayerTrace layer;
    layer.kind = "transformer";
    layer.parameters = {
        {.name = "norm", .rows = kHidden},
        {.name = "up", .rows = kFfn, .columns = kHidden, .split = Split::Tp, .matmul = true},
        {.name = "down", .rows = kHidden, .columns = kFfn, .split = Split::Tp, .matmul = true}};
    // The second dimension of `down` is divided; the count is the same.
    layer.tensors = {
        tensor("x", kBoundary, Split::Sequence, true, TraceModule::Other, 0),
        tensor("normed", kBoundary, Split::Sequence, true, TraceModule::Norm, 2),
        tensor("u", 4 * kBoundary, Split::Tp, true, TraceModule::Mlp, 3),
        tensor("act", 4 * kBoundary, Split::Tp, true, TraceModule::Mlp, 4),
        tensor("scratch", 1000, Split::None, false, TraceModule::Mlp, -1),
        tensor("output_gradient", kBoundary, Split::Sequence, false, TraceModule::Other, -1),
        tensor("du", 4 * kBoundary, Split::Tp, false, TraceModule::Mlp, -1),
    };
    layer.tensors[0].input = true;
    const Split s = Split::Sequence;
    auto norm =
        memory_bound("norm", Pass::Forward, MemoryKind::Norm, 2 * kBoundary, s, TraceModule::Norm);
    norm.allocates = {0, 1};
    auto up = gemm("up",
                   Pass::Forward,
                   {.m = kTokens, .n = kFfn, .k = kHidden},
                   {.n = Split::Tp},
                   TraceModule::Mlp);
    up.allocates = {2};
    auto act = memory_bound(
        "act", Pass::Forward, MemoryKind::Elementwise, 8 * kBoundary, Split::Tp, TraceModule::Mlp);
    act.allocates = {3, 4};
    act.frees = {4};
    auto down = gemm("down",
                     Pass::Forward,
                     {.m = kTokens, .n = kHidden, .k = kFfn},
                     {.k = Split::Tp},
                     TraceModule::Mlp);
    layer.forward = {item(norm),
                     item(BoundaryKind::ColumnInput, Pass::Forward, TraceModule::Mlp),
                     item(up),
                     item(act),
                     item(down),
                     item(BoundaryKind::RowOutput, Pass::Forward)};

    auto ddown = gemm("down dgrad",
                      Pass::InputGradient,
                      {.m = kTokens, .n = kFfn, .k = kHidden, .role = GemmRole::InputGradient},
                      {.n = Split::Tp},
                      TraceModule::Mlp);
    ddown.allocates = {5, 6};
    auto wdown = gemm("down wgrad",
                      Pass::WeightGradient,
                      {.m = kFfn, .n = kHidden, .k = kTokens, .role = GemmRole::WeightGradient},
                      {.m = Split::Tp},
                      TraceModule::Mlp);
    wdown.frees = {3};
    auto dact = memory_bound("act backward",
                             Pass::InputGradient,
                             MemoryKind::Elementwise,
                             12 * kBoundary,
                             Split::Tp,
                             TraceModule::Mlp);
    dact.frees = {2};
    auto dup = gemm("up dgrad",
                    Pass::InputGradient,
                    {.m = kTokens, .n = kHidden, .k = kFfn, .role = GemmRole::InputGradient},
                    {.k = Split::Tp},
                    TraceModule::Mlp);
    auto wup = gemm("up wgrad",
                    Pass::WeightGradient,
                    {.m = kFfn, .n = kHidden, .k = kTokens, .role = GemmRole::WeightGradient},
                    {.m = Split::Tp},
                    TraceModule::Mlp);
    wup.frees = {1, 6};
    auto dnorm = memory_bound("norm backward",
                              Pass::InputGradient,
                              MemoryKind::NormBackward,
                              3 * kBoundary,
                              s,
                              TraceModule::Norm);
    dnorm.frees = {0, 5};
    layer.backward = {item(BoundaryKind::RowOutput, Pass::InputGradient),
                      item(ddown),
                      item(wdown),
                      item(dact),
                      item(BoundaryKind::GatherAgain, Pass::InputGradient),
                      item(dup),
                      item(BoundaryKind::ColumnInput, Pass::InputGradient),
                      item(wup),
                      item(dnorm)};
    return layer;
}

LayerTrace tiny_embedding() {
    LayerTrace layer;
    layer.kind = "embedding";
    layer.parameters = {
        {.name = "table", .rows = kVocabulary, .columns = kHidden, .split = Split::Tp}};
    layer.tensors = {tensor("ids", 8 * kTokens, Split::None, true, TraceModule::Other, 0)};
    auto lookup = memory_bound("lookup",
                               Pass::Forward,
                               MemoryKind::Embedding,
                               2 * kBoundary,
                               Split::None,
                               TraceModule::Other);
    lookup.allocates = {0};
    auto scatter = memory_bound("scatter",
                                Pass::WeightGradient,
                                MemoryKind::Embedding,
                                3 * kBoundary,
                                Split::None,
                                TraceModule::Other);
    scatter.frees = {0};
    layer.forward = {item(lookup), item(BoundaryKind::Vocabulary, Pass::Forward)};
    layer.backward = {item(BoundaryKind::Vocabulary, Pass::WeightGradient), item(scatter)};
    return layer;
}

LayerTrace tiny_head() {
    LayerTrace layer;
    layer.kind = "head";
    layer.parameters = {{.name = "output",
                         .rows = kVocabulary,
                         .columns = kHidden,
                         .split = Split::Tp,
                         .matmul = true,
                         .tied = true}};
    layer.tensors = {
        tensor("h", kBoundary, Split::Sequence, true, TraceModule::Other, 1),
        tensor("logits", 2 * kTokens * kVocabulary, Split::Tp, true, TraceModule::Loss, 2)};
    layer.tensors[1].memory = TensorClass::LogitsLoss;
    auto logits = gemm(
        "logits", Pass::Forward, {.m = kTokens, .n = kVocabulary, .k = kHidden}, {.n = Split::Tp});
    logits.allocates = {0, 1};
    auto loss = memory_bound("loss",
                             Pass::Forward,
                             MemoryKind::CrossEntropy,
                             4 * kTokens * kVocabulary,
                             Split::Tp,
                             TraceModule::Loss);
    layer.forward = {item(BoundaryKind::ColumnInput, Pass::Forward),
                     item(logits),
                     item(loss),
                     item(BoundaryKind::Loss, Pass::Forward, TraceModule::Loss, 3)};
    auto dgrad =
        gemm("logits dgrad",
             Pass::InputGradient,
             {.m = kTokens, .n = kHidden, .k = kVocabulary, .role = GemmRole::InputGradient},
             {.k = Split::Tp});
    auto wgrad =
        gemm("logits wgrad",
             Pass::WeightGradient,
             {.m = kVocabulary, .n = kHidden, .k = kTokens, .role = GemmRole::WeightGradient},
             {.m = Split::Tp});
    wgrad.frees = {0, 1};
    layer.backward = {
        item(dgrad), item(BoundaryKind::ColumnInput, Pass::InputGradient), item(wgrad)};
    return layer;
}

template <class Visit>
void for_each_op(const ProgramSet& set, const Program& program, Visit visit) {
    for (const Item& i : program.items) {
        if (i.kind == Item::Kind::Op) {
            visit(set.ops[i.index]);
            continue;
        }
        for (const Op& op : set.segments[i.index].ops) {
            visit(op);
        }
    }
}

double flops_of_items(const std::vector<TraceItem>& items) {
    double sum = 0;
    for (const TraceItem& i : items) {
        sum += i.op ? flops_of(i.op->kernel).value : 0;
    }
    return sum;
}

class MemoryWalker {
  public:
    explicit MemoryWalker(MemoryWalk& walk) : walk_(walk) {}

    void move(const MemoryEvent& event, const Item& item, const std::string& name) {
        const std::tuple key(event.tensor, item.micro_batch, item.chunk);
        const auto known = live_.find(key);
        if (event.bytes > 0) {
            if (known != live_.end()) {
                walk_.errors.push_back("allocated twice: " + name);
            }
            live_[key] = event;
        } else if (known == live_.end()) {
            walk_.errors.push_back("freed but not allocated: " + name);
        } else {
            if (known->second.bytes != -event.bytes || known->second.memory != event.memory) {
                walk_.errors.push_back("freed with another size or class: " + name);
            }
            live_.erase(known);
        }
        now_ += event.bytes;
        peak_ = std::max(peak_, now_);
    }
    [[nodiscard]] std::int64_t now() const { return now_; }
    [[nodiscard]] std::int64_t peak() const { return peak_; }

  private:
    MemoryWalk& walk_;
    std::map<std::tuple<std::uint32_t, std::int32_t, std::int16_t>, MemoryEvent> live_;
    std::int64_t now_ = 0;
    std::int64_t peak_ = 0;
};

// Nodes: begin (everything on its own rank allows it) and end of each op of two steps.
class Player {
  public:
    Player(const ProgramSet& set, std::int64_t kernel, std::int64_t transfer)
        : set_(set), kernel_(kernel), transfer_(transfer) {
        for (const Program& program : set.programs) {
            for (int step = 0; step < 2; ++step) {
                add_step(program, step);
            }
            streams_ = {};
            slots_.assign(set.slots, -1);
            drain_ = -1;
        }
        join_peers();
    }

    Play run() {
        Play play;
        std::vector<int> missing(time_.size(), 0);
        for (const auto& nexts : next_) {
            for (const auto& [to, delay] : nexts) {
                ++missing[static_cast<std::size_t>(to)];
            }
        }
        std::queue<int> ready;
        for (std::size_t i = 0; i < missing.size(); ++i) {
            if (missing[i] == 0) {
                ready.push(static_cast<int>(i));
            }
        }
        std::size_t done = 0;
        for (; !ready.empty(); ready.pop(), ++done) {
            const auto from = static_cast<std::size_t>(ready.front());
            for (const auto& [to, delay] : next_[from]) {
                const auto t = static_cast<std::size_t>(to);
                time_[t] = std::max(time_[t], time_[from] + delay);
                if (--missing[t] == 0) {
                    ready.push(to);
                }
            }
        }
        if (done != time_.size()) {
            play.errors.emplace_back("deadlock");
        }
        play.errors.insert(play.errors.end(), errors_.begin(), errors_.end());
        std::array<std::int64_t, 2> ends{};
        for (const auto& [node, step] : ends_) {
            auto& end = ends[static_cast<std::size_t>(step)];
            end = std::max(end, time_[static_cast<std::size_t>(node)]);
        }
        play.step_time = ends[1] - ends[0];
        return play;
    }

  private:
    int node() {
        time_.push_back(0);
        next_.emplace_back();
        return static_cast<int>(time_.size()) - 1;
    }
    void edge(int from, int to, std::int64_t delay) {
        if (from >= 0) {
            next_[static_cast<std::size_t>(from)].emplace_back(to, delay);
        }
    }

    void add_step(const Program& program, int step) {
        if (slots_.empty()) {
            slots_.assign(set_.slots, -1);
        }
        for_each_op(set_, program, [&](const Op& op) { add_op(op, program.stage, step); });
    }

    void add_op(const Op& op, int stage, int step) {
        const int begin = node();
        const int end = node();
        ends_.emplace_back(end, step);
        edge(drain_, begin, 0);
        if (op.kind == OpKind::Drain) {
            for (const int last : streams_) {
                edge(last, begin, 0);
            }
            drain_ = end;
        }
        const bool on_stream = op.kind != OpKind::Drain && op.kind != OpKind::HostWork;
        if (on_stream) {
            int& last = streams_[static_cast<std::size_t>(op.stream)];
            edge(last, begin, 0);
            last = end;
        }
        for (const std::uint16_t slot : op.waits) {
            if (slot != kNoSlot) {
                edge(slots_.at(slot), begin, 0);
            }
        }
        if (op.records != kNoSlot) {
            slots_.at(op.records) = end;
        }
        std::int64_t duration = 0;
        if (op.kind == OpKind::Compute) {
            duration = kernel_;
        } else if (op.kind == OpKind::Collective || op.kind == OpKind::Exchange) {
            duration = transfer_;
        }
        edge(begin, end, duration);
        if (op.kind == OpKind::Exchange) {
            for (const PeerTransfer& t : set_.exchanges[op.work].transfers) {
                const std::tuple route(
                    t.send ? stage : t.stage, t.send ? t.stage : stage, t.channel);
                (t.send ? sends_ : receives_)[route].push_back({begin, end, t.bytes.value});
            }
        }
        if (op.kind == OpKind::Collective) {
            const GroupRole role = set_.collectives[op.work].role;
            if (role == GroupRole::Pp || role == GroupRole::World || role == GroupRole::Embedding) {
                across_[{role, stage}].push_back({begin, end, static_cast<std::int64_t>(op.work)});
            }
        }
    }

    struct Member {
        int begin = 0;
        int end = 0;
        std::int64_t what = 0;
    };

    void meet(const Member& a, const Member& b) {
        edge(a.begin, b.end, transfer_);
        edge(b.begin, a.end, transfer_);
        if (a.what != b.what) {
            errors_.emplace_back("two sides of a transfer disagree on it");
        }
    }

    void join_peers() {
        if (sends_.size() != receives_.size()) {
            errors_.emplace_back("messages on a route that has only one end");
        }
        for (const auto& [route, sends] : sends_) {
            const std::vector<Member>& receives = receives_[route];
            if (sends.size() != receives.size()) {
                errors_.emplace_back("as many sends as receives on each route");
                continue;
            }
            for (std::size_t k = 0; k < sends.size(); ++k) {
                meet(sends[k], receives[k]);
            }
        }
        std::map<GroupRole, const std::vector<Member>*> first;
        for (const auto& [key, members] : across_) {
            const auto [place, added] = first.try_emplace(key.first, &members);
            if (added) {
                continue;
            }
            if (place->second->size() != members.size()) {
                errors_.emplace_back("as many collectives on each stage");
                continue;
            }
            for (std::size_t k = 0; k < members.size(); ++k) {
                meet((*place->second)[k], members[k]);
            }
        }
    }

    const ProgramSet& set_;
    std::int64_t kernel_;
    std::int64_t transfer_;
    std::vector<std::int64_t> time_;
    std::vector<std::vector<std::pair<int, std::int64_t>>> next_;
    std::vector<std::pair<int, int>> ends_;
    std::array<int, kStreams> streams_ = filled();
    std::vector<int> slots_;
    int drain_ = -1;
    std::map<std::tuple<int, int, int>, std::vector<Member>> sends_;
    std::map<std::tuple<int, int, int>, std::vector<Member>> receives_;
    std::map<std::pair<GroupRole, int>, std::vector<Member>> across_;
    std::vector<std::string> errors_;

    static std::array<int, kStreams> filled() {
        std::array<int, kStreams> none{};
        none.fill(-1);
        return none;
    }
};

}  // namespace

WorkloadTrace tiny_trace(int layers) {
    WorkloadTrace trace;
    trace.name = "tiny";
    trace.tokens = kTokens;
    trace.sequence = kTokens;
    trace.kinds = {tiny_embedding(), tiny_layer(), tiny_head()};
    trace.embedding = 0;
    trace.head = 2;
    trace.layers.assign(static_cast<std::size_t>(layers), 1);
    trace.boundary_bytes = Bytes(kBoundary);
    trace.tied_embeddings = true;
    return trace;
}

WorkloadTrace trace_of(const Shape& shape) {
    return tiny_trace(shape.pp * shape.vpp * shape.layers_per_chunk);
}

Job tiny_job(const Shape& shape) {
    Job job;
    job.micro_batches = shape.m;
    job.batch.micro = 1;
    job.degrees.tp = shape.tp;
    job.degrees.pp = shape.pp;
    job.degrees.vpp = shape.vpp;
    job.degrees.dp = shape.dp;
    job.degrees.shard = shape.dp;
    job.parallel.vpp = shape.vpp;
    job.parallel.schedule = shape.vpp > 1 ? Schedule::Interleaved : Schedule::OneForwardOneBackward;
    for (int stage = 0; stage < shape.pp; ++stage) {
        auto& chunks = job.stages.emplace_back();
        for (int chunk = 0; chunk < shape.vpp; ++chunk) {
            const int virtual_stage = chunk * shape.pp + stage;
            chunks.push_back({.first_layer = virtual_stage * shape.layers_per_chunk,
                              .layers = shape.layers_per_chunk,
                              .embedding = virtual_stage == 0,
                              .head = virtual_stage == shape.pp * shape.vpp - 1});
        }
    }
    return job;
}

Totals totals(const ProgramSet& set) {
    Totals result;
    for (const Program& program : set.programs) {
        for_each_op(set, program, [&](const Op& op) {
            if (op.kind == OpKind::Compute) {
                const double flops = flops_of(set.kernels[op.work]).value;
                result.flops += flops;
                result.recompute_flops += op.category == Category::Recompute ? flops : 0;
            } else if (op.kind == OpKind::Collective) {
                const CollectiveCall& call = set.collectives[op.work];
                result.collective_bytes[{call.role, call.kind}] += call.bytes.value;
                ++result.collective_calls[{call.role, call.kind}];
            } else if (op.kind == OpKind::Exchange) {
                for (const PeerTransfer& t : set.exchanges[op.work].transfers) {
                    (t.send ? result.sent : result.received) += t.bytes.value;
                }
            }
        });
    }
    return result;
}

double forward_flops(const WorkloadTrace& trace) {
    double sum = flops_of_items(trace.kinds[trace.embedding].forward) +
                 flops_of_items(trace.kinds[trace.head].forward);
    for (const std::uint32_t kind : trace.layers) {
        sum += flops_of_items(trace.kinds[kind].forward);
    }
    return sum;
}

double step_flops(const WorkloadTrace& trace, int micro_batches) {
    double sum = forward_flops(trace) + flops_of_items(trace.kinds[trace.embedding].backward) +
                 flops_of_items(trace.kinds[trace.head].backward);
    for (const std::uint32_t kind : trace.layers) {
        sum += flops_of_items(trace.kinds[kind].backward);
    }
    return sum * micro_batches;
}

MemoryWalk walk_memory(const ProgramSet& set) {
    MemoryWalk walk;
    for (const Program& program : set.programs) {
        MemoryWalker walker(walk);
        for (const Item& i : program.items) {
            if (i.kind == Item::Kind::Op) {
                for (std::uint32_t e = i.memory_begin; e < i.memory_end; ++e) {
                    walker.move(set.memory[e], i, set.tensors[set.memory[e].tensor]);
                }
                continue;
            }
            std::uint32_t before = 0;
            const Segment& segment = set.segments[i.index];
            for (const MemoryEvent& event : segment.memory) {
                if (event.before_op < before || event.before_op > segment.ops.size()) {
                    walk.errors.push_back("memory events out of order in " + segment.name);
                }
                before = event.before_op;
                walker.move(event, i, set.tensors[event.tensor]);
            }
        }
        walk.left.push_back(walker.now());
        walk.peak.push_back(walker.peak());
    }
    return walk;
}

Play play(const ProgramSet& set, std::int64_t kernel, std::int64_t transfer) {
    return Player(set, kernel, transfer).run();
}

}  // namespace memwall::test
