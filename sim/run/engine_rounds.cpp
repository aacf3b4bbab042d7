// The steady phase of a step. When a rank comes to the same place one round later and everything else is as it was one
// round ago, only later and with later micro-batches, then all rounds up to the end of the steady phase go the same way:
// they are not played, the state is moved past them. Exact, because everything that the engine looks at is compared, to
// the picosecond and to the bit of a rate:
//  - what streams, pieces, transfers and flows are in the middle of, counted from now;
//  - the times of ops that ended since the last look: nobody asks for older ones, as every rank's compute stream has
//    been accounted for up to there;
//  - the host, where it waits for the device in every round; else it had issued all of the round when the round began and
//    does not fall behind, so that no op waits for it;
//  - what is no state is summed: breakdown, bytes carried, ops.
#include <algorithm>
#include <limits>

#include "sim/core/check.h"
#include "sim/run/engine_impl.h"

namespace memwall {

namespace {

// If it moved in the round before.
void pass_over_record(RecordAt& record, const RecordAt& before, std::uint32_t records) {
    record.index += record.index == before.index ? 0 : records;
}

}  // namespace

// Two looks at the engine, one round apart.
class Engine::RoundsCompared {
  public:
    RoundsCompared(const Engine& engine, const RoundSnapshot& before)
        : engine_(engine), before_(before), round_(engine.now_ - before.at) {}

    [[nodiscard]] bool equal() const {
        const Engine& e = engine_;
        if (round_ <= 0 || before_.window != e.window_ || before_.arrived != e.arrived_ ||
            before_.tp_ready != e.tp_ready_ || !same_finished() || !same_activities()) {
            return false;
        }
        for (std::uint32_t r = 0; r < e.ranks_.size(); ++r) {
            if (!same_rank(r)) {
                return false;
            }
        }
        for (std::uint32_t r = 0; r < e.ranks_.size(); ++r) {
            if (!same_records(r)) {
                return false;
            }
        }
        return true;
    }

    // Rounds from now on in which every rank stays inside its steady phase.
    [[nodiscard]] std::uint32_t rounds_left() const {
        std::uint32_t left = std::numeric_limits<std::uint32_t>::max();
        for (std::uint32_t r = 0; r < engine_.ranks_.size(); ++r) {
            const Rounds& rounds = engine_.rounds_of(r);
            for (const Stream s : engine_.ranks_[r].program->streams) {
                const StreamState& stream = engine_.ranks_[r].streams[static_cast<std::size_t>(s)];
                const std::uint32_t node = stream.node;
                const std::uint32_t in_rounds =
                    node < rounds.end ? (rounds.end - 1 - node) / rounds.nodes + 1 : 0;
                left = std::min(left,
                                engine_.in_rounds(r, stream) ? in_rounds : rounds_before(r, node));
            }
        }
        return left;
    }

  private:
    [[nodiscard]] bool same(Ps then, Ps now) const {
        return then == kNever || now == kNever ? then == now : now - then == round_;
    }
    [[nodiscard]] bool same_or_past(Ps then, Ps now) const {
        return same(then, now) || (then <= before_.at && now <= engine_.now_);
    }
    [[nodiscard]] bool same(const Span& then, const Span& now) const {
        return same(then.join, now.join) && same(then.start, now.start) && same(then.end, now.end);
    }

    // A stream that has stood still at this node waits for ops that must not be passed over.
    [[nodiscard]] std::uint32_t rounds_before(std::uint32_t r, std::uint32_t n) const {
        std::uint32_t left = std::numeric_limits<std::uint32_t>::max();
        if (n == kNone32) {
            return left;
        }
        const CodeProgram& program = *engine_.ranks_[r].program;
        const std::uint32_t last = engine_.in_progress(r).last;
        for (std::uint32_t w = program.nodes[n].waits_begin; w < program.nodes[n].waits_end; ++w) {
            const std::uint32_t producer = program.records[program.waits[w].record].node;
            if (!program.waits[w].previous_step && producer > last) {
                left = std::min(left, (producer - 1 - last) / engine_.rounds_of(r).nodes);
            }
        }
        return left;
    }

    [[nodiscard]] bool same_finished() const {
        return std::equal(before_.rank_steps.begin(),
                          before_.rank_steps.end(),
                          engine_.rank_steps_.begin(),
                          [](const StepState& x, const StepState& y) {
                              return x.streams_left == y.streams_left;
                          });
    }

