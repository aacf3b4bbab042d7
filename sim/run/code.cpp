#include "sim/run/code.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/run/rounds.h"

namespace memwall {
namespace {

std::size_t index_of(Stream s) {
    return static_cast<std::size_t>(s);
}

std::uint32_t size32(std::size_t n) {
    return static_cast<std::uint32_t>(n);
}

// An op of a segment, or the single op of an Op item, before segments are cut.
struct Source {
    const Op* op = nullptr;
    Ps issue = 0;  // from the start of the segment
    std::array<std::int32_t, kWaits> local{
        -1, -1, -1, -1};  // op of the segment that it waits for; -1 = outside or none
    std::uint16_t outside_streams[kWaits] = {0, 0, 0, 0};  // streams of the producers met, as bits
    bool awaited = false;     // by an op outside its piece, on another stream
    bool runs = false;        // false: HostWork, Drain
    bool first = false;       // of its piece
    std::uint32_t piece = 0;  // of the segment
    std::uint16_t place = 0;  // in the piece
};

// All that is known of a segment or an op item while compiling.
struct Body {
    bool segment = false;
    // At its places the first op waits for the compute op that stands last before it. A body with places of both kinds is
    // there twice.
    bool follows_compute = true;
    std::uint32_t elsewhere = kNone32;  // the body for the places where it does not
    std::vector<Source> ops;
    Ps host = 0;
    std::uint16_t first = kNone16;         // op that runs
    std::uint16_t last_compute = kNone16;  // op on the compute stream
    std::vector<std::uint32_t> pieces;     // in Code::pieces
    std::vector<std::pair<std::uint32_t, Ps>>
        drains;  // before this piece of the body, host time since the body's start
    std::vector<std::uint16_t> outside;  // ops with a wait for an outside slot
    std::vector<std::pair<std::uint16_t, std::uint16_t>>
        last_records;  // (slot, op): the last of the slot
};

struct Producer {
    std::uint32_t body = kNone32;
    std::uint32_t node = kNone32;
    std::uint16_t op = 0;  // of the body
    Stream stream = Stream::Compute;
};

// A wait for a slot that is not recorded earlier in the step: it means the last record of the step before.
struct OpenWait {
    std::uint32_t node = 0;
    std::uint16_t op = 0;  // of the body
    std::uint16_t slot = 0;
};

class JobCompiler {
  public:
    JobCompiler(Code& code, const ProgramSet& set, std::uint32_t job, bool coalesce)
        : code_(code), set_(set), job_(job), coalesce_(coalesce) {}

    void run() {
        for (const Segment& segment : set_.segments) {
            bodies_.push_back(body_of(std::span<const Op>(segment.ops)));
            bodies_.back().segment = true;
            for (const Op& op : segment.ops) {
                MW_CHECK(op.stream == Stream::Compute || op.stream == Stream::Tp,
                         "a segment is on compute and tp only");
            }
        }
        for (const Op& op : set_.ops) {
            bodies_.push_back(body_of(std::span<const Op>(&op, 1)));
        }
        for (const Program& program : set_.programs) {
            find_outside_producers(program);
        }
        split_bodies();
        for (Body& body : bodies_) {
            cut(body);
        }
        for (const Body& body : bodies_) {
            find_asked_slots(body);
        }
        linked_.resize(code_.pieces.size());
        for (std::size_t p = 0; p < set_.programs.size(); ++p) {
            code_.programs.push_back(lay_out(set_.programs[p], size32(p)));
        }
    }

  private:
    std::uint32_t body_of_item(const Item& item) const {
        return item.kind == Item::Kind::Segment ? item.index
                                                : size32(set_.segments.size()) + item.index;
    }

