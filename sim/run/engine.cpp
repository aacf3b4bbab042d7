// The loop of the simulation. Results depend on instants only, never on the order of events within an instant: the
// duration of a kernel counts the communication that started strictly before it and ends strictly after its start.
#include "sim/run/engine.h"

#include <bit>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/run/engine_impl.h"

namespace memwall {

Played play(Bound& bound, const EngineOptions& options) {
    return Engine(bound, options).run();
}

Played Engine::run() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        touch(r, used_streams(*ranks_[r].program));
    }
    while (true) {
        // Step 1. Issue: start every op whose waits are met and whose stream is free, to a fixpoint. A collective or
        //         a send/recv pair starts when its last member arrives.
        issue();
        // Step 2. Retire: apply everything that happens at `now`; what that sets free is issued at the same instant.
        if (!queue_.empty() && queue_.top().time == Time(Duration(now_))) {
            retire();
            continue;
        }
        // Step 3. Share: rates of the transfers that an arrival or departure touched; pieces whose GPU's residency changed.
        share();
        if (with_rounds_) {
            look_for_rounds();
        }
        // Step 4. Advance. Nothing pending but programs unfinished = deadlock. Only the first job counts: others repeat
        //         their steps for ever.
        if (ranks_left_.back() == 0 || first_job_pending_ == 0) {
            break;
        }
        now_ = queue_.top().time.time_since_epoch().count();
        retire();
    }
    return collect();
}

void Engine::issue() {
    for (std::size_t i = 0; i < touched_.size(); ++i) {
        const std::uint32_t r = touched_[i];
        RankState& rank = ranks_[r];
        rank.touched = false;
        do {
            while (rank.unseen != 0) {
                const auto s = static_cast<Stream>(std::countr_zero(rank.unseen));
                rank.unseen = static_cast<std::uint16_t>(rank.unseen & (rank.unseen - 1));
                advance(r, s);
            }
        } while (try_drain(r));
    }
    touched_.clear();
}

void Engine::retire() {
    const Time now{Duration(now_)};
    while (!queue_.empty() && queue_.top().time == now) {
        apply(queue_.pop());
    }
}

void Engine::apply(const Event& event) {
    first_job_pending_ -= event.sequence == 0 ? 1 : 0;
    const std::uint32_t r = event.subject / 16;
    const std::uint32_t s = event.subject % 16;
    switch (static_cast<Kind>(event.kind)) {
    case Kind::End:
        if (activities_[event.subject].kind != Activity::Kind::Free &&
            activities_[event.subject].end == now_) {
            end_activity(event.subject);
        }
        break;
    case Kind::Flow:
        start_flow(event.subject);
        break;
    case Kind::Finish:
        if (ranks_[r].streams[s].finish_at == now_) {
            ranks_[r].streams[s].finish_at = kNever;
            finish_step(r, ranks_[r].streams[s].finish_step, now_);
        }
        break;
    case Kind::Wake: {
        RankState& rank = ranks_[r];
        if (s == kStreams) {
            rank.host_wake_at = rank.host_wake_at == now_ ? kNever : rank.host_wake_at;
            touch(r, 0);
        } else if (rank.streams[s].wake_at == now_) {
            const std::uint16_t stream = bit(static_cast<Stream>(s));
            rank.streams[s].wake_at = kNever;
            rank.due = static_cast<std::uint16_t>(rank.due | stream);
            touch(r, stream);
        }
        break;
    }
    }
}

void Engine::share() {
    if (network_changed_) {
        network_changed_ = false;
        for (const FlowId flow : network_.settle(Time(Duration(now_)))) {
            const std::uint32_t a = activity_of_flow_[flow.index];
            activities_[a].end = network_.completion(flow).time_since_epoch().count();
            schedule(activities_[a].end, Kind::End, a, rank_of(activities_[a]));
        }
    }
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
        RunningPiece& running = ranks_[dirty_[i]].running;
        if (running.dirty && running.evaluated) {
            evaluate(dirty_[i]);
        }
        running.dirty = false;
    }
    dirty_.clear();
    issue();
}

// `at` may lie ahead of now when it can no longer change.
void Engine::finish_step(std::uint32_t r, std::uint32_t step, Ps at) {
    if (ranks_[r].job != 0) {
        return;
    }
    StepState& state = rank_steps_[r * steps_ + step];
    state.end = std::max(state.end, at);
    if (--state.streams_left > 0) {
        return;
    }
    step_end_[step] = std::max(step_end_[step], state.end);
    if (--ranks_left_[step] == 0 && step + 2 == steps_) {
        window_ = step_end_[step];
    }
}

