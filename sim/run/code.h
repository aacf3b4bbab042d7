#pragma once
// Programs made ready for the engine: waits resolved to the ops they mean, host time summed up, messages paired, and
// segments cut into pieces that can be played at one go. Static: the same for all ranks of a program.
//
// A piece is a run of ops. A coalescable piece starts with a compute op (or with tp collectives that wait for the compute op
// before the piece, wherever it stands), touches only the compute and tp streams, waits for
// nothing outside except at its first op, none of its tp collectives can start before the compute ops ahead of it in program
// order have started, some kernel of it waits for its last tp collective, and nobody outside waits for an op that does not
// wait for the first. An op of its own (send/recv, bucket, ...) is a piece of one op. A node is a piece at its place
// in a program. A record is an op whose times others need: whoever waits for it, and every op that is not a kernel of
// the compute stream, because the breakdown names it. Times are picoseconds of the simulated clock.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/parallel/program.h"

namespace memwall {

using Ps =
    std::int64_t;  // the engine's arithmetic on instants and durations is on bare picoseconds

inline constexpr std::uint16_t kNone16 = 0xFFFF;
inline constexpr std::uint32_t kNone32 = 0xFFFFFFFF;

struct CodeOp {
    Ps issue = 0;             // host time from the start of its piece until it is issued
    std::uint32_t work = 0;   // kernel, collective or exchange, counted over all jobs
    std::uint32_t label = 0;  // of its job
    OpKind kind = OpKind::Compute;
    Stream stream = Stream::Compute;
    Category category = Category::Compute;
    std::uint8_t waits = 0;                    // used entries of `wait`
    std::array<std::uint16_t, kWaits> wait{};  // earlier ops of the piece
    std::uint16_t next = kNone16;              // the next op of the piece on its stream
    std::uint16_t before = kNone16;            // the one before
    std::uint16_t record = kNone16;            // among the records of its node
    std::uint16_t source = 0;                  // its place in the segment
};

struct Piece {
    std::uint32_t ops_begin = 0;
    std::uint32_t ops_end = 0;
    Ps host = 0;  // from the start of the piece to the start of the next
    std::uint16_t first_compute = kNone16;
    std::uint16_t first_tp = kNone16;
    std::uint16_t records = 0;
    bool coalescable = false;
    bool leading_tp = false;  // coalescable, and its first op is a tp collective
    [[nodiscard]] std::uint32_t size() const { return ops_end - ops_begin; }
};

struct OutsideWait {
    std::uint32_t record = 0;  // of the same program
    std::uint16_t op = 0;      // within the piece
    bool previous_step = false;
};

struct CodeNode {
    Ps issue = 0;  // host time to its start, from the start of the step or the last drain before it
    std::uint32_t piece = 0;
    std::uint32_t item = 0;     // of the program
    std::uint32_t records = 0;  // its first record
    std::uint32_t waits_begin = 0;
    std::uint32_t waits_end = 0;
    std::uint32_t transfers = 0;  // its first, when it is an exchange
    std::uint32_t stream_before =
        kNone32;  // record of the op before it on its stream (segments: tp), when it has one
    std::uint16_t drains = 0;           // drains before it in the step
    bool before_previous_step = false;  // stream_before is of the step before
};

// One transfer of an exchange, at its place in the program.
struct CodeTransfer {
    std::uint32_t node = 0;
    std::uint32_t record = 0;
    std::uint32_t partner = kNone32;  // in CodeProgram::transfers of the peer
    std::uint32_t bytes_of = 0;       // into CodeProgram::messages; sends only
    std::uint16_t peer = 0;           // into CodeProgram::peers
    bool send = true;
};

struct Message {
    std::uint16_t peer = 0;
    Bytes bytes;
    auto operator<=>(const Message&) const = default;
};

struct RecordOf {
    std::uint32_t node = 0;
    std::uint16_t op = 0;
    std::uint16_t transfer = kNone16;  // of an exchange: which of its transfers; else the op itself
};

struct DrainPoint {
    std::uint32_t node = 0;  // the host waits for all nodes before this one
    Ps host = 0;  // host time from the start of the step or the drain before, its own included
};

struct CodeProgram {
    std::uint32_t job = 0;
    std::uint32_t program = 0;  // of its job
    std::vector<CodeNode> nodes;
    std::vector<OutsideWait> waits;
    std::vector<CodeTransfer> transfers;
    std::vector<RecordOf> records;
    std::vector<std::uint16_t> waiters;  // by record: streams with ops that wait for it, as bits
    std::vector<DrainPoint> drains;
    Ps host_per_step = 0;                                        // all of it
    Ps host_after_drain = 0;                                     // after the last drain
    std::vector<Stream> streams;                                 // used ones
    std::array<std::vector<std::uint32_t>, kStreams> on_stream;  // nodes with ops there, in order
    std::vector<std::uint32_t> peers;  // programs that it exchanges messages with
    std::vector<Message> messages;     // distinct sends
    std::uint64_t ops = 0;             // of one step, host work and drains included
};

// The part of a program that repeats itself with other micro-batches, as the steady phase of a pipeline does, or gradient
// accumulation: node n and the node one round later do the same, with waits and peers that are one round later as well.
struct Rounds {
    std::uint32_t begin = 0;  // nodes [begin, end) each have a counterpart one round later
    std::uint32_t end = 0;
    // Of one round.
    std::uint32_t nodes = 0;
    std::uint32_t records = 0;
    std::uint32_t transfers = 0;
    std::uint32_t drains = 0;
    Ps host = 0;  // without drains; with drains the host starts anew after each
    [[nodiscard]] bool none() const { return nodes == 0; }
};

struct Code {
    std::vector<CodeOp> ops;
    std::vector<Piece> pieces;
    std::vector<CodeProgram> programs;  // of all jobs
    std::vector<const ProgramSet*> jobs;
    std::vector<std::uint32_t> first_program;  // by job
    std::vector<std::uint32_t>
        first_kernel;  // by job, into the concatenation of ProgramSet::kernels
    std::vector<std::uint32_t> first_collective;
    std::vector<Rounds> rounds;  // by program; empty when they are not to be passed over (rounds.h)
    // Messages or collectives that can never meet, in words; the programs then end in a deadlock.
    std::vector<std::string> mismatches;
};

// coalesce: false makes every piece not coalescable and looks for no rounds: the plain engine.
[[nodiscard]] Code compile_programs(const std::vector<const ProgramSet*>& jobs, bool coalesce);

}  // namespace memwall
