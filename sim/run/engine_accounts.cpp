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
    gather(rank, root, stream.op, from);
    if (piece.leading_tp && root.spans == nullptr) {
        gather_op(rank, stream.node, 0, stream.step, from);  // what its first tp op waited for
    }
    if (rank.drain_end != kNever && rank.drain_end > from) {
        gather_last(
            rank, rank.drain_records, from);  // the host could not issue before these had ended
    }
    attribute(rank, from, now_, false);
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
            intervals_.push_back({span, op.category, false});
        }
        attribute(rank, std::max(span.join, window_), now_, true);
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
                gather(rank, root, i, from);
                attribute(rank, from, start, false);
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
            timeline_.push_back({r, running.node, i, spans_[i].start, spans_[i].end});
        }
    }
    MW_CHECK(player.compute == running.exit,
             "a piece is accounted for otherwise than it was played");
}

// After its last compute op a rank waits for what it has in flight, as the next step would; then it is idle.
void Engine::account_end(std::uint32_t r, Ps end) {
    RankState& rank = ranks_[r];
    leave_piece(r);
    account_kernel(rank);
    if (inside(rank.mark, end) == 0) {
        return;
    }
    const Ps from = std::max(rank.mark, window_);
    intervals_.clear();
    gathered_.clear();
    root_ = {};
    std::array<RecordAt, kStreams> last{};
    for (std::size_t s = 0; s < kStreams; ++s) {
        last[s] = rank.streams[s].last_record;
    }
    gather_last(rank, last, from);
    attribute(rank, from, end, true);
}

void Engine::gather(const RankState& rank, const Root& root, std::uint16_t op, Ps from) {
    intervals_.clear();
    gathered_.clear();
    root_ = root;
    gather_op(rank, root.node, op, root.step, from);
}

void Engine::gather_last(const RankState& rank,
                         const std::array<RecordAt, kStreams>& records,
                         Ps from) {
    for (const RecordAt last : records) {
        if (last.index != kNone32) {
            gather_record(rank, last.index, last.step, from);
        }
    }
}

void Engine::gather_op(
    const RankState& rank, std::uint32_t n, std::uint16_t at, std::uint32_t step, Ps from) {
    const CodeNode& node = node_of(rank, n);
    const CodeOp& op = ops_of(code_.pieces[node.piece])[at];
    for (std::uint8_t w = 0; w < op.waits; ++w) {
        gather_local(rank, n, op.wait[w], step, from);
    }
    if (op.stream != Stream::Compute) {
        if (op.before != kNone16) {
            gather_local(rank, n, op.before, step, from);
        } else if (node.stream_before != kNone32 && (!node.before_previous_step || step > 0)) {
            gather_record(
                rank, node.stream_before, node.before_previous_step ? step - 1 : step, from);
        }
    }
    for (std::uint32_t w = node.waits_begin; w < node.waits_end; ++w) {
        const OutsideWait& wait = rank.program->waits[w];
        if (wait.op == at && (!wait.previous_step || step > 0)) {
            gather_record(rank, wait.record, wait.previous_step ? step - 1 : step, from);
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
    intervals_.push_back({span, op.category, false});
    if (span.join > from) {
        gather_op(rank, n, at, step, from);
    }
}

void Engine::gather_record(const RankState& rank,
                           std::uint32_t index,
                           std::uint32_t step,
                           Ps from) {
    const Record& of = record(rank, index);
    if (of.step != step || of.span.end <= from ||
        std::find(gathered_.begin(), gathered_.end(), index) != gathered_.end()) {
        return;
    }
    gathered_.push_back(index);
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
        intervals_.push_back({of.span, op.category, false});
    }
    if (of.span.join > from) {
        gather_op(rank, where.node, where.op, step, from);
    }
}

void Engine::attribute(RankState& rank, Ps from, Ps to, bool rest_is_idle) {
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
    for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) {
        if (cuts_[c] < cuts_[c + 1]) {
            attribute_instant(rank, cuts_[c], cuts_[c + 1], rest_is_idle);
        }
    }
}

// Nothing begins or ends inside [from, to].
void Engine::attribute_instant(RankState& rank, Ps from, Ps to, bool rest_is_idle) {
    const Interval* transfer = nullptr;  // in progress; the one that ends last
    bool bubble = false;
    bool imbalance = false;
    bool other = false;
    for (const Interval& i : intervals_) {
        if (i.span.start <= from && from < i.span.end) {
            const bool communication =
                i.category >= Category::TpComm && i.category < Category::None;
            other = other || !communication;
            if (communication &&
                (transfer == nullptr || i.span.end > transfer->span.end ||
                 (i.span.end == transfer->span.end && i.category < transfer->category))) {
                transfer = &i;
            }
        } else if (i.span.join <= from && from < i.span.start) {
            bubble = bubble || i.exchange;
            imbalance = imbalance || !i.exchange;
        }
    }
    Breakdown& b = rank.breakdown;
    Duration& label = transfer != nullptr ? b.exposed[static_cast<std::size_t>(transfer->category)]
                      : bubble            ? b.bubble
                      : imbalance         ? b.imbalance
                      : other || rest_is_idle ? b.idle
                                              : b.host;
    label += Duration(to - from);
}

}  // namespace memwall