    [[nodiscard]] bool same_activities() const {
        const auto& then = before_.activities;
        const std::vector<RoundActivity> now = engine_.activities_in_order(&before_);
        return std::equal(then.begin(),
                          then.end(),
                          now.begin(),
                          now.end(),
                          [&](const RoundActivity& x, const RoundActivity& y) {
                              const Activity& a = x.activity;
                              const Activity& b = y.activity;
                              return x.key() == y.key() && a.kind != Activity::Kind::StepMessage &&
                                     a.transfer == b.transfer && a.blocks == b.blocks &&
                                     a.flowing == b.flowing && same(a.start, b.start) &&
                                     same(a.end, b.end) &&
                                     (!a.flowing || same_flow(x.flow, y.flow));
                          });
    }

    [[nodiscard]] bool same_flow(const FlowState& x, const FlowState& y) const {
        return x.rate == y.rate && x.remaining == y.remaining &&
               (y.since - x.since).count() == round_;
    }

    [[nodiscard]] bool same_rank(std::uint32_t r) const {
        const RankState& a = before_.ranks[r];
        const RankState& b = engine_.ranks_[r];
        const bool any_open = std::any_of(
            b.open.begin(), b.open.end(), [](const OpenNode& open) { return open.left != 0; });
        if (any_open || a.due != b.due || b.unseen != 0 || b.touched || a.blocks != b.blocks ||
            a.active != b.active || !same_fresh(a, b) || !same_running(r) || !same_accounts(a, b)) {
            return false;
        }
        return std::all_of(b.program->streams.begin(),
                           b.program->streams.end(),
                           [&](Stream s) { return same_stream(r, s); }) &&
               (engine_.rounds_of(r).drains > 0 ? same_host(r) : host_is_ahead(r));
    }

    [[nodiscard]] bool same_host(std::uint32_t r) const {
        const RankState& a = before_.ranks[r];
        const RankState& b = engine_.ranks_[r];
        const Rounds& rounds = engine_.rounds_of(r);
        for (const Stream s : b.program->streams) {
            const auto i = static_cast<std::size_t>(s);
            if (!same_record(r, a.drain_records[i], b.drain_records[i])) {
                return false;
            }
        }
        return b.drains_done - a.drains_done == rounds.drains && same(a.host_base, b.host_base) &&
               same(a.drain_end, b.drain_end) && same(a.host_wake_at, b.host_wake_at) &&
               (a.running.node == kNone32 || same(a.running.host, b.running.host));
    }

    // The host had issued all of the round when it began, and a round is not shorter for the device than for the host.
    [[nodiscard]] bool host_is_ahead(std::uint32_t r) const {
        const RankState& a = before_.ranks[r];
        const RankState& b = engine_.ranks_[r];
        const CodeNode& node = engine_.node_of(b, engine_.in_progress(r).last);
        return a.drains_done == b.drains_done && a.host_base == b.host_base &&
               a.host_wake_at == kNever && b.host_wake_at == kNever &&
               engine_.rounds_of(r).host <= round_ &&
               engine_.host_start(b, node, engine_.step_of(r)) +
                       engine_.code_.pieces[node.piece].host <=
                   before_.at;
    }

    [[nodiscard]] bool same_fresh(const RankState& a, const RankState& b) const {
        const bool then = a.fresh_at == before_.at;
        const bool now = b.fresh_at == engine_.now_;
        return then == now && (!now || a.fresh == b.fresh);
    }

    [[nodiscard]] bool same_stream(std::uint32_t r, Stream s) const {
        const auto i = static_cast<std::size_t>(s);
        const Rounds& rounds = engine_.rounds_of(r);
        const StreamState& a = before_.ranks[r].streams[i];
        const StreamState& b = engine_.ranks_[r].streams[i];
        if (a.finish_at != kNever || b.finish_at != kNever || a.step != b.step || a.op != b.op ||
            a.busy != b.busy) {
            return false;
        }
        if (!engine_.in_rounds(r, b)) {
            return b.node == a.node && !b.busy && a.wake_at == kNever && b.wake_at == kNever &&
                   b.free_at <= before_.at && same_record(r, a.last_record, b.last_record);
        }
        return b.node - a.node == rounds.nodes && a.node >= rounds.begin &&
               same(a.wake_at, b.wake_at) && same_or_past(a.free_at, b.free_at) &&
               (!b.busy || (same(a.joined, b.joined) && a.left == b.left)) &&
               same_record(r, a.last_record, b.last_record);
    }