Engine::Engine(Bound& bound, const EngineOptions& options)
    : bound_(bound),
      code_(bound.code),
      steps_(static_cast<std::uint32_t>(bound.steps)),
      network_(bound.capacities, bound.usages),
      ranks_(bound.ranks.size()),
      arrived_(bound.groups.size() * kStreams),
      tp_ready_(bound.groups.size()),
      carried_(bound.transfers.size()),
      ranks_left_(steps_),
      step_end_(steps_) {
    MW_CHECK(steps_ >= 1, "a run has at least one step");
    with_rounds_ = !code_.rounds.empty() && options.timeline.empty();
    if (steps_ == 1) {
        window_ = 0;
    }
    std::uint32_t records = 0;
    std::uint32_t measured_ranks = 0;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        RankState& rank = ranks_[r];
        rank.program = &code_.programs[bound.ranks[r].program];
        rank.job = rank.program->job;
        rank.records = records;
        records += static_cast<std::uint32_t>(rank.program->records.size());
        rank.host_base = bound.job_start[rank.job];
        const std::uint32_t tp = tp_group(r);
        rank.tp_isolated = tp != kNone32 && bound.groups[tp].isolated;
        for (const Stream s : rank.program->streams) {
            const auto i = static_cast<std::size_t>(s);
            StreamState& stream = rank.streams[i];
            stream.node = rank.program->on_stream[i].front();
            const Piece& piece = piece_of(rank, stream.node);
            stream.op = s == Stream::Tp        ? piece.first_tp
                        : s == Stream::Compute ? piece.first_compute
                                               : std::uint16_t{0};
        }
        if (rank.job == 0) {
            measured_ranks = r + 1;
        }
    }
    records_.resize(records);
    gathered_.resize(records);
    first_memo_.assign(code_.pieces.size(), kNone32);
    number_tp_times();
    rank_steps_.resize(std::size_t{measured_ranks} * steps_);
    std::fill(ranks_left_.begin(), ranks_left_.end(), measured_ranks);
    for (std::uint32_t r = 0; r < measured_ranks; ++r) {
        const auto streams = static_cast<std::uint32_t>(ranks_[r].program->streams.size());
        for (std::uint32_t step = 0; step < steps_; ++step) {
            rank_steps_[r * steps_ + step].streams_left = std::max(1U, streams);
            if (streams == 0) {
                finish_step(r, step, 0);
            }
        }
    }
    for (const std::uint32_t r : options.timeline) {
        ranks_[r].in_timeline = true;
    }
}

// Tp groups whose collectives take the same times get the same number.
void Engine::number_tp_times() {
    std::vector<std::uint32_t> first;  // a group of each number
    const auto transfer = [&](std::uint32_t g, std::uint32_t call) -> const BoundTransfer& {
        return bound_.transfers[bound_.group_transfers[bound_.groups[g].transfers + call]];
    };
    for (std::uint32_t g = 0; g < bound_.groups.size(); ++g) {
        const std::uint32_t calls = bound_.groups[g].transfers_end - bound_.groups[g].transfers;
        std::uint32_t number = kNone32;
        if (bound_.groups[g].role != GroupRole::Tp) {
            tp_times_.push_back(number);
            continue;
        }
        for (std::uint32_t f = 0; f < first.size() && number == kNone32; ++f) {
            const BoundGroup& other = bound_.groups[first[f]];
            bool same = other.transfers_end - other.transfers == calls;
            for (std::uint32_t c = 0; c < calls && same; ++c) {
                const BoundTransfer& x = transfer(g, c);
                const BoundTransfer& y = transfer(first[f], c);
                same = x.delay + x.flow == y.delay + y.flow && x.blocks == y.blocks;
            }
            number = same ? f : kNone32;
        }
        if (number == kNone32) {
            number = static_cast<std::uint32_t>(first.size());
            first.push_back(g);
        }
        tp_times_.push_back(number);
    }
}

