// A program as nodes, with their waits, streams, records and transfers.
#include <algorithm>

#include "sim/core/check.h"
#include "sim/run/code_steps.h"

namespace memwall {
namespace {

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

template <class T>
std::uint16_t index_in(std::vector<T>& all, const T& value) {
    const auto found = std::find(all.begin(), all.end(), value);
    const auto at = static_cast<std::uint16_t>(found - all.begin());
    if (found == all.end()) {
        all.push_back(value);
    }
    return at;
}

class Layout {
  public:
    Layout(const Code& code, ProgramPlace place, const Bodies& bodies, const Links& links)
        : code_(code),
          set_(*code.jobs[place.job]),
          bodies_(bodies.all),
          body_at_(bodies.at[place.program]),
          links_(links),
          slots_(set_.slots) {
        out_.job = place.job;
        out_.program = place.program;
        stream_record_.fill(kNone32);
    }

    CodeProgram run() {
        const std::size_t items = body_at_.size();
        out_.nodes.reserve(items + 16);
        out_.waits.reserve(2 * items);
        out_.records.reserve(2 * items);
        out_.transfers.reserve(items);
        for (std::size_t k = 0; k < items; ++k) {
            add_item(size32(k));
        }
        out_.host_after_drain = host_;
        out_.host_per_step = host_;
        for (const DrainPoint& d : out_.drains) {
            out_.host_per_step += d.host;
        }
        resolve_wrapped();
        for (int s = 0; s < kStreams; ++s) {
            if (!out_.on_stream[static_cast<std::size_t>(s)].empty()) {
                out_.streams.push_back(static_cast<Stream>(s));
            }
        }
        return std::move(out_);
    }

  private:
    void add_item(std::uint32_t item) {
        const Body& body = bodies_[body_at_[item]];
        out_.ops += body.ops.size();
        std::size_t drain = 0;
        Ps body_host = 0;  // of the body, already counted
        const auto drain_here = [&](std::uint32_t piece) {
            for (; drain < body.drains.size() && body.drains[drain].first == piece; ++drain) {
                host_ += body.drains[drain].second - body_host;
                body_host = body.drains[drain].second;
                out_.drains.push_back({size32(out_.nodes.size()), host_});
                host_ = 0;
            }
        };
        for (std::uint32_t p = 0; p < body.pieces.size(); ++p) {
            drain_here(p);
            add_node(item, body.pieces[p]);
            body_host += code_.pieces[body.pieces[p]].host;
        }
        drain_here(size32(body.pieces.size()));
        host_ += body.host - body_host;
    }

    void add_node(std::uint32_t item, std::uint32_t p) {
        const Piece& piece = code_.pieces[p];
        const std::uint32_t b = body_at_[item];
        CodeNode node;
        node.issue = host_;
        node.piece = p;
        node.item = item;
        node.records = records_;
        node.drains = static_cast<std::uint16_t>(out_.drains.size());
        node.waits_begin = size32(out_.waits.size());
        node.transfers = size32(out_.transfers.size());
        records_ += piece.records;
        const std::uint32_t n = size32(out_.nodes.size());
        add_waits(b, p);
        node.waits_end = size32(out_.waits.size());
        add_streams(node);
        out_.nodes.push_back(node);
        for (const std::uint16_t i : links_[p]) {
            const CodeOp& op = code_.ops[piece.ops_begin + i];
            const std::uint16_t slot = bodies_[b].ops[op.source].op->records;
            if (slot != kNoSlot) {
                slots_[slot] = {b, n, op.source, op.stream};
            }
            add_records(op, i);
        }
        host_ += piece.host;
    }

    // The waits of the next node's ops for ops outside their piece.
    void add_waits(std::uint32_t b, std::uint32_t p) {
        const Body& body = bodies_[b];
        for (const std::uint16_t i : links_[p]) {
            const std::uint16_t at = code_.ops[code_.pieces[p].ops_begin + i].source;
            const Source& source = body.ops[at];
            for (std::size_t w = 0; w < kWaits; ++w) {
                const std::uint16_t slot = source.op->waits[w];
                if (slot == kNoSlot || body.is_local(source, w)) {
                    continue;
                }
                if (slots_[slot].body == kNone32) {
                    open_.push_back({size32(out_.nodes.size()), at, slot});
                } else if (slots_[slot].stream != source.op->stream) {  // else in order already
                    out_.waits.push_back({record_of(slots_[slot]), source.place, false});
                }
            }
        }
    }

