#pragma once
// The engine as a class. Internal: engine.h is the way in. The loop is in engine.cpp, ops of ranks in engine_ops.cpp, pieces
// played at one go in engine_pieces.cpp, rounds that repeat in engine_rounds.cpp, the accounts of the measured step in
// engine_accounts.cpp.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/fluid.h"
#include "sim/run/engine_state.h"

namespace memwall {

class Engine {
  public:
    Engine(Bound& bound, const EngineOptions& options);
    Played run();

  private:
    // Events, in the order in which those of one instant are applied.
    enum class Kind : std::uint32_t {
        End,     // of an activity
        Flow,    // its delay is over: it enters the network
        Finish,  // a piece that ends a step on a stream has ended; subject: rank and stream
        Wake,    // an op may be ready; subject: rank and stream, or rank and kStreams for a drain
    };

    // engine.cpp: the loop
    void retire();
    void apply(const Event& event);
    void issue();
    void share();
    // of: a rank whose job it is about.
    void schedule(Ps time, Kind kind, std::uint32_t subject, std::uint32_t of) {
        const bool first_job = ranks_[of].job == 0;
        first_job_pending_ += first_job ? 1 : 0;
        queue_.push({Time(Duration(time)),
                     static_cast<std::uint32_t>(kind),
                     subject,
                     first_job ? std::uint64_t{0} : std::uint64_t{1}});
    }
    [[nodiscard]] std::uint32_t rank_of(const Activity& activity) const {
        switch (activity.kind) {
        case Activity::Kind::Message:
            return activity.ranks[0];
        case Activity::Kind::StepMessage:
            return rank_of(activities_[activity.collective]);
        case Activity::Kind::Collective:
        case Activity::Kind::Free:
            break;
        }
        return bound_.members[bound_.groups[activity.group].members_begin];
    }
    static std::uint32_t subject_of(std::uint32_t rank, std::uint32_t stream) {
        return rank * 16 + stream;
    }
    static constexpr std::uint16_t bit(Stream s) {
        return static_cast<std::uint16_t>(1U << static_cast<unsigned>(s));
    }
    void touch(std::uint32_t r, std::uint16_t streams) {
        ranks_[r].unseen = static_cast<std::uint16_t>(ranks_[r].unseen | streams);
        if (!ranks_[r].touched) {
            ranks_[r].touched = true;
            touched_.push_back(r);
        }
    }
    static std::uint16_t used_streams(const CodeProgram& program) {
        std::uint16_t all = 0;
        for (const Stream s : program.streams) {
            all = static_cast<std::uint16_t>(all | bit(s));
        }
        return all;
    }
    void finish_step(std::uint32_t r, std::uint32_t step, Ps at);
    [[nodiscard]] std::vector<BlockedRank> blocked() const;
    [[nodiscard]] Played collect();
    void number_tp_times();

    // engine_ops.cpp: streams, waits, collectives, messages
    void advance(std::uint32_t r, Stream s);
    bool try_drain(std::uint32_t r);
    [[nodiscard]] Ps host_start(const RankState& rank,
                                const CodeNode& node,
                                std::uint32_t step) const;
    [[nodiscard]] Ps ready_at(std::uint32_t r, Stream s);
    void start_op(std::uint32_t r, Stream s);
    void start_kernel(std::uint32_t r, Stream s, const CodeOp& op);
    void join_collective(std::uint32_t r, Stream s, const CodeOp& op);
    void join_exchange(std::uint32_t r, Stream s);
    void op_done(std::uint32_t r, Stream s, const Span& span);
    void next_node(RankState& rank, StreamState& stream, Stream s) const;
    void step_over(std::uint32_t r, Stream s, std::uint32_t step, Ps end, bool revisable);
    OpenNode& open_node(RankState& rank, std::uint32_t node, std::uint32_t step);
    std::uint32_t new_activity();
    void start_activity(std::uint32_t a);
    void start_step(std::uint32_t a);
    void end_step_message(std::uint32_t a);
    void start_flow(std::uint32_t a);
    void end_activity(std::uint32_t a);
    void end_message_side(std::uint32_t r, std::uint32_t transfer, Ps start);
    void hold(std::uint32_t r, std::int32_t blocks, Ps start);
    void release(std::uint32_t r, std::int32_t blocks, Ps start);
    void log_residency(RankState& rank, std::uint32_t r, std::int32_t level_before);
    [[nodiscard]] std::int32_t level_at_now(const RankState& rank) const {
        return rank.fresh_at == now_ ? rank.blocks - rank.fresh : rank.blocks;
    }

