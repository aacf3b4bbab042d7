#pragma once
// The state of a running simulation. Internal to the engine.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/event_queue.h"
#include "sim/run/bound.h"
#include "sim/run/engine.h"

namespace memwall {

inline constexpr Ps kNever = -1;

// The times of one op on one rank: own readiness (join), start (when all peers have joined), end.
struct Span {
    Ps join = kNever;
    Ps start = kNever;
    Ps end = kNever;
};

struct Record {
    Span span;
    std::uint32_t step =
        kNone32;  // the step it is of; a later step than asked for means: ended long ago
};

// A record of a rank in one step.
struct RecordAt {
    std::uint32_t index = kNone32;
    std::uint32_t step = 0;
};

struct StreamState {
    Ps free_at = 0;              // end of the op before, known, perhaps in the future
    Ps wake_at = kNever;         // of the wake event that is pending
    Ps joined = 0;               // start of waiting of the op in progress
    Ps finish_at = kNever;       // of the last op of a step, when a piece may still change it
    std::uint32_t position = 0;  // in CodeProgram::on_stream
    std::uint32_t step = 0;
    std::uint32_t node = kNone32;  // of the next op; kNone32 = none left
    std::uint32_t left = 0;        // transfers of the exchange in progress
    std::uint32_t finish_step = 0;
    RecordAt last_record;
    std::uint16_t op = 0;
    bool busy = false;  // an op is in progress and its end is not known
};

// A piece that is played op by op, with more than one op.
struct OpenNode {
    std::uint32_t node = 0;
    std::uint32_t step = 0;
    std::uint32_t left = 0;
    std::vector<Span> spans;
};

// Residency of communication on a GPU: blocks at an instant and right after it.
struct LogEntry {
    Ps time = 0;
    std::int32_t at = 0;
    std::int32_t after = 0;
    std::int32_t active = 0;  // transfers in progress after it
};

// A tp collective inside a piece.
struct TpSpan {
    Ps start = 0;
    Ps end = 0;
    std::int32_t blocks = 0;
};

// Clocks at the end of a piece.
struct PieceEnd {
    Ps compute = 0;
    Ps tp = 0;
    Ps last_start = 0;  // of its last kernel
};

// How a piece goes, counted from its entry, when the host is ahead and residency does not change: then only the instant of
// the entry matters, and it need not be played again.
struct PieceMemo {
    std::uint32_t next = kNone32;  // of the same piece
    std::uint32_t kind = 0;        // of device
    std::uint32_t tp_times = 0;    // which times its tp collectives take
    std::int32_t at = 0;           // blocks of other transfers at the entry, and after it
    std::int32_t after = 0;
    Ps slack = 0;  // the host may be this late
    PieceEnd end;
    std::uint32_t exports = 0;   // into Engine::memo_exports_
    std::uint32_t tp_begin = 0;  // into Engine::memo_tp_
    std::uint32_t tp_end = 0;
    bool accounted = false;
    Breakdown breakdown;
    Ps communication = 0;  // of its tp collectives, when no other transfer is in progress
};

struct RunningPiece {
    std::uint32_t node = kNone32;
    std::uint32_t memo = kNone32;  // it went as this one says; RankState::tp is not filled
    std::uint32_t step = 0;
    Ps entry = 0;
    Ps tp_free = 0;  // on entry
    Ps host = 0;     // when the host begins to issue it
    Ps exit = 0;     // of the compute stream
    Ps tp_exit = 0;
    Ps last_kernel_start = 0;
    bool tp_ready = false;
    bool evaluated = false;
    bool dirty = false;
    bool compute_wraps = false;  // it is the last node of its step on the compute stream
    bool tp_wraps = false;
};

struct RankState {
    const CodeProgram* program = nullptr;
    std::uint32_t job = 0;
    std::uint32_t records = 0;      // first of its records
    std::uint32_t drains_done = 0;  // over all steps
    Ps host_base = 0;               // host time of the last drain, or of the start
    Ps drain_end = kNever;
    std::array<RecordAt, kStreams> drain_records{};  // last of each stream at the last drain
    Ps host_wake_at = kNever;
    Stream before_drain =
        Stream::Compute;    // a stream that had not come to the next drain when last looked at
    std::uint16_t due = 0;  // streams whose next op is known to be ready at this instant, as bits
    std::uint16_t unseen = 0;  // streams whose next op may have become ready, as bits
    bool touched = false;
    bool in_timeline = false;
    bool tp_isolated = false;  // tp collectives take the time that they take alone

    std::int32_t blocks = 0;
    std::int32_t fresh = 0;  // of them, since fresh_at exactly
    Ps fresh_at = kNever;
    std::int32_t active = 0;
    Ps active_since = 0;
    std::vector<LogEntry> log;  // since the running piece was entered

    RunningPiece running;
    std::vector<TpSpan> tp;  // of the running piece
    std::vector<OpenNode> open;

    Ps mark = 0;               // the compute stream is accounted for up to here
    Ps kernel_start = kNever;  // the kernel before, not yet accounted for
    Ps kernel_end = kNever;
    Ps kernel_growth = 0;
    Category kernel_category = Category::Compute;
    Breakdown breakdown;
    Ps communication = 0;
    std::array<StreamState, kStreams> streams;
};

// How far a rank of the first job is with a step.
struct StepState {
    std::uint32_t streams_left = 0;
    Ps end = 0;
};

// A collective or message in progress.
struct Activity {
    enum class Kind : std::uint8_t { Free, Collective, Message, StepMessage } kind = Kind::Free;
    Stream stream = Stream::Compute;  // Collective
    bool flowing = false;
    std::int32_t blocks = 0;
    std::uint32_t transfer = 0;           // StepMessage: of Bound::step_messages
    std::uint32_t group = 0;              // Collective
    std::uint32_t ranks[2] = {0, 0};      // Message: sender, receiver
    std::uint32_t transfers[2] = {0, 0};  // Message: in the programs of both
    std::uint32_t collective = 0;         // StepMessage: the activity that it is part of
    std::uint32_t step = 0;               // Collective by steps: of Bound::collective_steps
    std::uint32_t messages_left = 0;      // of the step in progress
    std::int64_t repeats_left = 0;
    FlowId flow;
    Ps start = 0;
    Ps end = kNever;
};

}  // namespace memwall
