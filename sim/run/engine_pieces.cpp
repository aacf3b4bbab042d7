// Pieces: runs of ops that nothing can interrupt, played in one loop without events (design.md section 8b).
//
// A piece is played when all ranks of its tp group have come to it, from their clocks at that instant. Kernels take the
// duration of the communication blocks resident at their start: those of other transfers, from the log that the rank keeps
// since it entered the piece, and those of the piece's own tp collectives. When residency changes later on, the piece is
// played again with the longer log: ops that have started come out as before, the rest may change. All tp collectives of a
// piece end before its last kernel starts, so a rank that has left the piece has no influence any more on the others.
#include <limits>

#include "sim/core/check.h"
#include "sim/run/engine_impl.h"

namespace memwall {

void Engine::enter_piece(std::uint32_t r) {
    RankState& rank = ranks_[r];
    StreamState& compute = rank.streams[static_cast<std::size_t>(Stream::Compute)];
    StreamState& tp = rank.streams[static_cast<std::size_t>(Stream::Tp)];
    MW_CHECK(!compute.busy && compute.free_at <= now_,
             "a piece is entered before the compute stream is free");
    compute.busy = true;
    compute.joined = now_;
    RunningPiece& running = rank.running;
    const bool dirty = running.dirty;  // still listed in dirty_ from the piece before
    running = {};
    running.dirty = dirty;
    running.node = compute.node;
    running.step = compute.step;
    running.entry = now_;
    running.host = host_start(rank, node_of(rank, running.node), running.step);
    rank.log.clear();
    rank.log.push_back({now_, level_at_now(rank), rank.blocks, rank.active});
    const Piece& piece = piece_of(rank, running.node);
    if (piece.first_tp == kNone16) {
        running.tp_ready = true;
        evaluate(r);
    } else if (piece.leading_tp) {
        MW_CHECK(tp.node == compute.node && tp.step == compute.step,
                 "a piece is entered by one stream");
        tp.free_at = now_;  // its first op is ready now, not when the stream became free
        tp_is_ready(r);
    } else {
        touch(r, bit(Stream::Tp));
    }
}

void Engine::tp_is_ready(std::uint32_t r) {
    RankState& rank = ranks_[r];
    rank.running.tp_ready = true;
    rank.running.tp_free = rank.streams[static_cast<std::size_t>(Stream::Tp)].free_at;
    const std::uint32_t g = tp_group(r);
    const BoundGroup& group = bound_.groups[g];
    if (++tp_ready_[g] == group.members_end - group.members_begin) {
        tp_ready_[g] = 0;
        evaluate(r);
    }
}

// Plays the piece of this rank, and of its tp group where they meet in it.
void Engine::evaluate(std::uint32_t r) {
    const RunningPiece& running = ranks_[r].running;
    if (piece_of(ranks_[r], running.node).first_tp == kNone16) {
        play_together({&r, 1});
        return;
    }
    const BoundGroup& group = bound_.groups[tp_group(r)];
    const std::span<const std::uint32_t> members(bound_.members.data() + group.members_begin,
                                                 group.members_end - group.members_begin);
    for (const std::uint32_t m : members) {
        if (ranks_[m].running.node != running.node || ranks_[m].running.step != running.step) {
            replay_alone(r);
            return;
        }
    }
    play_together(members);
}

Engine::Player Engine::player_of(std::uint32_t r) {
    const RankState& rank = ranks_[r];
    Player player;
    player.compute = rank.running.entry;
    player.tp = rank.running.tp_free;
    player.host = rank.running.host;
    player.log = rank.log.data();
    player.log_end = rank.log.data() + rank.log.size();
    player.kind = bound_.ranks[r].kind;
    player.level = 0;
    player.durations = bound_.kernels.column(player.kind, 0);
    return player;
}

bool Engine::alike(std::uint32_t a, std::uint32_t b) const {
    const RankState& x = ranks_[a];
    const RankState& y = ranks_[b];
    return bound_.ranks[a].kind == bound_.ranks[b].kind && x.running.entry == y.running.entry &&
           x.running.tp_free == y.running.tp_free && x.running.host == y.running.host &&
           x.log.size() == y.log.size() &&
           std::equal(
               x.log.begin(), x.log.end(), y.log.begin(), [](const LogEntry& p, const LogEntry& q) {
                   return p.time == q.time && p.at == q.at && p.after == q.after;
               });
}

// Ends a kernel that starts at `start`.
Ps Engine::play_kernel(Player& player, Ps start, std::uint32_t work, std::span<const TpSpan> tp) {
    while (player.log + 1 < player.log_end && player.log[1].time <= start) {
        ++player.log;
    }
    std::int32_t level = player.log->time == start ? player.log->at : player.log->after;
    while (player.tp_next < tp.size() && tp[player.tp_next].end <= start) {
        ++player.tp_next;
    }
    if (player.tp_next < tp.size() && tp[player.tp_next].start < start) {
        level += tp[player.tp_next].blocks;
    }
    if (level != player.level) {
        player.level = level;
        player.durations = bound_.kernels.column(player.kind, level);
    }
    player.last_start = start;
    player.compute = start + player.durations[work];
    return player.compute;
}

void Engine::play_together(std::span<const std::uint32_t> ranks) {
    const RankState& lead = ranks_[ranks.front()];
    const Piece& piece = piece_of(lead, lead.running.node);
    const CodeOp* ops = ops_of(piece);
    const std::uint32_t* transfers = nullptr;
    if (piece.first_tp != kNone16) {
        transfers =
            bound_.group_transfers.data() + bound_.groups[tp_group(ranks.front())].transfers;
    }
    std::size_t k = 1;
    for (std::size_t m = 1; m < ranks.size(); ++m) {
        if (!alike(ranks[0], ranks[m])) {
            k = ranks.size();
            break;
        }
    }
    const bool first = !lead.running.evaluated;
    if (first && transfers != nullptr && measured(lead, lead.running.step)) {
        count_tp(ranks.front(), 1);
    }
    if (k == 1) {
        const std::uint32_t memo = find_memo(ranks.front());
        if (memo != kNone32) {
            const Span* exports = memo_exports_.data() + memos_[memo].exports;
            for (const std::uint32_t r : ranks) {
                ranks_[r].running.dirty = false;
                ranks_[r].running.memo = memo;
                publish(r, memos_[memo].end, exports, 1, ranks_[r].running.entry, first);
            }
            return;
        }
    }
    players_.clear();
    for (std::size_t m = 0; m < k; ++m) {
        players_.push_back(player_of(ranks[m]));
    }
    ends_.resize(piece.size() * k);
    exports_.resize(std::size_t{piece.records} * k);
    tp_spans_.clear();
    Ps slack = std::numeric_limits<Ps>::max();  // by which the host was ahead of the first player
    for (std::uint32_t i = 0; i < piece.size(); ++i) {
        const CodeOp& op = ops[i];
        if (op.stream == Stream::Compute) {
            for (std::size_t m = 0; m < k; ++m) {
                Player& player = players_[m];
                Ps start = player.compute;
                for (std::uint8_t w = 0; w < op.waits; ++w) {
                    start = std::max(start, ends_[op.wait[w] * k + m]);
                }
                slack = std::min(slack, start - (player.host + op.issue));
                start = std::max(start, player.host + op.issue);
                const Ps end = play_kernel(player, start, op.work, tp_spans_);
                ends_[i * k + m] = end;
                if (op.record != kNone16) {
                    exports_[op.record * k + m] = {start, start, end};
                }
            }
            continue;
        }
        Ps start = 0;
        for (std::size_t m = 0; m < k; ++m) {
            Ps join = players_[m].tp;
            for (std::uint8_t w = 0; w < op.waits; ++w) {
                join = std::max(join, ends_[op.wait[w] * k + m]);
            }
            slack = std::min(slack, join - (players_[m].host + op.issue));
            join = std::max(join, players_[m].host + op.issue);
            ends_[i * k + m] = join;
            start = std::max(start, join);
        }
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a tp collective has a tp group
        const BoundTransfer& transfer = bound_.transfers[transfers[bound_.call_in_role[op.work]]];
        MW_CHECK(transfer.streams != 0, "a transfer that no program makes is played");
        const Ps end = start + transfer.delay + transfer.flow;
        tp_spans_.push_back({start, end, transfer.blocks});
        for (std::size_t m = 0; m < k; ++m) {
            if (op.record != kNone16) {
                exports_[op.record * k + m] = {ends_[i * k + m], start, end};
            }
            ends_[i * k + m] = end;
            players_[m].tp = end;
        }
    }
    if (k == 1 && slack >= 0 && lead.log.size() == 1 &&
        lead.running.tp_free <= lead.running.entry) {
        make_memo(ranks.front(), players_.front(), slack);
    }
    for (std::size_t m = 0; m < ranks.size(); ++m) {
        const std::size_t of = k == 1 ? 0 : m;
        RankState& rank = ranks_[ranks[m]];
        rank.running.dirty = false;
        rank.running.memo = kNone32;
        rank.tp.assign(tp_spans_.begin(), tp_spans_.end());
        const Player& player = players_[of];
        publish(ranks[m],
                {player.compute, player.tp, player.last_start},
                exports_.data() + of,
                k,
                0,
                first);
    }
}

// The tp collectives of the piece that the rank is in.
void Engine::count_tp(std::uint32_t lead, double part) {
    const Piece& piece = piece_of(ranks_[lead], ranks_[lead].running.node);
    const std::uint32_t first = bound_.groups[tp_group(lead)].transfers;
    const CodeOp* ops = ops_of(piece);
    for (std::uint16_t i = piece.first_tp; i != kNone16; i = ops[i].next) {
        carried_[bound_.group_transfers[first + bound_.call_in_role[ops[i].work]]] += part;
    }
}

// A memo that holds for the piece that the rank is in, as things are now.
std::uint32_t Engine::find_memo(std::uint32_t r) const {
    const RankState& rank = ranks_[r];
    const RunningPiece& running = rank.running;
    if (rank.log.size() != 1 || running.tp_free > running.entry) {
        return kNone32;
    }
    const std::uint32_t piece = rank.program->nodes[running.node].piece;
    const std::uint32_t times = tp_times_[tp_group(r)];
    std::uint32_t m = first_memo_[piece];
    for (; m != kNone32; m = memos_[m].next) {
        const PieceMemo& memo = memos_[m];
        if (memo.kind == bound_.ranks[r].kind && memo.at == rank.log[0].at &&
            memo.after == rank.log[0].after && memo.tp_times == times) {
            return running.host - running.entry <= memo.slack ? m : kNone32;
        }
    }
    return kNone32;
}

void Engine::make_memo(std::uint32_t r, const Player& player, Ps slack) {
    const RankState& rank = ranks_[r];
    const Ps entry = rank.running.entry;
    const std::uint32_t p = rank.program->nodes[rank.running.node].piece;
    PieceMemo memo;
    memo.next = first_memo_[p];
    memo.kind = bound_.ranks[r].kind;
    memo.tp_times = tp_times_[tp_group(r)];
    memo.at = rank.log[0].at;
    memo.after = rank.log[0].after;
    memo.slack = slack + rank.running.host - entry;
    memo.end = {player.compute - entry, player.tp - entry, player.last_start - entry};
    memo.exports = static_cast<std::uint32_t>(memo_exports_.size());
    for (std::uint32_t i = 0; i < code_.pieces[p].records; ++i) {
        const Span& span = exports_[i];
        memo_exports_.push_back({span.join - entry, span.start - entry, span.end - entry});
    }
    memo.tp_begin = static_cast<std::uint32_t>(memo_tp_.size());
    for (const TpSpan& span : tp_spans_) {
        memo_tp_.push_back({span.start - entry, span.end - entry, span.blocks});
    }
    memo.tp_end = static_cast<std::uint32_t>(memo_tp_.size());
    first_memo_[p] = static_cast<std::uint32_t>(memos_.size());
    memos_.push_back(memo);
}

// RankState::tp of a piece that went by a memo.
void Engine::fill_tp(RankState& rank) const {
    if (rank.running.memo == kNone32) {
        return;
    }
    const PieceMemo& memo = memos_[rank.running.memo];
    rank.tp.clear();
    for (std::uint32_t i = memo.tp_begin; i < memo.tp_end; ++i) {
        const TpSpan& span = memo_tp_[i];
        rank.tp.push_back(
            {span.start + rank.running.entry, span.end + rank.running.entry, span.blocks});
    }
}

// Others have left the piece: its tp collectives are over, only kernels of this rank are still to come.
void Engine::replay_alone(std::uint32_t r) {
    RankState& rank = ranks_[r];
    const Piece& piece = piece_of(rank, rank.running.node);
    const CodeOp* ops = ops_of(piece);
    fill_tp(rank);
    rank.running.memo = kNone32;
    Player player = player_of(r);
    ends_.resize(piece.size());
    exports_.resize(piece.records);
    std::size_t next_tp = 0;
    for (std::uint32_t i = 0; i < piece.size(); ++i) {
        const CodeOp& op = ops[i];
        Ps start = std::max(op.stream == Stream::Compute ? player.compute : player.tp,
                            player.host + op.issue);
        for (std::uint8_t w = 0; w < op.waits; ++w) {
            start = std::max(start, ends_[op.wait[w]]);
        }
        if (op.stream == Stream::Compute) {
            ends_[i] = play_kernel(
                player, start, op.work, std::span<const TpSpan>(rank.tp.data(), next_tp));
        } else {
            player.tp = rank.tp[next_tp++].end;
            ends_[i] = player.tp;
        }
        if (op.record != kNone16) {
            exports_[op.record] = {
                start, op.stream == Stream::Compute ? start : rank.tp[next_tp - 1].start, ends_[i]};
        }
    }
    publish(r, {player.compute, player.tp, player.last_start}, exports_.data(), 1, 0, false);
}

// Makes the results known to the rank's other ops.
void Engine::publish(std::uint32_t r,
                     const PieceEnd& end,
                     const Span* exports,
                     std::size_t stride,
                     Ps base,
                     bool first) {
    RankState& rank = ranks_[r];
    RunningPiece& running = rank.running;
    const CodeNode& node = node_of(rank, running.node);
    const Piece& piece = code_.pieces[node.piece];
    std::uint16_t streams = bit(Stream::Compute);
    for (std::uint32_t i = 0; i < piece.records; ++i) {
        const Span& span = exports[i * stride];
        record(rank, node.records + i) = {{base + span.join, base + span.start, base + span.end},
                                          running.step};
        streams = static_cast<std::uint16_t>(streams | rank.program->waiters[node.records + i]);
    }
    running.exit = base + end.compute;
    running.tp_exit = base + end.tp;
    running.last_kernel_start = base + end.last_start;
    StreamState& compute = rank.streams[static_cast<std::size_t>(Stream::Compute)];
    StreamState& tp = rank.streams[static_cast<std::size_t>(Stream::Tp)];
    if (first) {
        running.evaluated = true;
        ++events_;
        ops_ += rank.job == 0 ? piece.size() : 0;
        compute.busy = false;
        next_node(rank, compute, Stream::Compute);
        running.compute_wraps = compute.step != running.step;
        if (running.compute_wraps) {
            step_over(r, Stream::Compute, running.step, running.exit, true);
        }
        if (piece.first_tp != kNone16) {
            next_node(rank, tp, Stream::Tp);
            running.tp_wraps = tp.step != running.step;
            if (running.tp_wraps) {
                step_over(r, Stream::Tp, running.step, running.tp_exit, true);
            }
        }
    } else {
        if (running.compute_wraps && compute.finish_at != kNever) {
            step_over(r, Stream::Compute, running.step, running.exit, true);
        }
        if (running.tp_wraps && tp.finish_at != kNever) {
            step_over(r, Stream::Tp, running.step, running.tp_exit, true);
        }
    }
    compute.free_at = running.exit;
    if (piece.first_tp != kNone16 && (first || running.tp_exit > now_)) {
        tp.free_at = running.tp_exit;
        streams = static_cast<std::uint16_t>(streams | bit(Stream::Tp));
    }
    touch(r, streams);
}

// Once for its tp group.
void Engine::count_background_piece(std::uint32_t r) {
    const RunningPiece& running = ranks_[r].running;
    const std::uint32_t group = tp_group(r);
    if (running.evaluated && group != kNone32 &&
        bound_.members[bound_.groups[group].members_begin] == r) {
        count_tp(r, part_inside(running.entry, running.exit, now_));
    }
}

void Engine::leave_piece(std::uint32_t r) {
    RankState& rank = ranks_[r];
    if (rank.running.node == kNone32) {
        return;
    }
    MW_CHECK(rank.running.evaluated && rank.running.exit <= now_, "a piece is left before its end");
    if (measured(rank, rank.running.step)) {
        account_piece(r);
    }
    if (rank.job != 0) {
        count_background_piece(r);
    }
    rank.mark = rank.running.exit;
    rank.running.node = kNone32;
    rank.running.evaluated = false;
}

}  // namespace memwall