    // engine_pieces.cpp
    [[nodiscard]] static bool at_one_go(const RankState& rank, const Piece& piece) {
        return piece.coalescable && (rank.tp_isolated || piece.first_tp == kNone16);
    }
    void enter_piece(std::uint32_t r);
    void tp_is_ready(std::uint32_t r);
    void evaluate(std::uint32_t r);
    // One rank of an island while its piece is played.
    struct Player {
        Ps compute = 0;  // clocks of its streams
        Ps tp = 0;
        Ps host = 0;
        Ps last_start = 0;
        const LogEntry* log = nullptr;
        const LogEntry* log_end = nullptr;
        const Ps* durations = nullptr;
        std::int32_t level = 0;
        std::uint32_t kind = 0;
        std::uint32_t tp_next =
            0;  // the first tp collective that has not ended when its next kernel starts
    };
    [[nodiscard]] Player player_of(std::uint32_t r);
    [[nodiscard]] Ps play_kernel(Player& player,
                                 Ps start,
                                 std::uint32_t work,
                                 std::span<const TpSpan> tp);
    void play_together(std::span<const std::uint32_t> ranks);
    void replay_alone(std::uint32_t r);
    // exports: of the first record, the others `stride` apart; counted from `base`.
    void publish(std::uint32_t r,
                 const PieceEnd& end,
                 const Span* exports,
                 std::size_t stride,
                 Ps base,
                 bool first);
    void count_tp(std::uint32_t lead, double part);
    [[nodiscard]] std::uint32_t find_memo(std::uint32_t r) const;
    void make_memo(std::uint32_t r, const Player& player, Ps slack);
    void fill_tp(RankState& rank) const;
    void leave_piece(std::uint32_t r);
    [[nodiscard]] bool alike(std::uint32_t a, std::uint32_t b) const;

    // engine_rounds.cpp: rounds that go as the one before did
    struct RoundActivity {
        Activity activity;
        FlowState flow;
        [[nodiscard]] std::array<std::uint32_t, 4> key() const {
            if (activity.kind == Activity::Kind::Message) {
                return {1, activity.ranks[0], activity.transfers[0], activity.transfers[1]};
            }
            return {0, activity.group, static_cast<std::uint32_t>(activity.stream), 0};
        }
    };
    struct RoundSnapshot {
        Ps at = 0;
        Ps window = kNever;
        std::uint64_t ops = 0;
        std::vector<RankState> ranks;  // empty: no look has been taken in this step
        std::vector<StepState> rank_steps;
        std::vector<std::uint32_t> arrived;
        std::vector<std::uint32_t> tp_ready;
        std::vector<double> carried;
        std::vector<RoundActivity> activities;
        std::vector<std::vector<Record>> in_progress;  // by rank: records of nodes in progress
    };
    class RoundsCompared;
    [[nodiscard]] const Rounds& rounds_of(std::uint32_t r) const {
        return code_.rounds[bound_.ranks[r].program];
    }
    void look_for_rounds();
    void take_snapshot();
    [[nodiscard]] std::vector<RoundActivity> activities_in_order(const RoundSnapshot* before) const;
    struct RecordRange {
        std::uint32_t first = 0;  // node
        std::uint32_t last = 0;   // node
        std::uint32_t begin = 0;  // records [begin, end)
        std::uint32_t end = 0;
    };
    [[nodiscard]] bool in_rounds(std::uint32_t r, const StreamState& stream) const;
    [[nodiscard]] RecordRange in_progress(std::uint32_t r) const;
    [[nodiscard]] std::vector<Record> records_in_progress(std::uint32_t r) const;
    [[nodiscard]] static std::uint32_t records_end(const RankState& rank, std::uint32_t node);
    [[nodiscard]] std::uint32_t step_of(std::uint32_t r) const {
        return ranks_[r].streams[static_cast<std::size_t>(Stream::Compute)].step;
    }
    void pass_over(std::uint32_t count);
    void pass_over_records(std::uint32_t r, std::uint32_t count);
    void pass_over_rank(std::uint32_t r, std::uint32_t count, Ps by);
    void schedule_again();

