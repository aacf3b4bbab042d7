// Ops of ranks: when they are ready, how they start, how collectives and messages meet and end.
#include "sim/core/check.h"
#include "sim/run/engine_impl.h"

namespace memwall {

namespace {

std::size_t index_of(Stream s) {
    return static_cast<std::size_t>(s);
}

}  // namespace

// Starts what can start on this stream.
void Engine::advance(std::uint32_t r, Stream s) {
    RankState& rank = ranks_[r];
    StreamState& stream = rank.streams[index_of(s)];
    while (!stream.busy && stream.node != kNone32) {
        const CodeNode& node = node_of(rank, stream.node);
        if (rank.drains_done != stream.step * rank.program->drains.size() + node.drains) {
            return;  // the host has not come past a drain
        }
        const Piece& piece = code_.pieces[node.piece];
        if (s == Stream::Tp && at_one_go(rank, piece)) {
            // The tp ops of such a piece are played with the piece.
            if (rank.running.node == stream.node && rank.running.step == stream.step) {
                if (!rank.running.tp_ready) {
                    tp_is_ready(r);
                }
                return;
            }
            if (!piece.leading_tp) {
                return;
            }
        } else if (piece.leading_tp && at_one_go(rank, piece)) {
            return;  // it is entered when its first tp op is ready
        }
        // A pending wake is moved whenever something that the op needs moves: when it comes, the op is ready.
        if ((rank.due & bit(s)) != 0) {
            rank.due = static_cast<std::uint16_t>(rank.due & ~bit(s));
        } else {
            const Ps ready = ready_at(r, s);
            if (ready == kNever) {
                return;
            }
            if (ready > now_) {
                if (stream.wake_at != ready) {
                    stream.wake_at = ready;
                    schedule(ready, Kind::Wake, subject_of(r, static_cast<std::uint32_t>(s)), r);
                }
                return;
            }
            MW_CHECK(ready == now_, "an op is started after the instant at which it was ready");
        }
        start_op(r, s);
    }
}

// Host time at which the node begins to be issued.
Ps Engine::host_start(const RankState& rank, const CodeNode& node, std::uint32_t step) const {
    if (rank.program->drains.empty()) {
        return rank.host_base + step * rank.program->host_per_step + node.issue;
    }
    return rank.host_base + node.issue +
           (node.drains == 0 && step > 0 ? rank.program->host_after_drain : 0);
}

// When the stream's next op can start; kNever = something that it needs is not known yet.
Ps Engine::ready_at(std::uint32_t r, Stream s) {
    RankState& rank = ranks_[r];
    const StreamState& stream = rank.streams[index_of(s)];
    const CodeNode& node = node_of(rank, stream.node);
    const Piece& piece = code_.pieces[node.piece];
    const CodeOp& op = ops_of(piece)[stream.op];
    Ps ready = std::max(stream.free_at, host_start(rank, node, stream.step) + op.issue);
    if (op.waits > 0) {
        const OpenNode& open = open_node(rank, stream.node, stream.step);
        for (std::uint8_t w = 0; w < op.waits; ++w) {
            const Ps end = open.spans[op.wait[w]].end;
            if (end == kNever) {
                return kNever;
            }
            ready = std::max(ready, end);
        }
    }
    for (std::uint32_t w = node.waits_begin; w < node.waits_end; ++w) {
        const OutsideWait& wait = rank.program->waits[w];
        if (wait.op != stream.op || (wait.previous_step && stream.step == 0)) {
            continue;
        }
        const std::uint32_t step = wait.previous_step ? stream.step - 1 : stream.step;
        const Record& producer = record(rank, wait.record);
        if (producer.step == kNone32 || producer.step < step) {
            return kNever;
        }
        if (producer.step == step) {
            if (producer.span.end == kNever) {
                return kNever;
            }
            ready = std::max(ready, producer.span.end);
        }
    }
    return ready;
}

void Engine::start_op(std::uint32_t r, Stream s) {
    RankState& rank = ranks_[r];
    StreamState& stream = rank.streams[index_of(s)];
    const Piece& piece = piece_of(rank, stream.node);
    const bool at_once = at_one_go(rank, piece);
    if (s == Stream::Compute || at_once) {
        account_before(r, rank.streams[index_of(Stream::Compute)]);
    }
    if (at_once) {
        enter_piece(r);
        return;
    }
    const CodeOp& op = ops_of(piece)[stream.op];
    switch (op.kind) {
    case OpKind::Compute:
        start_kernel(r, s, op);
        break;
    case OpKind::Collective:
        join_collective(r, s, op);
        break;
    case OpKind::Exchange:
        join_exchange(r, s);
        break;
    case OpKind::HostWork:
    case OpKind::Drain:
        MW_CHECK(false, "host ops are not on a stream");
    }
}

// Interference is for kernels of the compute stream; copies run on engines of their own.
void Engine::start_kernel(std::uint32_t r, Stream s, const CodeOp& op) {
    RankState& rank = ranks_[r];
    const std::uint32_t kind = bound_.ranks[r].kind;
    const std::int32_t blocks = s == Stream::Compute ? level_at_now(rank) : 0;
    const Ps duration = bound_.kernels.column(kind, blocks)[op.work];
    const Span span{now_, now_, now_ + duration};
    if (s == Stream::Compute && rank.job == 0) {
        rank.mark = span.end;
        if (measured(rank, rank.streams[index_of(s)].step)) {
            rank.kernel_start = span.start;
            rank.kernel_end = span.end;
            rank.kernel_category = op.category;
            rank.kernel_growth =
                blocks > 0 ? duration - bound_.kernels.column(kind, 0)[op.work] : 0;
        }
    }
    op_done(r, s, span);
}

void Engine::join_collective(std::uint32_t r, Stream s, const CodeOp& op) {
    RankState& rank = ranks_[r];
    StreamState& stream = rank.streams[index_of(s)];
    stream.busy = true;
    stream.joined = now_;
    const ProgramSet& set = *code_.jobs[rank.job];
    const GroupRole role = set.collectives[op.work - code_.first_collective[rank.job]].role;
    const std::uint32_t g = bound_.ranks[r].groups[static_cast<std::size_t>(role)];
    MW_CHECK(g != kNone32, "a rank calls a collective of a group that it is not in");
    const BoundGroup& group = bound_.groups[g];
    std::uint32_t& arrived = arrived_[g * kStreams + static_cast<std::uint32_t>(s)];
    if (++arrived < group.members_end - group.members_begin) {
        return;
    }
    arrived = 0;
    const std::uint32_t a = new_activity();
    Activity& activity = activities_[a];
    activity.kind = Activity::Kind::Collective;
    activity.stream = s;
    activity.group = g;
    activity.transfer = bound_.group_transfers[group.transfers + bound_.call_in_role[op.work]];
    start_activity(a);
}

void Engine::join_exchange(std::uint32_t r, Stream s) {
    RankState& rank = ranks_[r];
    StreamState& stream = rank.streams[index_of(s)];
    const CodeNode& node = node_of(rank, stream.node);
    const std::uint32_t step = stream.step;
    const CodeOp& op = ops_of(code_.pieces[node.piece])[0];
    const std::size_t transfers = code_.jobs[rank.job]->exchanges[op.work].transfers.size();
    stream.busy = true;
    stream.joined = now_;
    stream.left = static_cast<std::uint32_t>(transfers);
    for (std::uint32_t t = node.transfers; t < node.transfers + transfers; ++t) {
        record(rank, rank.program->transfers[t].record) = {{now_, kNever, kNever}, step};
    }
    for (std::uint32_t t = node.transfers; t < node.transfers + transfers; ++t) {
        const CodeTransfer& mine = rank.program->transfers[t];
        if (mine.partner == kNone32) {
            continue;
        }
        const std::uint32_t q = bound_.peers[bound_.ranks[r].peers + mine.peer];
        const CodeTransfer& other = ranks_[q].program->transfers[mine.partner];
        if (record(ranks_[q], other.record).step != step) {
            continue;  // not joined: it will find this side waiting
        }
        const std::uint32_t a = new_activity();
        Activity& activity = activities_[a];
        activity.kind = Activity::Kind::Message;
        const bool send = mine.send;
        activity.ranks[0] = send ? r : q;
        activity.ranks[1] = send ? q : r;
        activity.transfers[0] = send ? t : mine.partner;
        activity.transfers[1] = send ? mine.partner : t;
        const CodeTransfer& sender = send ? mine : other;
        activity.transfer =
            bound_.message_transfers[bound_.ranks[activity.ranks[0]].messages + sender.bytes_of];
        start_activity(a);
    }
    if (transfers == 0) {
        op_done(r, s, {now_, now_, now_});
    }
}

// The end of the op at the head of the stream is known: `span.end` is now, or ahead for a kernel.
void Engine::op_done(std::uint32_t r, Stream s, const Span& span) {
    RankState& rank = ranks_[r];
    StreamState& stream = rank.streams[index_of(s)];
    const CodeNode& node = node_of(rank, stream.node);
    const Piece& piece = code_.pieces[node.piece];
    const CodeOp& op = ops_of(piece)[stream.op];
    ++events_;
    ops_ += rank.job == 0 ? 1 : 0;
    std::uint16_t streams = bit(s);
    if (op.record != kNone16) {
        const std::uint32_t index = node.records + op.record;
        streams = static_cast<std::uint16_t>(streams | rank.program->waiters[index]);
        record(rank, index) = {span, stream.step};
        stream.last_record = {index, stream.step};
    }
    if (rank.in_timeline && measured(rank, stream.step)) {
        const Ps issued = host_start(rank, node, stream.step) + op.issue;
        timeline_.push_back({r, stream.node, stream.op, issued, span.start, span.end});
    }
    if (piece.size() > 1) {
        OpenNode& open = open_node(rank, stream.node, stream.step);
        open.spans[stream.op] = span;
        streams = static_cast<std::uint16_t>(streams | bit(Stream::Compute) | bit(Stream::Tp));
        if (--open.left == 0) {
            open.node = kNone32;  // its storage is used again
        }
    }
    stream.busy = false;
    stream.free_at = span.end;
    touch(r, streams);
    if (op.next != kNone16) {
        stream.op = op.next;
        return;
    }
    const std::uint32_t step = stream.step;
    next_node(rank, stream, s);
    if (stream.step != step) {
        step_over(r, s, step, span.end, false);
    }
}

void Engine::next_node(RankState& rank, StreamState& stream, Stream s) const {
    const auto& nodes = rank.program->on_stream[index_of(s)];
    if (++stream.position == nodes.size()) {
        stream.position = 0;
        ++stream.step;
        if (rank.job == 0 && stream.step == steps_) {
            stream.node = kNone32;
            return;
        }
    }
    stream.node = nodes[stream.position];
    const Piece& piece = piece_of(rank, stream.node);
    stream.op = s == Stream::Tp        ? piece.first_tp
                : s == Stream::Compute ? piece.first_compute
                                       : std::uint16_t{0};
}

void Engine::step_over(std::uint32_t r, Stream s, std::uint32_t step, Ps end, bool revisable) {
    StreamState& stream = ranks_[r].streams[index_of(s)];
    if (!revisable) {
        finish_step(r, step, end);
        return;
    }
    stream.finish_at = end;
    stream.finish_step = step;
    schedule(end, Kind::Finish, subject_of(r, static_cast<std::uint32_t>(s)), r);
}

OpenNode& Engine::open_node(RankState& rank, std::uint32_t node, std::uint32_t step) {
    OpenNode* unused = nullptr;
    for (OpenNode& open : rank.open) {
        if (open.node == node && open.step == step) {
            return open;
        }
        unused = open.left == 0 ? &open : unused;
    }
    if (unused == nullptr) {
        unused = &rank.open.emplace_back();
    }
    const std::uint32_t size = piece_of(rank, node).size();
    unused->node = node;
    unused->step = step;
    unused->left = size;
    unused->spans.assign(size, Span{});
    return *unused;
}

// The host waits for everything that was issued before the drain.
bool Engine::try_drain(std::uint32_t r) {
    RankState& rank = ranks_[r];
    const auto& drains = rank.program->drains;
    if (drains.empty()) {
        return false;
    }
    const auto step = static_cast<std::uint32_t>(rank.drains_done / drains.size());
    const auto index = static_cast<std::uint32_t>(rank.drains_done % drains.size());
    if (rank.job == 0 && step >= steps_) {
        return false;
    }
    const DrainPoint& drain = drains[index];
    const auto is_past = [&](const StreamState& stream) {
        return !stream.busy && (stream.node == kNone32 || stream.step > step ||
                                (stream.step == step && stream.node >= drain.node));
    };
    if (!is_past(rank.streams[index_of(rank.before_drain)])) {
        return false;
    }
    Ps end =
        rank.host_base + drain.host + (index == 0 && step > 0 ? rank.program->host_after_drain : 0);
    for (const Stream s : rank.program->streams) {
        const StreamState& stream = rank.streams[index_of(s)];
        if (!is_past(stream)) {
            rank.before_drain = s;
            return false;
        }
        end = std::max(end, stream.free_at);
    }
    if (end > now_) {
        if (rank.host_wake_at != end) {
            rank.host_wake_at = end;
            schedule(end, Kind::Wake, subject_of(r, kStreams), r);
        }
        return false;
    }
    touch(r, used_streams(*rank.program));
    ++rank.drains_done;
    rank.host_base = end;
    rank.drain_end = end;
    for (std::size_t s = 0; s < kStreams; ++s) {
        rank.drain_records[s] = rank.streams[s].last_record;
    }
    return true;
}

std::uint32_t Engine::new_activity() {
    if (free_activities_.empty()) {
        free_activities_.push_back(static_cast<std::uint32_t>(activities_.size()));
        activities_.emplace_back();
    }
    const std::uint32_t a = free_activities_.back();
    free_activities_.pop_back();
    return a;
}

void Engine::start_activity(std::uint32_t a) {
    Activity& activity = activities_[a];
    const BoundTransfer& transfer = bound_.transfers[activity.transfer];
    MW_CHECK(transfer.streams != 0, "a transfer that no program makes is started");
    activity.start = now_;
    activity.end = kNever;
    activity.flowing = false;
    activity.blocks = transfer.blocks;
    if (activity.kind == Activity::Kind::Message) {
        hold(activity.ranks[0], activity.blocks, now_);
        hold(activity.ranks[1], activity.blocks, now_);
    } else {
        const BoundGroup& group = bound_.groups[activity.group];
        for (std::uint32_t m = group.members_begin; m < group.members_end; ++m) {
            hold(bound_.members[m], activity.blocks, now_);
        }
    }
    if (transfer.steps_begin != transfer.steps_end) {
        activity.step = transfer.steps_begin;
        activity.repeats_left = bound_.collective_steps[activity.step].repeat;
        start_step(a);
    } else if (transfer.isolated) {
        activity.end = now_ + transfer.delay + transfer.flow;
        schedule(activity.end, Kind::End, a, rank_of(activity));
    } else if (transfer.delay > 0) {
        schedule(now_ + transfer.delay, Kind::Flow, a, rank_of(activity));
    } else {
        start_flow(a);
    }
}

void Engine::start_step(std::uint32_t a) {
    const BoundStep& step = bound_.collective_steps[activities_[a].step];
    activities_[a].messages_left = step.messages_end - step.messages_begin;
    for (std::uint32_t m = step.messages_begin; m < step.messages_end; ++m) {
        const BoundMessage& message = bound_.step_messages[m];
        const std::uint32_t part = new_activity();
        Activity& activity = activities_[part];
        activity.kind = Activity::Kind::StepMessage;
        activity.collective = a;
        activity.transfer = m;
        activity.start = now_;
        activity.end = kNever;
        activity.flowing = false;
        if (message.bytes == 0) {
            activity.end = now_ + message.latency;
            schedule(activity.end, Kind::End, part, rank_of(activity));
        } else if (message.latency > 0) {
            schedule(now_ + message.latency, Kind::Flow, part, rank_of(activity));
        } else {
            start_flow(part);
        }
    }
}

void Engine::end_step_message(std::uint32_t a) {
    Activity& collective = activities_[a];
    if (--collective.messages_left > 0) {
        return;
    }
    if (--collective.repeats_left == 0) {
        if (++collective.step == bound_.transfers[collective.transfer].steps_end) {
            end_activity(a);
            return;
        }
        collective.repeats_left = bound_.collective_steps[collective.step].repeat;
    }
    start_step(a);
}

void Engine::start_flow(std::uint32_t a) {
    Activity& activity = activities_[a];
    FlowShape shape;
    std::int64_t bytes = 0;
    if (activity.kind == Activity::Kind::StepMessage) {
        const BoundMessage& message = bound_.step_messages[activity.transfer];
        shape = {message.usage_begin, message.usage_end, message.cap, message.weight};
        bytes = message.bytes;
    } else {
        const BoundTransfer& transfer = bound_.transfers[activity.transfer];
        shape = {transfer.usage_begin, transfer.usage_end, transfer.cap, transfer.weight};
        bytes = transfer.bytes;
    }
    activity.flow = network_.start(shape, Bytes(bytes), Time(Duration(now_)));
    activity.flowing = true;
    if (activity.flow.index >= activity_of_flow_.size()) {
        activity_of_flow_.resize(activity.flow.index + 1);
    }
    activity_of_flow_[activity.flow.index] = a;
    network_changed_ = true;
}

void Engine::end_activity(std::uint32_t a) {
    const Activity activity = activities_[a];
    activities_[a].kind = Activity::Kind::Free;
    free_activities_.push_back(a);
    if (activity.flowing) {
        network_.stop(activity.flow, Time(Duration(now_)));
        network_changed_ = true;
    }
    if (activity.kind == Activity::Kind::StepMessage) {
        ++events_;
        end_step_message(activity.collective);
        return;
    }
    if (activity.kind == Activity::Kind::Message) {
        for (std::size_t side = 0; side < 2; ++side) {
            release(activity.ranks[side], activity.blocks, activity.start);
            end_message_side(activity.ranks[side], activity.transfers[side], activity.start);
        }
        return;
    }
    const BoundGroup& group = bound_.groups[activity.group];
    for (std::uint32_t m = group.members_begin; m < group.members_end; ++m) {
        const std::uint32_t r = bound_.members[m];
        StreamState& stream = ranks_[r].streams[index_of(activity.stream)];
        release(r, activity.blocks, activity.start);
        if (m == group.members_begin) {
            carried_[activity.transfer] += ranks_[r].job != 0
                                               ? part_inside(activity.start, now_, now_)
                                           : measured(ranks_[r], stream.step) ? 1
                                                                              : 0;
        }
        const Span span{stream.joined, activity.start, now_};
        if (activity.stream == Stream::Compute) {
            account_blocking(r, stream, span);
        }
        op_done(r, activity.stream, span);
    }
}

void Engine::end_message_side(std::uint32_t r, std::uint32_t transfer, Ps start) {
    RankState& rank = ranks_[r];
    const CodeTransfer& mine = rank.program->transfers[transfer];
    const Piece& piece = piece_of(rank, mine.node);
    const Stream s = ops_of(piece)[0].stream;
    StreamState& stream = rank.streams[index_of(s)];
    Record& of_transfer = record(rank, mine.record);
    of_transfer.span.start = start;
    of_transfer.span.end = now_;
    if (mine.send) {
        carried_[bound_.message_transfers[bound_.ranks[r].messages + mine.bytes_of]] +=
            rank.job != 0                 ? part_inside(start, now_, now_)
            : measured(rank, stream.step) ? 1
                                          : 0;
    }
    if (--stream.left == 0) {
        const Span span{stream.joined, stream.joined, now_};
        if (s == Stream::Compute) {
            account_blocking(r, stream, span);
        }
        op_done(r, s, span);
    }
}

// A transfer that started at `start` takes its blocks on the rank.
void Engine::hold(std::uint32_t r, std::int32_t blocks, Ps start) {
    RankState& rank = ranks_[r];
    const std::int32_t level = level_at_now(rank);
    rank.blocks += blocks;
    if (start == now_) {
        if (rank.fresh_at != now_) {
            rank.fresh_at = now_;
            rank.fresh = 0;
        }
        rank.fresh += blocks;
    }
    if (rank.active++ == 0) {
        rank.active_since = now_;
    }
    log_residency(rank, r, level);
}

void Engine::release(std::uint32_t r, std::int32_t blocks, Ps start) {
    RankState& rank = ranks_[r];
    const std::int32_t level = level_at_now(rank);
    rank.blocks -= blocks;
    if (start == now_ && rank.fresh_at == now_) {
        rank.fresh -= blocks;
    }
    if (--rank.active == 0 && rank.job == 0) {
        account_communication(rank, rank.active_since, now_);
    }
    log_residency(rank, r, level);
}

// Pieces in progress see the change: kernels that start from now on may take another time.
void Engine::log_residency(RankState& rank, std::uint32_t r, std::int32_t level_before) {
    RunningPiece& running = rank.running;
    if (running.node == kNone32 || (running.evaluated && running.exit <= now_)) {
        return;
    }
    const LogEntry entry{now_, level_at_now(rank), rank.blocks, rank.active};
    const bool changed = entry.at != level_before || entry.after != rank.log.back().after;
    if (rank.log.back().time == now_) {
        rank.log.back() = entry;
    } else {
        rank.log.push_back(entry);
    }
    if (changed && running.evaluated && running.last_kernel_start >= now_ && !running.dirty) {
        running.dirty = true;
        dirty_.push_back(r);
    }
}

}  // namespace memwall