Played Engine::collect() {
    Played out;
    out.events = events_;
    out.ops = ops_;
    out.timeline = std::move(timeline_);
    if (ranks_left_.back() != 0) {
        out.deadlock = blocked();
        return out;
    }
    for (const Ps end : step_end_) {
        out.step_ends.emplace_back(Duration(end));
    }
    now_ = step_end_.back();
    for (std::uint32_t r = 0; r < rank_steps_.size() / steps_; ++r) {
        account_end(r, now_);
        const BoundRank& rank = bound_.ranks[r];
        RankClass result;
        result.program = rank.program;
        result.representative = rank.representative;
        result.multiplicity = rank.multiplicity;
        result.breakdown = ranks_[r].breakdown;
        result.communication = Duration(ranks_[r].communication);
        result.finished = Time(Duration(rank_steps_[r * steps_ + steps_ - 1].end));
        out.ranks.push_back(result);
    }
    count_in_flight();
    out.link_bytes.assign(bound_.links.size(), 0);
    for (std::size_t t = 0; t < carried_.size(); ++t) {
        const BoundTransfer& transfer = bound_.transfers[t];
        for (std::uint32_t u = transfer.usage_begin; u < transfer.usage_end && carried_[t] > 0;
             ++u) {
            out.link_bytes[bound_.usages[u].link] +=
                carried_[t] * static_cast<double>(transfer.bytes) *
                (static_cast<double>(bound_.usages[u].coefficient) * 0x1p-20);
        }
    }
    return out;
}

// Of background jobs, when the measured step ends.
void Engine::count_in_flight() {
    for (const Activity& activity : activities_) {
        const bool whole =
            activity.kind == Activity::Kind::Collective || activity.kind == Activity::Kind::Message;
        if (!whole || activity.end == kNever) {
            continue;
        }
        const std::uint32_t r = activity.kind == Activity::Kind::Message
                                    ? activity.ranks[0]
                                    : bound_.members[bound_.groups[activity.group].members_begin];
        if (ranks_[r].job != 0) {
            carried_[activity.transfer] += part_inside(activity.start, activity.end, now_);
        }
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].job != 0 && ranks_[r].running.node != kNone32) {
            count_background_piece(r);
        }
    }
}

std::vector<BlockedRank> Engine::blocked() const {
    std::vector<BlockedRank> all;
    for (const std::string& mismatch : code_.mismatches) {
        all.push_back({0, mismatch, "what never comes"});
    }
    for (std::uint32_t r = 0; r < rank_steps_.size() / steps_; ++r) {
        const RankState& rank = ranks_[r];
        const ProgramSet& set = *code_.jobs[rank.job];
        for (const Stream s : rank.program->streams) {
            const StreamState& stream = rank.streams[static_cast<std::size_t>(s)];
            if (stream.node == kNone32 || !stream.busy) {
                continue;
            }
            const CodeOp& op = ops_of(piece_of(rank, stream.node))[stream.op];
            const BoundRank& bound = bound_.ranks[r];
            std::string waits_for = "its tp group";
            if (op.kind == OpKind::Collective) {
                const auto role = set.collectives[op.work - code_.first_collective[rank.job]].role;
                const std::uint32_t g = bound.groups[static_cast<std::size_t>(role)];
                const BoundGroup& group = bound_.groups[g];
                const std::uint32_t here = arrived_[g * kStreams + static_cast<std::uint32_t>(s)];
                waits_for = fmt::format("its group of {}: {} of them have come",
                                        group.members_end - group.members_begin,
                                        here);
            } else if (op.kind == OpKind::Exchange) {
                waits_for.clear();
                const auto& transfers = set.exchanges[op.work].transfers;
                for (std::size_t t = 0; t < transfers.size(); ++t) {
                    const CodeTransfer& mine =
                        rank.program->transfers[node_of(rank, stream.node).transfers + t];
                    if (record(rank, mine.record).step == stream.step &&
                        record(rank, mine.record).span.end != kNever) {
                        continue;
                    }
                    const std::uint32_t peer = bound_.peers[bound.peers + mine.peer];
                    waits_for += fmt::format("{}rank {} (stage {}) to {}",
                                             waits_for.empty() ? "" : ", ",
                                             bound_.ranks[peer].representative,
                                             transfers[t].stage,
                                             transfers[t].send ? "receive" : "send");
                }
            }
            const Item& item =
                set.programs[rank.program->program].items[node_of(rank, stream.node).item];
            const std::string label = op.label < set.labels.size() ? set.labels[op.label]
                                                                   : fmt::format("op {}", op.label);
            all.push_back(
                {bound.representative,
                 fmt::format("{}, micro-batch {}, step {}", label, item.micro_batch, stream.step),
                 waits_for});
        }
    }
    return all;
}

}  // namespace memwall
