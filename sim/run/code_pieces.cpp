// Pieces of a body that is cut, and their ops: what can be coalesced, and what is recorded.
#include <algorithm>
#include <span>

#include "sim/run/code_steps.h"

namespace memwall {
namespace {

class PieceMaker {
  public:
    PieceMaker(Code& code, std::uint32_t job, Body& body, bool coalesce)
        : code_(code), set_(*code.jobs[job]), job_(job), body_(body), coalesce_(coalesce) {}

    void add_all() {
        // Host work counts with the piece before it, what stands after a drain with the piece after it.
        Ps start = 0;
        for (std::size_t i = 0; i < body_.ops.size();) {
            if (!body_.ops[i].runs) {
                start = body_.ops[i].op->kind == OpKind::Drain ? body_.ops[i].issue : start;
                ++i;
                continue;
            }
            std::size_t end = i;
            while (end < body_.ops.size() &&
                   (!body_.ops[end].runs || body_.ops[end].piece == body_.ops[i].piece) &&
                   body_.ops[end].op->kind != OpKind::Drain) {
                ++end;
            }
            add(i, end, start);
            start = end < body_.ops.size() ? body_.ops[end - 1].issue : start;
            i = end;
        }
    }

  private:
    void add(std::size_t begin, std::size_t end, Ps start) {
        Piece piece;
        piece.ops_begin = size32(code_.ops.size());
        std::array<std::uint16_t, kStreams> last;
        last.fill(kNone16);
        for (std::size_t i = begin; i < end; ++i) {
            Source& source = body_.ops[i];
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
                if (local >= 0 &&
                    body_.ops[static_cast<std::size_t>(local)].piece == source.piece) {
                    op.wait[op.waits++] = body_.ops[static_cast<std::size_t>(local)].place;
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
        piece.host = (end < body_.ops.size() ? body_.ops[end - 1].issue : body_.host) - start;
        piece.coalescable = coalesce_ && body_.segment && can_coalesce(piece);
        piece.leading_tp = piece.coalescable && piece.first_tp == 0;
        number_records(begin, end, piece);
        body_.pieces.push_back(size32(code_.pieces.size()));
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
    bool can_coalesce(const Piece& piece) const {
        const std::span<const CodeOp> ops(code_.ops.data() + piece.ops_begin, piece.size());
        const bool leading = ops.front().stream == Stream::Tp;
        if (piece.first_compute == kNone16 ||
            (leading && (!body_.follows_compute || ops.front().source != body_.first))) {
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
                early_export = early_export || (!waits_for_tp && body_.ops[op.source].awaited);
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

    void number_records(std::size_t begin, std::size_t end, Piece& piece) {
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
            const Source& source = body_.ops[i];
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

    Code& code_;
    const ProgramSet& set_;
    std::uint32_t job_;
    Body& body_;
    bool coalesce_;
};

}  // namespace

void add_pieces(Code& code, std::uint32_t job, Body& body, bool coalesce) {
    PieceMaker(code, job, body, coalesce).add_all();
}

}  // namespace memwall