    Body body_of(std::span<const Op> ops) const {
        Body body;
        std::map<std::uint16_t, std::uint16_t> recorded;  // slot -> op
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i];
            body.host += op.host.count();
            Source source;
            source.op = &op;
            source.issue = body.host;
            source.runs = op.kind != OpKind::HostWork && op.kind != OpKind::Drain;
            MW_CHECK(source.runs || op.records == kNoSlot, "host work and drains record no slot");
            if (source.runs) {
                body.first = body.first == kNone16 ? static_cast<std::uint16_t>(i) : body.first;
                body.last_compute = op.stream == Stream::Compute ? static_cast<std::uint16_t>(i)
                                                                 : body.last_compute;
            }
            bool outside = false;
            for (std::size_t w = 0; w < kWaits; ++w) {
                if (op.waits[w] == kNoSlot || !source.runs) {
                    continue;
                }
                const auto found = recorded.find(op.waits[w]);
                if (found != recorded.end()) {
                    source.local[w] = found->second;
                } else {
                    outside = true;
                }
            }
            if (outside) {
                body.outside.push_back(static_cast<std::uint16_t>(i));
            }
            if (op.records != kNoSlot) {
                MW_CHECK(op.records < set_.slots, "slot out of range");
                recorded[op.records] = static_cast<std::uint16_t>(i);
            }
            body.ops.push_back(source);
        }
        body.last_records.assign(recorded.begin(), recorded.end());
        return body;
    }

    // A wait for a slot that was not recorded earlier in the step, met again when the step's last records are known.
    struct Unmet {
        std::uint32_t body = 0;
        std::uint32_t place = 0;  // in follows_
        std::uint16_t op = 0;
        bool no_compute_before = false;  // in the step
    };

    // Which streams produce what the bodies wait for, over all places where a body stands; the step wraps around.
    void find_outside_producers(const Program& program) {
        std::vector<Producer> slots(set_.slots);
        std::vector<Unmet> unmet;
        Producer last_compute;
        for (const Item& item : program.items) {
            const std::uint32_t b = body_of_item(item);
            Body& body = bodies_[b];
            const bool none = last_compute.body == kNone32;
            bool follows = none && body.outside.empty();
            for (const std::uint16_t i : body.outside) {
                const Met met = meet(body.ops[i], slots, last_compute);
                if (met.missing) {
                    unmet.push_back({b, size32(follows_.size()), i, none});
                }
                follows =
                    follows || (i == body.first && (met.last_compute || (met.missing && none)));
            }
            follows_.push_back(follows);
            for (const auto& [slot, i] : body.last_records) {
                slots[slot] = {b, kNone32, i, body.ops[i].op->stream};
            }
            if (body.last_compute != kNone16) {
                last_compute = {b, kNone32, body.last_compute, Stream::Compute};
            }
        }
        for (const Unmet& u : unmet) {
            const Met met = meet(bodies_[u.body].ops[u.op], slots, last_compute);
            if (u.op == bodies_[u.body].first && u.no_compute_before && !met.last_compute) {
                follows_[u.place] = false;
            }
        }
    }

    // Bodies that begin with a tp op, by whether it follows the compute stream.
    void split_bodies() {
        std::vector<std::uint8_t> kinds(
            bodies_.size());  // 1: places where it does not, 2: where it does
        std::size_t place = 0;
        for (const Program& program : set_.programs) {
            for (const Item& item : program.items) {
                std::uint8_t& kind = kinds[body_of_item(item)];
                kind = static_cast<std::uint8_t>(kind | (follows_[place++] ? 2U : 1U));
            }
        }
        const auto count = size32(bodies_.size());
        for (std::uint32_t b = 0; b < count; ++b) {
            const bool leading = bodies_[b].segment && bodies_[b].first != kNone16 &&
                                 bodies_[b].ops[bodies_[b].first].op->stream == Stream::Tp;
            if (leading && kinds[b] == 3) {
                bodies_[b].elsewhere = size32(bodies_.size());
                bodies_.push_back(bodies_[b]);
                bodies_.back().follows_compute = false;
            } else {
                bodies_[b].follows_compute = kinds[b] == 2;
            }
        }
    }

    struct Met {
        bool missing = false;       // some slot has no record yet
        bool last_compute = false;  // it waits for the last compute op
    };
    Met meet(Source& source, const std::vector<Producer>& slots, const Producer& last_compute) {
        Met met;
        for (std::size_t w = 0; w < kWaits; ++w) {
            if (source.op->waits[w] == kNoSlot || source.local[w] >= 0) {
                continue;
            }
            const Producer& producer = slots[source.op->waits[w]];
            if (producer.body == kNone32) {
                met.missing = true;
                continue;
            }
            source.outside_streams[w] = static_cast<std::uint16_t>(
                source.outside_streams[w] | (1U << index_of(producer.stream)));
            if (producer.stream != source.op->stream) {
                bodies_[producer.body].ops[producer.op].awaited = true;
            }
            met.last_compute = met.last_compute || (producer.body == last_compute.body &&
                                                    producer.op == last_compute.op);
        }
        return met;
    }