    // The last record of a stream: of this round, or of an op that ended before it.
    [[nodiscard]] bool same_record(std::uint32_t r, const RecordAt& a, const RecordAt& b) const {
        if (a.step != b.step) {
            return false;
        }
        if (a.index != b.index) {
            return a.index != kNone32 && b.index - a.index == engine_.rounds_of(r).records;
        }
        return a.index == kNone32 ||
               engine_.record(engine_.ranks_[r], a.index).span.end <= before_.at;
    }

    [[nodiscard]] bool same_running(std::uint32_t r) const {
        const RankState& a = before_.ranks[r];
        const RankState& b = engine_.ranks_[r];
        const RunningPiece& x = a.running;
        const RunningPiece& y = b.running;
        if (x.node == kNone32 || y.node == kNone32) {
            return x.node == y.node;
        }
        if (y.node - x.node != engine_.rounds_of(r).nodes || x.step != y.step || x.memo != y.memo ||
            !same(x.entry, y.entry) || x.tp_ready != y.tp_ready || x.evaluated != y.evaluated ||
            x.dirty || y.dirty || (x.tp_ready && !same_or_past(x.tp_free, y.tp_free))) {
            return false;
        }
        const bool same_ends =
            !x.evaluated || (same(x.exit, y.exit) && same_or_past(x.tp_exit, y.tp_exit) &&
                             same(x.last_kernel_start, y.last_kernel_start));
        const bool played = x.evaluated && x.memo == kNone32;
        return same_ends &&
               std::equal(a.log.begin(),
                          a.log.end(),
                          b.log.begin(),
                          b.log.end(),
                          [&](const LogEntry& p, const LogEntry& q) {
                              return same(p.time, q.time) && p.at == q.at && p.after == q.after &&
                                     p.active == q.active;
                          }) &&
               (!played || std::equal(a.tp.begin(),
                                      a.tp.end(),
                                      b.tp.begin(),
                                      b.tp.end(),
                                      [&](const TpSpan& p, const TpSpan& q) {
                                          return same(p.start, q.start) && same(p.end, q.end) &&
                                                 p.blocks == q.blocks;
                                      }));
    }

    // What the accounts of the round looked at lies inside the measured step, and after the round before.
    [[nodiscard]] bool same_accounts(const RankState& a, const RankState& b) const {
        const Ps window = engine_.window_;
        const auto inside = [&](Ps at) { return window == kNever || at == kNever || at >= window; };
        return same(a.mark, b.mark) && b.mark >= before_.at && inside(a.mark) &&
               same(a.kernel_start, b.kernel_start) && inside(a.kernel_start) &&
               (a.kernel_start == kNever ||
                (same(a.kernel_end, b.kernel_end) && a.kernel_growth == b.kernel_growth &&
                 a.kernel_category == b.kernel_category)) &&
               (a.active == 0 ||
                (same(a.active_since, b.active_since) && inside(a.active_since))) &&
               (a.running.node == kNone32 || inside(a.running.entry));
    }

