// The few ops of a piece that have to do with other pieces.
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

// Without the slot that it records.
Link link_of(const Body& body, const CodeOp& op) {
    const Source& source = body.ops[op.source];
    Link link;
    link.op = source.place;
    link.record = op.record;
    link.stream = op.stream;
    link.first = op.before == kNone16;
    if (op.kind == OpKind::Exchange) {
        link.exchange = op.work;
    }
    for (std::size_t w = 0; w < kWaits; ++w) {
        if (source.op->waits[w] != kNoSlot && !body.is_local(source, w)) {
            link.wait[link.waits++] = source.op->waits[w];
        }
    }
    return link;
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
                Link link = link_of(body, op);
                const std::uint16_t slot = body.ops[op.source].op->records;
                if (slot != kNoSlot && asked[slot] && !recorded[slot]) {
                    link.slot = slot;
                    recorded[slot] = true;
                }
                if (link.first || link.record != kNone16 || link.slot != kNoSlot ||
                    link.waits > 0) {
                    links[p].push_back(link);
                }
            }
            std::reverse(links[p].begin(), links[p].end());
        }
    }
    return links;
}

}  // namespace memwall
