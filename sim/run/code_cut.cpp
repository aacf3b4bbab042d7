// Where a body is cut into pieces.
#include <algorithm>

#include "sim/run/code_steps.h"

namespace memwall {
namespace {

// Whether the op has to be the first of its piece: it waits for something that the piece's own streams do not order.
bool must_be_first(const Body& body, const Source& source, std::uint32_t piece) {
    const std::uint16_t compute = 1U << index_of(Stream::Compute);
    const std::uint16_t tp = 1U << index_of(Stream::Tp);
    const auto allowed =
        static_cast<std::uint16_t>(source.op->stream == Stream::Compute ? compute : compute | tp);
    for (std::size_t w = 0; w < kWaits; ++w) {
        std::uint16_t streams = source.outside_streams[w];
        if (source.local[w] >= 0) {
            const Source& producer = body.ops[static_cast<std::size_t>(source.local[w])];
            streams = producer.piece == piece
                          ? std::uint16_t{0}
                          : static_cast<std::uint16_t>(1U << index_of(producer.op->stream));
        }
        if ((streams & ~allowed) != 0) {
            return true;
        }
    }
    return false;
}

// Whether the first compute op after leading tp ops can be in one piece with them: it waits for the last of them, and for
// nothing outside that the first of them does not wait for.
bool may_follow_leading_tp(const Body& body, const Source& source, std::uint32_t piece) {
    const Source& leader = body.ops[body.first];
    if (!body.follows_compute || leader.piece != piece) {
        return false;
    }
    bool waits_for_last = false;
    for (std::size_t w = 0; w < kWaits; ++w) {
        const std::uint16_t slot = source.op->waits[w];
        if (slot == kNoSlot) {
            continue;
        }
        if (source.local[w] >= 0) {
            bool last = true;
            for (auto i = static_cast<std::size_t>(source.local[w]) + 1; &body.ops[i] != &source;
                 ++i) {
                last = last && !body.ops[i].runs;
            }
            waits_for_last = waits_for_last || last;
            continue;
        }
        const bool compute_only =
            (source.outside_streams[w] & ~(1U << index_of(Stream::Compute))) == 0;
        const auto& also = leader.op->waits;
        if (!compute_only && std::find(also.begin(), also.end(), slot) == also.end()) {
            return false;
        }
    }
    return waits_for_last;
}

// The first tp op in [begin, end) such that neither it nor a later one is waited for by a compute op before the cut that
// it makes; `end` when there is none. Cutting may leave others without their waiter: to a fixpoint.
std::size_t first_trailing(const Body& body, std::size_t begin, std::size_t end) {
    std::size_t split = end;
    while (true) {
        std::int32_t waited_for = -1;
        for (std::size_t i = begin; i < split; ++i) {
            const Source& source = body.ops[i];
            for (const std::int32_t local : source.local) {
                if (source.runs && source.op->stream == Stream::Compute &&
                    local >= static_cast<std::int32_t>(begin) &&
                    body.ops[static_cast<std::size_t>(local)].op->stream == Stream::Tp) {
                    waited_for = std::max(waited_for, local);
                }
            }
        }
        std::size_t trailing = split;
        for (std::size_t i = split; i-- > begin && static_cast<std::int32_t>(i) > waited_for;) {
            if (body.ops[i].runs && body.ops[i].op->stream != Stream::Compute) {
                trailing = i;
            }
        }
        if (trailing == split) {
            return split;
        }
        split = trailing;
    }
}

void cut_trailing(Body& body) {
    for (std::size_t begin = 0; begin < body.ops.size();) {
        std::size_t end = begin + 1;
        while (end < body.ops.size() && !body.ops[end].first) {
            ++end;
        }
        const std::size_t trailing = first_trailing(body, begin, end);
        if (trailing < end) {
            body.ops[trailing].first = true;
        }
        begin = end;
    }
}

}  // namespace

void cut(Body& body) {
    // Step 1. Ops that wait for the outside, and the first compute op after leading tp ops, begin a piece. So does the
    //         compute op after one that the outside waits for, while no tp op has been met.
    std::uint32_t piece = 0;
    bool empty = true;
    bool has_compute = false;
    bool has_tp = false;
    bool has_export = false;
    for (Source& source : body.ops) {
        if (!source.runs) {
            empty = empty || source.op->kind == OpKind::Drain;
            continue;
        }
        const bool compute = source.op->stream == Stream::Compute;
        const bool after_leading = compute && !has_compute && !empty;
        source.first = empty || (compute && has_export && !has_tp) ||
                       (after_leading ? !may_follow_leading_tp(body, source, piece)
                                      : must_be_first(body, source, piece));
        if (source.first) {
            ++piece;
            has_compute = has_tp = has_export = false;
        }
        source.piece = piece;
        empty = false;
        has_compute = has_compute || compute;
        has_tp = has_tp || !compute;
        has_export = has_export || source.awaited;
    }
    // Step 2. Tp ops that no compute op of their piece waits for, and what follows them, are a piece of their own.
    cut_trailing(body);
    // Step 3. Number them, note where the drains stand, and find the waits that cross a boundary.
    piece = 0;
    bool any = false;
    for (Source& source : body.ops) {
        if (source.op->kind == OpKind::Drain) {
            body.drains.emplace_back(any ? piece + 1 : 0, source.issue);
        }
        if (source.runs) {
            piece += any && source.first ? 1 : 0;
            any = true;
            source.piece = piece;
        }
    }
    for (const Source& source : body.ops) {
        for (const std::int32_t local : source.local) {
            if (local >= 0) {
                Source& producer = body.ops[static_cast<std::size_t>(local)];
                producer.awaited = producer.awaited || (producer.piece != source.piece &&
                                                        producer.op->stream != source.op->stream);
            }
        }
    }
}

}  // namespace memwall