    // Of ops that ended in the round, or are in progress: the others are not asked for any more.
    [[nodiscard]] bool same_records(std::uint32_t r) const {
        const RankState& rank = engine_.ranks_[r];
        const Rounds& rounds = engine_.rounds_of(r);
        const RecordRange now = engine_.in_progress(r);
        if (now.first < rounds.begin + 2 * rounds.nodes) {
            return false;
        }
        const std::uint32_t over = engine_.node_of(rank, now.first - rounds.nodes).records;
        for (std::uint32_t i = over; i < now.begin; ++i) {
            if (!same_record(
                    r, engine_.record(rank, i - rounds.records), engine_.record(rank, i))) {
                return false;
            }
        }
        const auto& then = before_.in_progress[r];
        if (then.size() != now.end - now.begin) {
            return false;
        }
        for (std::uint32_t i = now.begin; i < now.end; ++i) {
            if (!same_record(r, then[i - now.begin], engine_.record(rank, i))) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] bool same_record(std::uint32_t r, const Record& a, const Record& b) const {
        const std::uint32_t step = engine_.step_of(r);
        if (b.step != step) {
            return a.step != step;
        }
        const bool over = b.span.end != kNever && b.span.end <= before_.at;
        return a.step == step && (over || same(a.span, b.span));
    }

    const Engine& engine_;
    const RoundSnapshot& before_;
    Ps round_;
};

// Called when all of an instant has been played.
void Engine::look_for_rounds() {
    const StreamState& lead = ranks_[0].streams[static_cast<std::size_t>(Stream::Compute)];
    const Rounds& rounds = rounds_of(0);
    if (lead.step != look_step_) {
        look_step_ = lead.step;
        look_at_ = rounds.begin + rounds.nodes / 4;  // what is in progress is then inside
        snapshot_.ranks.clear();
    }
    if (lead.node == kNone32 || lead.node < look_at_) {
        return;
    }
    look_at_ = lead.node < rounds.end
                   ? look_at_ + ((lead.node - look_at_) / rounds.nodes + 1) * rounds.nodes
                   : kNone32;
    if (!snapshot_.ranks.empty()) {
        const RoundsCompared compared(*this, snapshot_);
        const std::uint32_t count = compared.equal() ? compared.rounds_left() : 0;
        if (count > 0) {
            pass_over(count);
            look_at_ = kNone32;
            return;
        }
    }
    take_snapshot();
}

void Engine::take_snapshot() {
    snapshot_.at = now_;
    snapshot_.window = window_;
    snapshot_.ops = ops_;
    snapshot_.ranks = ranks_;
    snapshot_.rank_steps = rank_steps_;
    snapshot_.arrived = arrived_;
    snapshot_.tp_ready = tp_ready_;
    snapshot_.carried = carried_;
    snapshot_.activities = activities_in_order(nullptr);
    snapshot_.in_progress.clear();
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        snapshot_.in_progress.push_back(records_in_progress(r));
    }
}

// before: messages are named as their counterparts of one round earlier.
std::vector<Engine::RoundActivity> Engine::activities_in_order(const RoundSnapshot* before) const {
    std::vector<RoundActivity> all;
    for (std::uint32_t a = 0; a < activities_.size(); ++a) {
        if (activities_[a].kind == Activity::Kind::Free) {
            continue;
        }
        RoundActivity& entry = all.emplace_back();
        entry.activity = activities_[a];
        if (entry.activity.flowing) {
            entry.flow = network_.state(entry.activity.flow);
        }
        if (before != nullptr && entry.activity.kind == Activity::Kind::Message) {
            for (std::size_t side = 0; side < 2; ++side) {
                entry.activity.transfers[side] -= rounds_of(entry.activity.ranks[side]).transfers;
            }
        }
    }
    std::sort(all.begin(), all.end(), [](const RoundActivity& x, const RoundActivity& y) {
        return x.key() < y.key();
    });
    return all;
}

// Whether the stream takes part in rounds; else it stands at a node before or behind them.
bool Engine::in_rounds(std::uint32_t r, const StreamState& stream) const {
    const Rounds& rounds = rounds_of(r);
    return stream.node >= rounds.begin && stream.node < rounds.end + rounds.nodes;
}

// Records from the first node that has not ended to the last that has been looked at, of the streams that take part.
Engine::RecordRange Engine::in_progress(std::uint32_t r) const {
    const RankState& rank = ranks_[r];
    std::uint32_t first = rank.running.node;
    std::uint32_t last = 0;
    for (const Stream s : rank.program->streams) {
        const StreamState& stream = rank.streams[static_cast<std::size_t>(s)];
        if (in_rounds(r, stream)) {
            first = std::min(first, stream.node);
            last = std::max(last, stream.node);
        }
    }
    return first > last
               ? RecordRange{}
               : RecordRange{first, last, node_of(rank, first).records, records_end(rank, last)};
}

std::vector<Record> Engine::records_in_progress(std::uint32_t r) const {
    const RecordRange range = in_progress(r);
    const auto all = records_.begin() + ranks_[r].records;
    return {all + range.begin, all + range.end};
}

std::uint32_t Engine::records_end(const RankState& rank, std::uint32_t node) {
    return node + 1 < rank.program->nodes.size()
               ? rank.program->nodes[node + 1].records
               : static_cast<std::uint32_t>(rank.program->records.size());
}

// Everything moves on by so many rounds.
void Engine::pass_over(std::uint32_t count) {
    const Ps by = (now_ - snapshot_.at) * count;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        pass_over_records(r, count);
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        pass_over_rank(r, count, by);
    }
    for (Activity& activity : activities_) {
        if (activity.kind == Activity::Kind::Free) {
            continue;
        }
        activity.start += by;
        activity.end += activity.end == kNever ? 0 : by;
        for (std::size_t side = 0; side < 2 && activity.kind == Activity::Kind::Message; ++side) {
            activity.transfers[side] += count * rounds_of(activity.ranks[side]).transfers;
        }
    }
    network_.shift(Duration(by));
    for (std::size_t t = 0; t < carried_.size(); ++t) {
        carried_[t] += count * (carried_[t] - snapshot_.carried[t]);
    }
    ops_ += count * (ops_ - snapshot_.ops);
    now_ += by;
    schedule_again();
}

