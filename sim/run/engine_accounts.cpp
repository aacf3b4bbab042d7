// Where the measured step went, rank by rank (glossary.md, "Breakdown"). The compute stream is accounted for in order: a
// kernel when the next op starts, a gap when the op that ends it starts. In a gap, an instant counts as exposed communication
// if a transfer that the next op waits for, directly or through other transfers, is in progress; else as bubble or imbalance
// if such a transfer waits for a peer; else the launch has not been issued: host.
#include <algorithm>

#include "sim/core/check.h"
#include "sim/run/engine_impl.h"

namespace memwall {

void Engine::account_before(std::uint32_t r, const StreamState& stream) {
    RankState& rank = ranks_[r];
    leave_piece(r);
    if (!measured(rank, stream.step)) {
        return;
    }
    account_kernel(rank);
    if (inside(rank.mark, now_) == 0) {
        return;
    }
    Root root{stream.node, stream.step, nullptr};
    const Piece& piece = piece_of(rank, stream.node);
    if (piece.size() > 1 && !at_one_go(rank, piece)) {
        root.spans = open_node(rank, stream.node, stream.step).spans.data();
    }
    const Ps from = std::max(rank.mark, window_);
    begin_gathering(root);
    gather(rank, stream.node, stream.op, stream.step, from);
    if (piece.leading_tp && root.spans == nullptr) {
        gather(rank, stream.node, 0, stream.step, from);  // what its first tp op waited for
    }
    if (rank.drain_end != kNever && rank.drain_end > from) {
        gather_last(
            rank, rank.drain_records, from);  // the host could not issue before these had ended
    }
    attribute(rank, from, now_, &Breakdown::host);
}

void Engine::account_kernel(RankState& rank) {
    if (rank.kernel_start != kNever) {
        add_kernel(
            rank, rank.kernel_category, rank.kernel_start, rank.kernel_end, rank.kernel_growth);
        rank.kernel_start = kNever;
    }
}

void Engine::add_kernel(RankState& rank, Category category, Ps start, Ps end, Ps growth) const {
    const Ps time = inside(start, end);
    Breakdown& b = rank.breakdown;
    Duration& label = category == Category::Recompute   ? b.recompute
                      : category == Category::Optimizer ? b.optimizer
                                                        : b.compute;
    label += Duration(time);
    b.interference += Duration(std::min(growth, time));
}

// A collective or exchange on the compute stream has ended.
void Engine::account_blocking(std::uint32_t r, const StreamState& stream, const Span& span) {
    RankState& rank = ranks_[r];
    if (measured(rank, stream.step) && inside(span.join, now_) > 0) {
        const CodeNode& node = node_of(rank, stream.node);
        const CodeOp& op = ops_of(code_.pieces[node.piece])[stream.op];
        intervals_.clear();
        if (op.kind == OpKind::Exchange) {
            const std::size_t transfers = code_.jobs[rank.job]->exchanges[op.work].transfers.size();
            for (std::size_t t = 0; t < transfers; ++t) {
                const std::uint32_t index = rank.program->transfers[node.transfers + t].record;
                intervals_.push_back({record(rank, index).span, op.category, true});
            }
        } else {
            intervals_.push_back({span, op.category, waits_on_pipeline(rank, op)});
        }
        attribute(rank, std::max(span.join, window_), now_, &Breakdown::idle);
    }
    rank.mark = now_;
}

// The piece that the rank leaves. What a memo says holds if nothing changed up to the end and all of it is measured.
void Engine::account_piece(std::uint32_t r) {
    RankState& rank = ranks_[r];
    const RunningPiece& running = rank.running;
    if (inside(running.entry, running.exit) == 0 && !rank.in_timeline) {
        return;
    }
    const bool by_memo = running.memo != kNone32 && rank.log.size() == 1 && window_ != kNever &&
                         window_ <= running.entry && !rank.in_timeline;
    if (!by_memo) {
        fill_tp(rank);
        account_played_piece(r);
        return;
    }
    PieceMemo& memo = memos_[running.memo];
    if (!memo.accounted) {
        memo.accounted = true;
        for (std::uint32_t i = memo.tp_begin; i < memo.tp_end; ++i) {
            memo.communication += memo_tp_[i].end - memo_tp_[i].start;
        }
        std::swap(memo.breakdown, rank.breakdown);  // an empty one for the piece alone
        const Ps communication = rank.communication;
        fill_tp(rank);
        account_played_piece(r);
        rank.communication = communication;
        std::swap(memo.breakdown, rank.breakdown);
    }
    rank.breakdown += memo.breakdown;
    rank.communication += rank.log[0].active == 0 ? memo.communication : 0;
}

// As it was played last, with the times of its tp collectives.
void Engine::account_played_piece(std::uint32_t r) {
    RankState& rank = ranks_[r];
    const RunningPiece& running = rank.running;
    const CodeNode& node = node_of(rank, running.node);
    const Piece& piece = code_.pieces[node.piece];
    const CodeOp* ops = ops_of(piece);
    const Ps* alone = bound_.kernels.column(bound_.ranks[r].kind, 0);
    Player player = player_of(r);
    spans_.resize(piece.size());
    const Root root{running.node, running.step, spans_.data()};
    std::size_t next_tp = 0;
    std::size_t entry = 0;  // of the log
    for (std::uint16_t i = 0; i < piece.size(); ++i) {
        const CodeOp& op = ops[i];
        const bool compute = op.stream == Stream::Compute;
        Ps start = std::max(compute ? player.compute : player.tp, player.host + op.issue);
        for (std::uint8_t w = 0; w < op.waits; ++w) {
            start = std::max(start, spans_[op.wait[w]].end);
        }
        if (compute) {
            if (inside(player.compute, start) > 0) {
                const Ps from = std::max(player.compute, window_);
                begin_gathering(root);
                gather(rank, running.node, i, running.step, from);
                attribute(rank, from, start, &Breakdown::host);
            }
            const Ps end = play_kernel(
                player, start, op.work, std::span<const TpSpan>(rank.tp.data(), next_tp));
            spans_[i] = {start, start, end};
            add_kernel(rank, op.category, start, end, end - start - alone[op.work]);
        } else {
            const TpSpan& tp = rank.tp[next_tp++];
            spans_[i] = {start, tp.start, tp.end};
            player.tp = tp.end;
            // What no other transfer of the rank covers.
            while (entry + 1 < rank.log.size() && rank.log[entry + 1].time <= tp.start) {
                ++entry;
            }
            for (std::size_t e = entry; e < rank.log.size() && rank.log[e].time < tp.end; ++e) {
                const Ps until =
                    e + 1 < rank.log.size() ? std::min(rank.log[e + 1].time, tp.end) : tp.end;
                if (rank.log[e].active == 0) {
                    account_communication(rank, std::max(rank.log[e].time, tp.start), until);
                }
            }
        }
        if (rank.in_timeline) {
            timeline_.push_back(
                {r, running.node, i, player.host + op.issue, spans_[i].start, spans_[i].end});
        }
    }
    MW_CHECK(player.compute == running.exit,
             "a piece is accounted for otherwise than it was played");
}

// After its last compute op a rank waits for what it has in flight, as the next step would; then it is idle, in a pipeline
// because other stages drain.
void Engine::account_end(std::uint32_t r, Ps end) {
    RankState& rank = ranks_[r];
    leave_piece(r);
    account_kernel(rank);
    if (inside(rank.mark, end) == 0) {
        return;
    }
    const Ps from = std::max(rank.mark, window_);
    begin_gathering({});
    std::array<RecordAt, kStreams> last{};
    for (std::size_t s = 0; s < kStreams; ++s) {
        last[s] = rank.streams[s].last_record;
    }
    gather_last(rank, last, from);
    const bool pipelined = code_.jobs[rank.job]->programs.size() > 1;
    attribute(rank, from, end, pipelined ? &Breakdown::bubble : &Breakdown::idle);
}

void Engine::begin_gathering(const Root& root) {
    intervals_.clear();
    ++gathering_;
    root_ = root;
}

void Engine::gather(
    const RankState& rank, std::uint32_t node, std::uint16_t op, std::uint32_t step, Ps from) {
    pending_.push_back({node, step, op});
    gather_pending(rank, from);
}

void Engine::gather_last(const RankState& rank,
                         const std::array<RecordAt, kStreams>& records,
                         Ps from) {
    for (const RecordAt last : records) {
        if (last.index != kNone32) {
            gather_record(rank, last.index, last.step, from);
        }
    }
    gather_pending(rank, from);
}

void Engine::gather_pending(const RankState& rank, Ps from) {
    while (!pending_.empty()) {
        const OpAt at = pending_.back();
        pending_.pop_back();
        const CodeNode& node = node_of(rank, at.node);
        const CodeOp& op = ops_of(code_.pieces[node.piece])[at.op];
        for (std::uint8_t w = 0; w < op.waits; ++w) {
            gather_local(rank, at.node, op.wait[w], at.step, from);
        }
        if (op.stream != Stream::Compute) {
            if (op.before != kNone16) {
                gather_local(rank, at.node, op.before, at.step, from);
            } else if (node.stream_before != kNone32 &&
                       (!node.before_previous_step || at.step > 0)) {
                gather_record(rank,
                              node.stream_before,
                              node.before_previous_step ? at.step - 1 : at.step,
                              from);
            }
        }
        for (std::uint32_t w = node.waits_begin; w < node.waits_end; ++w) {
            const OutsideWait& wait = rank.program->waits[w];
            if (wait.op == at.op && (!wait.previous_step || at.step > 0)) {
                gather_record(rank, wait.record, wait.previous_step ? at.step - 1 : at.step, from);
            }
        }
    }
}

// An op of the same node. Without times at hand it counts only if it has a record: the others ended before the node left
// the compute stream.
void Engine::gather_local(
    const RankState& rank, std::uint32_t n, std::uint16_t at, std::uint32_t step, Ps from) {
    const CodeNode& node = node_of(rank, n);
    const CodeOp& op = ops_of(code_.pieces[node.piece])[at];
    if (op.stream == Stream::Compute) {
        return;
    }
    if (root_.spans == nullptr || root_.node != n || root_.step != step) {
        if (op.record != kNone16) {
            gather_record(rank, node.records + op.record, step, from);
        }
        return;
    }
    const Span& span = root_.spans[at];
    if (span.end <= from) {
        return;
    }
    intervals_.push_back({span, op.category, waits_on_pipeline(rank, op)});
    if (span.join > from) {
        pending_.push_back({n, step, at});
    }
}

void Engine::gather_record(const RankState& rank,
                           std::uint32_t index,
                           std::uint32_t step,
                           Ps from) {
    const Record& of = record(rank, index);
    std::uint32_t& gathered = gathered_[rank.records + index];
    if (of.step != step || of.span.end <= from || gathered == gathering_) {
        return;
    }
    gathered = gathering_;
    const RecordOf& where = rank.program->records[index];
    const CodeNode& node = node_of(rank, where.node);
    const CodeOp& op = ops_of(code_.pieces[node.piece])[where.op];
    if (op.stream == Stream::Compute) {
        return;  // accounted for in its own turn
    }
    if (op.kind == OpKind::Exchange) {
        const std::size_t transfers = code_.jobs[rank.job]->exchanges[op.work].transfers.size();
        for (std::size_t t = 0; t < transfers; ++t) {
            intervals_.push_back(
                {record(rank, rank.program->transfers[node.transfers + t].record).span,
                 op.category,
                 true});
        }
    } else {
        intervals_.push_back({of.span, op.category, waits_on_pipeline(rank, op)});
    }
    if (of.span.join > from) {
        pending_.push_back({where.node, step, where.op});
    }
}

// A peer that has not come is of another stage, and the pipeline between them fills or drains.
bool Engine::waits_on_pipeline(const RankState& rank, const CodeOp& op) const {
    if (op.kind == OpKind::Exchange) {
        return true;
    }
    if (op.kind != OpKind::Collective) {
        return false;
    }
    const ProgramSet& set = *code_.jobs[rank.job];
    const GroupRole role = set.collectives[op.work - code_.first_collective[rank.job]].role;
    return set.programs.size() > 1 &&
           (role == GroupRole::Pp || role == GroupRole::Embedding || role == GroupRole::World);
}

void Engine::attribute(RankState& rank, Ps from, Ps to, Duration Breakdown::* rest) {
    cuts_.clear();
    cuts_.push_back(from);
    for (const Interval& i : intervals_) {
        for (const Ps at : {i.span.join, i.span.start, i.span.end}) {
            if (at > from && at < to) {
                cuts_.push_back(at);
            }
        }
    }
    cuts_.push_back(to);
    std::sort(cuts_.begin(), cuts_.end());
    const auto earlier = [](const Interval& a, const Interval& b) {
        return a.span.join < b.span.join;
    };
    std::sort(intervals_.begin(), intervals_.end(), earlier);
    open_intervals_.clear();
    auto next = intervals_.begin();
    for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) {
        if (cuts_[c] < cuts_[c + 1]) {
            for (; next != intervals_.end() && next->span.join <= cuts_[c]; ++next) {
                open_intervals_.push_back(*next);
            }
            std::erase_if(open_intervals_,
                          [&](const Interval& i) { return i.span.end <= cuts_[c]; });
            attribute_instant(rank, cuts_[c], cuts_[c + 1], rest);
        }
    }
}

// Nothing begins or ends inside [from, to]; open_intervals_ are those around it.
void Engine::attribute_instant(RankState& rank, Ps from, Ps to, Duration Breakdown::* rest) {
    const Interval* transfer = nullptr;  // in progress; the one that ends last
    bool bubble = false;
    bool imbalance = false;
    bool other = false;
    for (const Interval& i : open_intervals_) {
        if (i.span.start <= from) {
            const bool communication =
                i.category >= Category::TpComm && i.category < Category::None;
            other = other || !communication;
            if (communication &&
                (transfer == nullptr || i.span.end > transfer->span.end ||
                 (i.span.end == transfer->span.end && i.category < transfer->category))) {
                transfer = &i;
            }
        } else {
            bubble = bubble || i.pipeline;
            imbalance = imbalance || !i.pipeline;
        }
    }
    Breakdown& b = rank.breakdown;
    Duration& label = transfer != nullptr ? b.exposed[static_cast<std::size_t>(transfer->category)]
                      : bubble            ? b.bubble
                      : imbalance         ? b.imbalance
                      : other             ? b.idle
                                          : b.*rest;
    label += Duration(to - from);
}

}  // namespace memwall