    // engine_accounts.cpp: who waits for what, only in the measured step of the first job
    [[nodiscard]] bool measured(const RankState& rank, std::uint32_t step) const {
        return rank.job == 0 && step + 1 == steps_;
    }
    // Part of [from, to] in the measured step. Nothing while the step before has not ended: that is after `now_`.
    [[nodiscard]] Ps inside(Ps from, Ps to) const {
        return window_ == kNever ? 0 : std::max<Ps>(0, to - std::max(from, window_));
    }
    // Part of a transfer of a background job that falls into the measured step, as if it moved evenly.
    [[nodiscard]] double part_inside(Ps start, Ps end, Ps until) const {
        return end > start ? static_cast<double>(inside(start, std::min(end, until))) /
                                 static_cast<double>(end - start)
                           : 0;
    }
    void count_in_flight();
    void count_background_piece(std::uint32_t r);
    void account_before(std::uint32_t r, const StreamState& stream);
    void account_kernel(RankState& rank);
    void account_communication(RankState& rank, Ps from, Ps to) {
        rank.communication += inside(from, to);
    }
    void account_blocking(std::uint32_t r, const StreamState& stream, const Span& span);
    void account_piece(std::uint32_t r);
    void account_played_piece(std::uint32_t r);
    void account_end(std::uint32_t r, Ps end);
    void add_kernel(RankState& rank, Category category, Ps start, Ps end, Ps growth) const;
    struct Interval {
        Span span;
        Category category = Category::None;
        bool pipeline = false;  // while it waits for a peer, that is bubble, not imbalance
    };
    // What an op waits for, directly or through other transfers, as far as it ended after `from`: fills intervals_.
    struct Root {  // the op's own node, whose ops' times are at hand
        std::uint32_t node = kNone32;
        std::uint32_t step = 0;
        const Span* spans = nullptr;
    };
    struct OpAt {
        std::uint32_t node = 0;
        std::uint32_t step = 0;
        std::uint16_t op = 0;
    };
    void begin_gathering(const Root& root);
    void gather(
        const RankState& rank, std::uint32_t node, std::uint16_t op, std::uint32_t step, Ps from);
    void gather_last(const RankState& rank, const std::array<RecordAt, kStreams>& records, Ps from);
    void gather_pending(const RankState& rank, Ps from);
    void gather_local(
        const RankState& rank, std::uint32_t node, std::uint16_t op, std::uint32_t step, Ps from);
    void gather_record(const RankState& rank, std::uint32_t record, std::uint32_t step, Ps from);
    [[nodiscard]] bool waits_on_pipeline(const RankState& rank, const CodeOp& op) const;
    // Splits [from, to] among the labels by intervals_; what no interval explains is `rest`.
    void attribute(RankState& rank, Ps from, Ps to, Duration Breakdown::* rest);
    void attribute_instant(RankState& rank, Ps from, Ps to, Duration Breakdown::* rest);

    [[nodiscard]] const CodeNode& node_of(const RankState& rank, std::uint32_t n) const {
        return rank.program->nodes[n];
    }
    [[nodiscard]] const Piece& piece_of(const RankState& rank, std::uint32_t n) const {
        return code_.pieces[rank.program->nodes[n].piece];
    }
    [[nodiscard]] const CodeOp* ops_of(const Piece& piece) const {
        return code_.ops.data() + piece.ops_begin;
    }
    [[nodiscard]] Record& record(const RankState& rank, std::uint32_t index) {
        return records_[rank.records + index];
    }
    [[nodiscard]] const Record& record(const RankState& rank, std::uint32_t index) const {
        return records_[rank.records + index];
    }
    [[nodiscard]] std::uint32_t tp_group(std::uint32_t r) const {
        return bound_.ranks[r].groups[static_cast<std::size_t>(GroupRole::Tp)];
    }

    Bound& bound_;
    const Code& code_;
    std::uint32_t steps_ = 0;
    EventQueue queue_;
    std::uint64_t first_job_pending_ = 0;  // events of queue_ that are about the first job
    FluidNetwork network_;
    std::vector<std::uint32_t> activity_of_flow_;
    bool network_changed_ = false;
    Ps now_ = 0;
    Ps window_ = kNever;  // start of the measured step, once known
    std::vector<RankState> ranks_;
    std::vector<Record> records_;
    std::vector<Activity> activities_;
    std::vector<std::uint32_t> free_activities_;
    std::vector<std::uint32_t> arrived_;   // by group and stream: members that wait in it
    std::vector<std::uint32_t> tp_ready_;  // by group: members that wait in the piece
    std::vector<std::uint32_t> touched_;
    std::vector<std::uint32_t> dirty_;       // ranks whose running piece must be played again
    std::vector<double> carried_;            // by transfer: how often it ran in the measured step
    std::vector<StepState> rank_steps_;      // of the first job: by rank and step
    std::vector<std::uint32_t> ranks_left_;  // by step: of the first job
    std::vector<Ps> step_end_;
    std::uint64_t events_ = 0;
    std::uint64_t ops_ = 0;
    std::vector<PlayedOp> timeline_;
    // Scratch of pieces and accounts.
    std::vector<Ps> ends_;
    std::vector<Span> spans_;
    std::vector<Player> players_;
    std::vector<TpSpan> tp_spans_;
    std::vector<Interval> intervals_;
    std::vector<Interval> open_intervals_;
    Root root_;
    std::vector<OpAt> pending_;
    std::vector<std::uint32_t> gathered_;  // by record: the gathering that met it last
    std::uint32_t gathering_ = 0;
    std::vector<Ps> cuts_;
    std::vector<Span> exports_;
    // Rounds.
    bool with_rounds_ = false;
    std::uint32_t look_step_ = kNone32;
    std::uint32_t look_at_ = 0;  // node of the first rank at which the next look is due
    RoundSnapshot snapshot_;
    // Pieces that were played before, by piece.
    std::vector<std::uint32_t> first_memo_;
    std::vector<PieceMemo> memos_;
    std::vector<Span> memo_exports_;
    std::vector<TpSpan> memo_tp_;
    std::vector<std::uint32_t> tp_times_;  // by group: groups with equal numbers take equal times
};

}  // namespace memwall