// Records of the rounds that are passed over, and of what is in progress.
void Engine::pass_over_records(std::uint32_t r, std::uint32_t count) {
    const RankState& rank = ranks_[r];
    const Rounds& rounds = rounds_of(r);
    const Ps round = now_ - snapshot_.at;
    const RecordRange range = in_progress(r);
    const auto later = [](const Record& of, Ps by) {
        const auto moved = [by](Ps at) { return at == kNever ? kNever : at + by; };
        return Record{{moved(of.span.join), moved(of.span.start), moved(of.span.end)}, of.step};
    };
    const std::vector<Record> now = records_in_progress(r);
    for (std::uint32_t i = range.begin; i < range.begin + count * rounds.records; ++i) {
        record(rank, i) = later(record(rank, i - rounds.records), round);
    }
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
        const Record& of = now[i - range.begin];
        if (of.step == step_of(r)) {
            record(rank, i + count * rounds.records) = later(of, round * count);
        }
    }
}

void Engine::pass_over_rank(std::uint32_t r, std::uint32_t count, Ps by) {
    RankState& rank = ranks_[r];
    const RankState& before = snapshot_.ranks[r];
    const Rounds& rounds = rounds_of(r);
    const std::uint32_t nodes = count * rounds.nodes;
    for (const Stream s : rank.program->streams) {
        StreamState& stream = rank.streams[static_cast<std::size_t>(s)];
        if (!in_rounds(r, stream)) {
            continue;
        }
        const auto& all = rank.program->on_stream[static_cast<std::size_t>(s)];
        stream.node += nodes;
        stream.position = static_cast<std::uint32_t>(
            std::lower_bound(all.begin(), all.end(), stream.node) - all.begin());
        stream.free_at += by;
        stream.wake_at += stream.wake_at == kNever ? 0 : by;
        stream.joined += by;
        const auto i = static_cast<std::size_t>(s);
        pass_over_record(stream.last_record, before.streams[i].last_record, count * rounds.records);
        pass_over_record(rank.drain_records[i], before.drain_records[i], count * rounds.records);
    }
    if (rounds.drains > 0) {
        rank.drains_done += count * rounds.drains;
        rank.host_base += by;
        rank.drain_end += by;
        rank.host_wake_at += rank.host_wake_at == kNever ? 0 : by;
    }
    rank.fresh_at += rank.fresh_at == now_ ? by : 0;
    rank.active_since += by;
    rank.mark += by;
    if (rank.kernel_start != kNever) {
        rank.kernel_start += by;
        rank.kernel_end += by;
    }
    for (LogEntry& entry : rank.log) {
        entry.time += by;
    }
    for (TpSpan& span : rank.tp) {
        span.start += by;
        span.end += by;
    }
    RunningPiece& running = rank.running;
    if (running.node != kNone32) {
        running.node += nodes;
        running.entry += by;
        running.tp_free += by;
        running.host += rounds.drains > 0 ? by : count * rounds.host;
        running.exit += by;
        running.tp_exit += by;
        running.last_kernel_start += by;
    }
    Breakdown of_round = rank.breakdown;
    of_round.add(before.breakdown, -1);
    rank.breakdown.add(of_round, count);
    rank.communication += count * (rank.communication - before.communication);
}

// The pending events, from the state: those that mean nothing any more are gone.
void Engine::schedule_again() {
    queue_.clear();
    first_job_pending_ = 0;
    for (std::uint32_t a = 0; a < activities_.size(); ++a) {
        const Activity& activity = activities_[a];
        if (activity.kind == Activity::Kind::Free) {
            continue;
        }
        if (activity.end != kNever) {
            schedule(activity.end, Kind::End, a, rank_of(activity));
        } else {
            MW_CHECK(!activity.flowing, "a flow without an end");
            schedule(activity.start + bound_.transfers[activity.transfer].delay,
                     Kind::Flow,
                     a,
                     rank_of(activity));
        }
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].host_wake_at != kNever) {
            schedule(ranks_[r].host_wake_at, Kind::Wake, subject_of(r, kStreams), r);
        }
        for (const Stream s : ranks_[r].program->streams) {
            const Ps at = ranks_[r].streams[static_cast<std::size_t>(s)].wake_at;
            if (at != kNever) {
                schedule(at, Kind::Wake, subject_of(r, static_cast<std::uint32_t>(s)), r);
            }
        }
    }
}

}  // namespace memwall