    // Whether the op has to be the first of its piece: it waits for something that the piece's own streams do not order.
    static bool must_be_first(const Body& body, const Source& source, std::uint32_t piece) {
        const std::uint16_t compute = 1U << index_of(Stream::Compute);
        const std::uint16_t tp = 1U << index_of(Stream::Tp);
        const auto allowed = static_cast<std::uint16_t>(
            source.op->stream == Stream::Compute ? compute : compute | tp);
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
    static bool may_follow_leading_tp(const Body& body, const Source& source, std::uint32_t piece) {
        const Source& leader = body.ops[body.first];
        if (!body.segment || !body.follows_compute || leader.op->stream != Stream::Tp ||
            leader.piece != piece) {
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
                for (auto i = static_cast<std::size_t>(source.local[w]) + 1;
                     &body.ops[i] != &source;
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

    void cut_trailing(Body& body) const {
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
                    producer.awaited =
                        producer.awaited || (producer.piece != source.piece &&
                                             producer.op->stream != source.op->stream);
                }
            }
        }
        // Step 4. Emit: host work counts with the piece before it, what stands after a drain with the piece after it.
        Ps start = 0;
        for (std::size_t i = 0; i < body.ops.size();) {
            if (!body.ops[i].runs) {
                start = body.ops[i].op->kind == OpKind::Drain ? body.ops[i].issue : start;
                ++i;
                continue;
            }
            std::size_t end = i;
            while (end < body.ops.size() &&
                   (!body.ops[end].runs || body.ops[end].piece == body.ops[i].piece) &&
                   body.ops[end].op->kind != OpKind::Drain) {
                ++end;
            }
            emit_piece(body, i, end, start);
            start = end < body.ops.size() ? body.ops[end - 1].issue : start;
            i = end;
        }
    }

    // The first tp op in [begin, end) such that neither it nor a later one is waited for by a compute op before the cut that
    // it makes; `end` when there is none. Cutting may leave others without their waiter: to a fixpoint.
    static std::size_t first_trailing(const Body& body, std::size_t begin, std::size_t end) {
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

    void emit_piece(Body& body, std::size_t begin, std::size_t end, Ps start) {
        Piece piece;
        piece.ops_begin = size32(code_.ops.size());
        std::array<std::uint16_t, kStreams> last;
        last.fill(kNone16);
        for (std::size_t i = begin; i < end; ++i) {
            Source& source = body.ops[i];
            if (!source.runs) {
                continue;
            }
            source.place = static_cast<std::uint16_t>(code_.ops.size() - piece.ops_begin);
            CodeOp op;
            op.issue = source.issue - start;
            op.work = source.op->work + work_offset(source.op->kind);
            op.label = source.op->label;
            op.kind = source.op->kind;
            op.stream = source.op->stream;
            op.category = source.op->category;
            op.source = static_cast<std::uint16_t>(i);
            for (const std::int32_t local : source.local) {
                if (local >= 0 && body.ops[static_cast<std::size_t>(local)].piece == source.piece) {
                    op.wait[op.waits++] = body.ops[static_cast<std::size_t>(local)].place;
                }
            }
            std::uint16_t& before = last[index_of(op.stream)];
            op.before = before;
            if (before != kNone16) {
                code_.ops[piece.ops_begin + before].next = source.place;
            } else if (op.stream == Stream::Compute) {
                piece.first_compute = source.place;
            } else if (op.stream == Stream::Tp) {
                piece.first_tp = source.place;
            }
            before = source.place;
            code_.ops.push_back(op);
        }
        piece.ops_end = size32(code_.ops.size());
        piece.host = (end < body.ops.size() ? body.ops[end - 1].issue : body.host) - start;
        piece.coalescable = coalesce_ && body.segment && can_coalesce(body, piece);
        piece.leading_tp = piece.coalescable && piece.first_tp == 0;
        number_records(body, begin, end, piece);
        body.pieces.push_back(size32(code_.pieces.size()));
        code_.pieces.push_back(piece);
    }

    std::uint32_t work_offset(OpKind kind) const {
        switch (kind) {
        case OpKind::Compute:
            return code_.first_kernel[job_];
        case OpKind::Collective:
            return code_.first_collective[job_];
        case OpKind::Exchange:
        case OpKind::HostWork:
        case OpKind::Drain:
            return 0;
        }
        return 0;
    }

    // See the definition of a coalescable piece in code.h. The order test: let `reach` be the last compute op that a tp op Y
    // waits for, in steps. Compute ops before Y in program order have started when Y starts, if the last of them is `reach`,
    // or is the one right after `reach` and waits for nothing but tp ops before Y (the tp stream is in order).
    bool can_coalesce(const Body& body, const Piece& piece) const {
        const std::span<const CodeOp> ops(code_.ops.data() + piece.ops_begin, piece.size());
        const bool leading = ops.front().stream == Stream::Tp;
        if (piece.first_compute == kNone16 ||
            (leading && (!body.follows_compute || ops.front().source != body.first))) {
            return false;
        }
        std::uint16_t last_compute = kNone16;
        std::int32_t reach = -1;  // of the tp ops so far
        bool has_tp = false;
        bool waits_for_tp = false;  // the compute ops from here on
        bool early_export = false;
        for (std::uint16_t i = 0; i < ops.size(); ++i) {
            const CodeOp& op = ops[i];
            if (op.stream == Stream::Compute) {
                if (op.kind != OpKind::Compute) {
                    return false;
                }
                last_compute = i;
                for (std::uint8_t w = 0; w < op.waits; ++w) {
                    waits_for_tp = waits_for_tp || ops[op.wait[w]].stream == Stream::Tp;
                }
                early_export = early_export || (!waits_for_tp && body.ops[op.source].awaited);
                continue;
            }
            if (op.kind != OpKind::Collective ||
                set_.collectives[op.work - code_.first_collective[job_]].role != GroupRole::Tp) {
                return false;
            }
            for (std::uint8_t w = 0; w < op.waits; ++w) {
                if (ops[op.wait[w]].stream == Stream::Compute) {
                    reach = std::max(reach, std::int32_t{op.wait[w]});
                }
            }
            has_tp = true;
            if (leading && last_compute == kNone16) {
                continue;
            }
            if (reach < 0 || (reach != last_compute && ops[last_compute].before != reach)) {
                return false;
            }
        }
        return !(has_tp && early_export);
    }

    void number_records(Body& body, std::size_t begin, std::size_t end, Piece& piece) {
        // Tp ops that no compute op of the piece waits for may still run when the piece has left the compute stream.
        std::int32_t waited_for = -1;
        const std::span<CodeOp> ops(code_.ops.data() + piece.ops_begin, piece.size());
        for (const CodeOp& op : ops) {
            for (std::uint8_t w = 0; w < op.waits; ++w) {
                if (op.stream == Stream::Compute && ops[op.wait[w]].stream == Stream::Tp) {
                    waited_for = std::max(waited_for, std::int32_t{op.wait[w]});
                }
            }
        }
        for (std::size_t i = begin; i < end; ++i) {
            const Source& source = body.ops[i];
            if (!source.runs) {
                continue;
            }
            CodeOp& op = ops[source.place];
            const bool kernel = op.kind == OpKind::Compute && op.stream == Stream::Compute;
            const bool named =
                op.stream == Stream::Tp ? std::int32_t{source.place} > waited_for : !kernel;
            if (source.awaited || named) {
                op.record = piece.records++;
                if (op.kind == OpKind::Exchange) {
                    piece.records = static_cast<std::uint16_t>(
                        piece.records + set_.exchanges[op.work].transfers.size());
                }
            }
        }
    }

    [[nodiscard]] static bool is_local(const Body& body, const Source& source, std::size_t w) {
        return source.local[w] >= 0 &&
               body.ops[static_cast<std::size_t>(source.local[w])].piece == source.piece;
    }

    void find_asked_slots(const Body& body) {
        asked_for_.resize(set_.slots);
        for (const Source& source : body.ops) {
            for (std::size_t w = 0; w < kWaits; ++w) {
                if (source.op->waits[w] != kNoSlot && !is_local(body, source, w)) {
                    asked_for_[source.op->waits[w]] = true;
                }
            }
        }
    }

    // The few ops of a piece that have to do with other pieces: a program has many nodes, and most ops are local.
    [[nodiscard]] const std::vector<std::uint16_t>& linked(const Body& body, std::uint32_t p) {
        std::vector<std::uint16_t>& list = linked_[p];
        if (list.empty()) {
            const Piece& piece = code_.pieces[p];
            std::vector<bool> recorded(set_.slots);  // by a later op of the piece
            for (std::uint32_t i = piece.ops_end; i-- > piece.ops_begin;) {
                const CodeOp& op = code_.ops[i];
                const Source& source = body.ops[op.source];
                bool is_linked = op.before == kNone16 || op.record != kNone16;
                if (const std::uint16_t slot = source.op->records; slot != kNoSlot) {
                    is_linked = is_linked || (asked_for_[slot] && !recorded[slot]);
                    recorded[slot] = true;
                }
                for (std::size_t w = 0; w < kWaits; ++w) {
                    is_linked =
                        is_linked || (source.op->waits[w] != kNoSlot && !is_local(body, source, w));
                }
                if (is_linked) {
                    list.push_back(static_cast<std::uint16_t>(i - piece.ops_begin));
                }
            }
            std::reverse(list.begin(), list.end());
        }
        return list;
    }

    CodeProgram lay_out(const Program& program, std::uint32_t number) {
        CodeProgram out;
        body_at_.clear();
        out.job = job_;
        out.program = number;
        std::uint32_t records = 0;
        Ps host = 0;
        std::vector<Producer> slots(set_.slots);
        std::array<std::uint32_t, kStreams>
            stream_record;  // the last op of each stream that has a record
        stream_record.fill(kNone32);
        std::vector<OpenWait> open;
        out.nodes.reserve(program.items.size() + 16);
        out.waits.reserve(2 * program.items.size());
        out.records.reserve(2 * program.items.size());
        out.transfers.reserve(program.items.size());
        for (std::size_t k = 0; k < program.items.size(); ++k) {
            const Item& item = program.items[k];
            std::uint32_t b = body_of_item(item);
            if (bodies_[b].elsewhere != kNone32 && !follows_[place_ + k]) {
                b = bodies_[b].elsewhere;
            }
            body_at_.push_back(b);
            const Body& body = bodies_[b];
            out.ops += body.ops.size();
            std::size_t drain = 0;
            Ps body_host = 0;  // of the body, already counted
            const auto drain_here = [&](std::uint32_t piece) {
                for (; drain < body.drains.size() && body.drains[drain].first == piece; ++drain) {
                    host += body.drains[drain].second - body_host;
                    body_host = body.drains[drain].second;
                    out.drains.push_back({size32(out.nodes.size()), host});
                    host = 0;
                }
            };
            for (std::uint32_t p = 0; p < body.pieces.size(); ++p) {
                drain_here(p);
                const Piece& piece = code_.pieces[body.pieces[p]];
                CodeNode node;
                node.issue = host;
                node.piece = body.pieces[p];
                node.item = size32(k);
                node.records = records;
                node.drains = static_cast<std::uint16_t>(out.drains.size());
                node.waits_begin = size32(out.waits.size());
                node.transfers = size32(out.transfers.size());
                records += piece.records;
                const std::uint32_t n = size32(out.nodes.size());
                const std::vector<std::uint16_t>& links = linked(body, node.piece);
                add_node_waits(out, body, piece, links, n, slots, open);
                node.waits_end = size32(out.waits.size());
                add_node_streams(out, node, piece, links, n, stream_record);
                out.nodes.push_back(node);
                for (const std::uint16_t i : links) {
                    const CodeOp& op = code_.ops[piece.ops_begin + i];
                    const Source& source = body.ops[op.source];
                    if (source.op->records != kNoSlot) {
                        slots[source.op->records] = {b, n, op.source, op.stream};
                    }
                    add_records(out, op, n, i);
                }
                host += piece.host;
                body_host += piece.host;
            }
            drain_here(size32(body.pieces.size()));
            host += body.host - body_host;
        }
        place_ += program.items.size();
        out.host_after_drain = host;
        out.host_per_step = host;
        for (const DrainPoint& d : out.drains) {
            out.host_per_step += d.host;
        }
        resolve_wrapped(out, slots, open, stream_record);
        for (int s = 0; s < kStreams; ++s) {
            if (!out.on_stream[static_cast<std::size_t>(s)].empty()) {
                out.streams.push_back(static_cast<Stream>(s));
            }
        }
        return out;
    }

    // The waits of a node's ops for ops outside their piece.
    void add_node_waits(CodeProgram& out,
                        const Body& body,
                        const Piece& piece,
                        const std::vector<std::uint16_t>& links,
                        std::uint32_t n,
                        const std::vector<Producer>& slots,
                        std::vector<OpenWait>& open) const {
        for (const std::uint16_t i : links) {
            const std::uint16_t at = code_.ops[piece.ops_begin + i].source;
            const Source& source = body.ops[at];
            for (std::size_t w = 0; w < kWaits; ++w) {
                const std::uint16_t slot = source.op->waits[w];
                if (slot == kNoSlot || is_local(body, source, w)) {
                    continue;
                }
                if (slots[slot].body == kNone32) {
                    open.push_back({n, at, slot});
                } else if (slots[slot].stream != source.op->stream) {  // else in order already
                    out.waits.push_back({record_of(out, slots[slot]), source.place, false});
                }
            }
        }
    }

    std::uint32_t record_of(const CodeProgram& out, const Producer& producer) const {
        const CodeNode& node = out.nodes[producer.node];
        const Source& source = bodies_[producer.body].ops[producer.op];
        const CodeOp& op = code_.ops[code_.pieces[node.piece].ops_begin + source.place];
        MW_CHECK(op.record != kNone16, "an awaited op has no record");
        return node.records + op.record;
    }

    void add_node_streams(CodeProgram& out,
                          CodeNode& node,
                          const Piece& piece,
                          const std::vector<std::uint16_t>& links,
                          std::uint32_t n,
                          std::array<std::uint32_t, kStreams>& stream_record) const {
        for (const std::uint16_t i : links) {
            const CodeOp& op = code_.ops[piece.ops_begin + i];
            std::uint32_t& last = stream_record[index_of(op.stream)];
            if (op.before == kNone16) {
                out.on_stream[index_of(op.stream)].push_back(n);
                if (op.stream != Stream::Compute) {
                    node.stream_before = last;
                }
            }
            if (op.record != kNone16) {
                last = node.records + op.record;
            }
        }
    }

    void add_records(CodeProgram& out, const CodeOp& op, std::uint32_t n, std::uint16_t place) {
        if (op.record != kNone16) {
            out.records.push_back({n, place, kNone16});
        }
        if (op.kind != OpKind::Exchange) {
            return;
        }
        std::uint16_t t = 0;
        for (const PeerTransfer& peer : set_.exchanges[op.work].transfers) {
            CodeTransfer transfer;
            transfer.node = n;
            transfer.record = size32(out.records.size());
            transfer.send = peer.send;
            transfer.peer = index_in(out.peers, static_cast<std::uint32_t>(peer.stage));
            if (peer.send) {
                transfer.bytes_of = index_in(out.messages, Message{transfer.peer, peer.bytes});
            }
            out.records.push_back({n, place, t++});
            out.transfers.push_back(transfer);
        }
    }

    template <class T>
    static std::uint16_t index_in(std::vector<T>& all, const T& value) {
        const auto found = std::find(all.begin(), all.end(), value);
        const auto at = static_cast<std::uint16_t>(found - all.begin());
        if (found == all.end()) {
            all.push_back(value);
        }
        return at;
    }

    // What was open at its place holds the last record of the step before.
    void resolve_wrapped(CodeProgram& out,
                         const std::vector<Producer>& slots,
                         const std::vector<OpenWait>& open,
                         const std::array<std::uint32_t, kStreams>& stream_record) const {
        std::vector<OutsideWait> all;
        std::size_t next = 0;
        for (std::uint32_t n = 0; n < out.nodes.size() && !open.empty(); ++n) {
            CodeNode& node = out.nodes[n];
            const auto begin = size32(all.size());
            all.insert(all.end(),
                       out.waits.begin() + node.waits_begin,
                       out.waits.begin() + node.waits_end);
            for (; next < open.size() && open[next].node == n; ++next) {
                const Producer& producer = slots[open[next].slot];
                const Source& source = bodies_[body_at_[node.item]].ops[open[next].op];
                if (producer.body != kNone32 && producer.stream != source.op->stream) {
                    all.push_back({record_of(out, producer), source.place, true});
                }
            }
            node.waits_begin = begin;
            node.waits_end = size32(all.size());
        }
        if (!open.empty()) {
            out.waits = std::move(all);
        }
        out.waiters.assign(out.records.size(), 0);
        for (const CodeNode& node : out.nodes) {
            for (std::uint32_t w = node.waits_begin; w < node.waits_end; ++w) {
                const OutsideWait& wait = out.waits[w];
                const Stream stream =
                    code_.ops[code_.pieces[node.piece].ops_begin + wait.op].stream;
                out.waiters[wait.record] =
                    static_cast<std::uint16_t>(out.waiters[wait.record] | (1U << index_of(stream)));
            }
        }
        for (std::size_t s = 0; s < kStreams; ++s) {
            if (s != index_of(Stream::Compute) && !out.on_stream[s].empty()) {
                CodeNode& node = out.nodes[out.on_stream[s].front()];
                node.stream_before = stream_record[s];
                node.before_previous_step = true;
            }
        }
    }

    Code& code_;
    const ProgramSet& set_;
    std::uint32_t job_;
    bool coalesce_;
    std::vector<Body> bodies_;            // segments, then ops
    std::vector<bool> follows_;           // by item of all programs: see Body::follows_compute
    std::size_t place_ = 0;               // of the first item of the program that is laid out
    std::vector<std::uint32_t> body_at_;  // by item of that program
    // Slots that an op waits for from outside the piece that records them.
    std::vector<bool> asked_for_;
    std::vector<std::vector<std::uint16_t>> linked_;  // by piece
};

// The k-th send from A to B on a channel meets the k-th receive of B from A on it.
void pair_messages(Code& code, std::uint32_t job) {
    const ProgramSet& set = *code.jobs[job];
    const std::uint32_t first = code.first_program[job];
    const auto stages = size32(set.programs.size());
    constexpr std::uint32_t kChannels = 256;
    const auto key_of = [&](std::uint32_t from, std::uint32_t to, std::uint8_t channel) {
        return (std::uint64_t{from} * stages + to) * kChannels + channel;
    };
    struct End {
        std::uint64_t key = 0;
        std::uint32_t transfer = 0;
    };
    std::vector<End> sends;  // in program order within each key after sorting
    std::vector<End> receives;
    for (std::uint32_t p = 0; p < stages; ++p) {
        const CodeProgram& program = code.programs[first + p];
        for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
            const CodeTransfer& transfer = program.transfers[t];
            const RecordOf& record = program.records[transfer.record];
            const CodeOp& op =
                code.ops[code.pieces[program.nodes[record.node].piece].ops_begin + record.op];
            const PeerTransfer& peer = set.exchanges[op.work].transfers[record.transfer];
            const std::uint32_t other = program.peers[transfer.peer];
            if (peer.send) {
                sends.push_back({key_of(p, other, peer.channel), t});
            } else {
                receives.push_back({key_of(other, p, peer.channel), t});
            }
        }
    }
    const auto by_key = [](const End& a, const End& b) { return a.key < b.key; };
    std::stable_sort(sends.begin(), sends.end(), by_key);
    std::stable_sort(receives.begin(), receives.end(), by_key);
    const auto end_of = [](const std::vector<End>& all, std::size_t at, std::uint64_t key) {
        while (at < all.size() && all[at].key == key) {
            ++at;
        }
        return at;
    };
    for (std::size_t s = 0, r = 0; s < sends.size() || r < receives.size();) {
        const std::uint64_t key = s == sends.size()      ? receives[r].key
                                  : r == receives.size() ? sends[s].key
                                                         : std::min(sends[s].key, receives[r].key);
        const std::size_t sends_end = end_of(sends, s, key);
        const std::size_t receives_end = end_of(receives, r, key);
        const auto channel = key % kChannels;
        const auto to = static_cast<std::uint32_t>(key / kChannels % stages);
        const auto from = static_cast<std::uint32_t>(key / kChannels / stages);
        if (sends_end - s != receives_end - r) {
            code.mismatches.push_back(fmt::format(
                "stage {} sends {} messages to stage {} on channel {} in a step, which receives {}",
                from,
                sends_end - s,
                to,
                channel,
                receives_end - r));
        }
        for (; s < sends_end && r < receives_end; ++s, ++r) {
            code.programs[first + from].transfers[sends[s].transfer].partner = receives[r].transfer;
            code.programs[first + to].transfers[receives[r].transfer].partner = sends[s].transfer;
        }
        s = sends_end;
        r = receives_end;
    }
}

// Groups that span stages must be called in the same order, with the same calls, by all of them.
void check_calls(Code& code, std::uint32_t job) {
    const ProgramSet& set = *code.jobs[job];
    struct Call {
        GroupRole role = GroupRole::World;
        Stream stream = Stream::Compute;
        std::uint32_t work = 0;
        auto operator<=>(const Call&) const = default;
    };
    const auto spans_stages = [](GroupRole role) {
        return role == GroupRole::Pp || role == GroupRole::World || role == GroupRole::Embedding;
    };
    std::vector<std::vector<Call>> of_piece(code.pieces.size());
    for (std::size_t p = 0; p < code.pieces.size(); ++p) {
        for (std::uint32_t i = code.pieces[p].ops_begin; i < code.pieces[p].ops_end; ++i) {
            const CodeOp& op = code.ops[i];
            // Pieces of other jobs are not reached from this job's nodes.
            if (op.kind == OpKind::Collective && op.work >= code.first_collective[job] &&
                op.work - code.first_collective[job] < set.collectives.size()) {
                const GroupRole role = set.collectives[op.work - code.first_collective[job]].role;
                if (spans_stages(role)) {
                    of_piece[p].push_back({role, op.stream, op.work});
                }
            }
        }
    }
    std::vector<std::vector<Call>> of_program;
    for (std::size_t p = 0; p < set.programs.size(); ++p) {
        std::vector<Call>& calls = of_program.emplace_back();
        for (const CodeNode& node : code.programs[code.first_program[job] + p].nodes) {
            calls.insert(calls.end(), of_piece[node.piece].begin(), of_piece[node.piece].end());
        }
        std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
            return a.role != b.role ? a.role < b.role : a.stream < b.stream;
        });
    }
    const auto compare = [&](GroupRole role, std::size_t a, std::size_t b, const char* name) {
        std::array<std::vector<Call>, 2> calls;
        for (const Call& call : of_program[a]) {
            if (call.role == role) {
                calls[0].push_back(call);
            }
        }
        for (const Call& call : of_program[b]) {
            if (call.role == role) {
                calls[1].push_back(call);
            }
        }
        if (calls[0] != calls[1]) {
            code.mismatches.push_back(fmt::format(
                "stages {} and {} do not make the same collective calls in their {} group",
                a,
                b,
                name));
        }
    };
    if (set.programs.empty()) {
        return;
    }
    compare(GroupRole::Embedding, 0, set.programs.size() - 1, "embedding");
    for (std::size_t p = 1; p < set.programs.size(); ++p) {
        compare(GroupRole::Pp, 0, p, "pp");
        compare(GroupRole::World, 0, p, "world");
    }
}

}  // namespace

Code compile_programs(const std::vector<const ProgramSet*>& jobs, bool coalesce) {
    Code code;
    code.jobs = jobs;
    std::uint32_t kernels = 0;
    std::uint32_t collectives = 0;
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
        code.first_program.push_back(size32(code.programs.size()));
        code.first_kernel.push_back(kernels);
        code.first_collective.push_back(collectives);
        kernels += size32(jobs[j]->kernels.size());
        collectives += size32(jobs[j]->collectives.size());
        JobCompiler(code, *jobs[j], j, coalesce).run();
        pair_messages(code, j);
        check_calls(code, j);
    }
    if (coalesce) {
        code.rounds = find_rounds(code);
    }
    return code;
}

}  // namespace memwall