    std::uint32_t record_of(const Producer& producer) const {
        const CodeNode& node = out_.nodes[producer.node];
        const Source& source = bodies_[producer.body].ops[producer.op];
        const CodeOp& op = code_.ops[code_.pieces[node.piece].ops_begin + source.place];
        MW_CHECK(op.record != kNone16, "an awaited op has no record");
        return node.records + op.record;
    }

    void add_streams(CodeNode& node) {
        for (const std::uint16_t i : links_[node.piece]) {
            const CodeOp& op = code_.ops[code_.pieces[node.piece].ops_begin + i];
            std::uint32_t& last = stream_record_[index_of(op.stream)];
            if (op.before == kNone16) {
                out_.on_stream[index_of(op.stream)].push_back(size32(out_.nodes.size()));
                if (op.stream != Stream::Compute) {
                    node.stream_before = last;
                }
            }
            if (op.record != kNone16) {
                last = node.records + op.record;
            }
        }
    }

    // Of an op of the last node.
    void add_records(const CodeOp& op, std::uint16_t place) {
        const std::uint32_t n = size32(out_.nodes.size()) - 1;
        if (op.record != kNone16) {
            out_.records.push_back({n, place, kNone16});
        }
        if (op.kind != OpKind::Exchange) {
            return;
        }
        std::uint16_t t = 0;
        for (const PeerTransfer& peer : set_.exchanges[op.work].transfers) {
            CodeTransfer transfer;
            transfer.node = n;
            transfer.record = size32(out_.records.size());
            transfer.send = peer.send;
            transfer.peer = index_in(out_.peers, static_cast<std::uint32_t>(peer.stage));
            if (peer.send) {
                transfer.bytes_of = index_in(out_.messages, Message{transfer.peer, peer.bytes});
            }
            out_.records.push_back({n, place, t++});
            out_.transfers.push_back(transfer);
        }
    }

    // What was open at its place holds the last record of the step before.
    void resolve_wrapped() {
        std::vector<OutsideWait> all;
        std::size_t next = 0;
        for (std::uint32_t n = 0; n < out_.nodes.size() && !open_.empty(); ++n) {
            CodeNode& node = out_.nodes[n];
            const auto begin = size32(all.size());
            all.insert(all.end(),
                       out_.waits.begin() + node.waits_begin,
                       out_.waits.begin() + node.waits_end);
            for (; next < open_.size() && open_[next].node == n; ++next) {
                const Producer& producer = slots_[open_[next].slot];
                const Source& source = bodies_[body_at_[node.item]].ops[open_[next].op];
                if (producer.body != kNone32 && producer.stream != source.op->stream) {
                    all.push_back({record_of(producer), source.place, true});
                }
            }
            node.waits_begin = begin;
            node.waits_end = size32(all.size());
        }
        if (!open_.empty()) {
            out_.waits = std::move(all);
        }
        out_.waiters.assign(out_.records.size(), 0);
        for (const CodeNode& node : out_.nodes) {
            for (std::uint32_t w = node.waits_begin; w < node.waits_end; ++w) {
                const OutsideWait& wait = out_.waits[w];
                const Stream stream =
                    code_.ops[code_.pieces[node.piece].ops_begin + wait.op].stream;
                out_.waiters[wait.record] = static_cast<std::uint16_t>(out_.waiters[wait.record] |
                                                                       (1U << index_of(stream)));
            }
        }
        for (std::size_t s = 0; s < kStreams; ++s) {
            if (s != index_of(Stream::Compute) && !out_.on_stream[s].empty()) {
                CodeNode& node = out_.nodes[out_.on_stream[s].front()];
                node.stream_before = stream_record_[s];
                node.before_previous_step = true;
            }
        }
    }

    const Code& code_;
    const ProgramSet& set_;
    const std::vector<Body>& bodies_;
    const std::vector<std::uint32_t>& body_at_;  // by item
    const Links& links_;
    CodeProgram out_;
    Ps host_ = 0;  // since the start of the step or the last drain
    std::uint32_t records_ = 0;
    std::vector<Producer> slots_;
    std::vector<OpenWait> open_;
    // The last op of each stream that has a record.
    std::array<std::uint32_t, kStreams> stream_record_{};
};

}  // namespace

CodeProgram lay_out(const Code& code,
                    ProgramPlace place,
                    const Bodies& bodies,
                    const Links& links) {
    return Layout(code, place, bodies, links).run();
}

}  // namespace memwall
