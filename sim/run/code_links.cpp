// The few ops of a piece that have to do with other pieces: a program has many nodes, and most ops are local.
#include <algorithm>

#include "sim/run/code_steps.h"

namespace memwall {
namespace {

// Slots that an op waits for from outside the piece that records them.
std::vector<bool> asked_slots(const ProgramSet& set, const Bodies& bodies) {
    std::vector<bool> asked(set.slots);
    for (const Body& body : bodies.all) {
        for (const Source& source : body.ops) {
            for (std::size_t w = 0; w < kWaits; ++w) {
                if (source.op->waits[w] != kNoSlot && !body.is_local(source, w)) {
                    asked[source.op->waits[w]] = true;
                }
            }
        }
    }
    return asked;
}

}  // namespace

Links links_of(const Code& code, const ProgramSet& set, const Bodies& bodies) {
    const std::vector<bool> asked = asked_slots(set, bodies);
    Links links(code.pieces.size());
    for (const Body& body : bodies.all) {
        for (const std::uint32_t p : body.pieces) {
            const Piece& piece = code.pieces[p];
            std::vector<bool> recorded(set.slots);  // by a later op of the piece
            for (std::uint32_t i = piece.ops_end; i-- > piece.ops_begin;) {
                const CodeOp& op = code.ops[i];
                const Source& source = body.ops[op.source];
                bool linked = op.before == kNone16 || op.record != kNone16;
                if (const std::uint16_t slot = source.op->records; slot != kNoSlot) {
                    linked = linked || (asked[slot] && !recorded[slot]);
                    recorded[slot] = true;
                }
                for (std::size_t w = 0; w < kWaits; ++w) {
                    linked =
                        linked || (source.op->waits[w] != kNoSlot && !body.is_local(source, w));
                }
                if (linked) {
                    links[p].push_back(static_cast<std::uint16_t>(i - piece.ops_begin));
                }
            }
            std::reverse(links[p].begin(), links[p].end());
        }
    }
    return links;
}

}  // namespace memwall
