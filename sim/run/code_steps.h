#pragma once
// The steps of compile_programs for one job, in order. Internal: code.h is the way in. Each reads what those before it found.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/run/code.h"

namespace memwall {

constexpr std::size_t index_of(Stream s) {
    return static_cast<std::size_t>(s);
}

constexpr std::uint32_t size32(std::size_t n) {
    return static_cast<std::uint32_t>(n);
}

// An op of a segment, or the single op of an Op item.
struct Source {
    const Op* op = nullptr;
    Ps issue = 0;  // from the start of the segment
    std::array<std::int32_t, kWaits> local{
        -1, -1, -1, -1};  // op of the segment that it waits for; -1 = outside or none
    std::array<std::uint16_t, kWaits> outside_streams{};  // streams of the producers met, as bits
    bool awaited = false;  // by an op outside its piece, on another stream
    bool runs = false;     // false: HostWork, Drain
    // Found by cut.
    bool first = false;       // of its piece
    std::uint32_t piece = 0;  // of the segment
    // Found by add_pieces.
    std::uint16_t place = 0;  // in the piece
    [[nodiscard]] bool waits_outside(std::size_t w) const {
        return op->waits[w] != kNoSlot && local[w] < 0;
    }
};

// All that is known of a segment or an op item while compiling.
struct Body {
    bool segment = false;
    bool begins_with_tp = false;  // a segment whose first op that runs is a tp op
    // It begins with a tp op that waits for the compute op that stands last before it, at all places of the body. A segment
    // that has places of both kinds is there twice.
    bool follows_compute = false;
    std::vector<Source> ops;
    Ps host = 0;
    std::uint16_t first = kNone16;         // op that runs
    std::uint16_t last_compute = kNone16;  // op on the compute stream
    std::vector<std::uint16_t> outside;    // ops with a wait for an outside slot
    std::vector<std::pair<std::uint16_t, std::uint16_t>>
        last_records;  // (slot, op): the last of the slot
    // Found by cut.
    std::vector<std::pair<std::uint32_t, Ps>>
        drains;  // before this piece of the body, host time since the body's start
    // Found by add_pieces.
    std::vector<std::uint32_t> pieces;  // in Code::pieces
    // Whether wait w of the op is for an op of its own piece.
    [[nodiscard]] bool is_local(const Source& source, std::size_t w) const {
        return source.local[w] >= 0 &&
               ops[static_cast<std::size_t>(source.local[w])].piece == source.piece;
    }
};

struct Bodies {
    std::vector<Body> all;
    std::vector<std::vector<std::uint32_t>> at;  // by program and item
};

// code_bodies.cpp: segments and ops, with who produces what they wait for at the places where they stand.
[[nodiscard]] Bodies bodies_of(const ProgramSet& set);

// code_cut.cpp: where the pieces of the body begin.
void cut(Body& body);

// code_pieces.cpp: the pieces of a body that is cut, with their ops and records.
void add_pieces(Code& code, std::uint32_t job, Body& body, bool coalesce);

// An op of a piece that has to do with other pieces: it waits for one, is waited for, or begins a stream.
struct Link {
    std::uint32_t exchange = kNone32;  // when it is one
    std::uint16_t op = 0;              // within the piece
    std::uint16_t record = kNone16;    // among the records of its node
    std::uint16_t slot = kNoSlot;      // that it records, when another piece may wait for it
    Stream stream = Stream::Compute;
    bool first = false;                        // of the piece on its stream
    std::uint8_t waits = 0;                    // used entries of `wait`
    std::array<std::uint16_t, kWaits> wait{};  // slots that other pieces record
};

// code_links.cpp: by piece. A program has many nodes, and most ops of their pieces are not among these.
using Links = std::vector<std::vector<Link>>;
[[nodiscard]] Links links_of(const Code& code, const ProgramSet& set, const Bodies& bodies);

// code_nodes.cpp: the nodes of a program, with their waits, streams, records and transfers.
struct ProgramPlace {
    std::uint32_t job = 0;
    std::uint32_t program = 0;  // of the job
};
[[nodiscard]] CodeProgram lay_out(const Code& code,
                                  ProgramPlace place,
                                  const Bodies& bodies,
                                  const Links& links);

// code_messages.cpp: which transfer of another program each transfer meets.
void pair_messages(Code& code, std::uint32_t job);

// code_calls.cpp: groups that span stages must be called in the same order, with the same calls, by all of them.
void check_calls(Code& code, std::uint32_t job);

}  // namespace memwall
