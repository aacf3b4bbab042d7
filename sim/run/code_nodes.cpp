// A program as nodes, with their waits, streams, records and transfers.
#include <algorithm>

#include "sim/core/check.h"
#include "sim/run/code_steps.h"

namespace memwall {
namespace {

// What a slot holds.
struct Held {
    bool recorded = false;            // in the step
    Stream stream = Stream::Compute;  // of the op that recorded it last
    std::uint32_t record = kNone32;
};

// A wait for a slot that is not recorded earlier in the step: it means the last record of the step before.
struct OpenWait {
    std::uint32_t node = 0;
    std::uint16_t op = 0;  // within the piece
    std::uint16_t slot = 0;
    Stream stream = Stream::Compute;
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
          slots_(set_.slots),
          transfers_of_(set_.exchanges.size()) {
        out_.job = place.job;
        out_.program = place.program;
        stream_record_.fill(kNone32);
    }

    CodeProgram run() {
        reserve();
        for (std::uint32_t item = 0; item < body_at_.size(); ++item) {
            add_item(item);
        }
        out_.host_after_drain = host_;
        out_.host_per_step = host_;
        for (const DrainPoint& d : out_.drains) {
            out_.host_per_step += d.host;
        }
        wrap_waits();
        wrap_streams();
        return std::move(out_);
    }

  private:
    // Programs are long: their vectors do not grow.
    void reserve() {
        std::vector<std::size_t> times(bodies_.size());
        for (const std::uint32_t b : body_at_) {
            ++times[b];
        }
        std::size_t nodes = 0;
        std::size_t records = 0;
        std::size_t waits = 0;
        std::size_t transfers = 0;
        for (std::size_t b = 0; b < bodies_.size(); ++b) {
            nodes += times[b] * bodies_[b].pieces.size();
            for (const std::uint32_t p : bodies_[b].pieces) {
                records += times[b] * code_.pieces[p].records;
                for (const Link& link : links_[p]) {
                    waits += times[b] * link.waits;
                    if (link.exchange != kNone32) {
                        transfers += times[b] * set_.exchanges[link.exchange].transfers.size();
                    }
                }
            }
        }
        out_.nodes.reserve(nodes);
        out_.records.reserve(records);
        out_.waiters.resize(records);
        out_.waits.reserve(waits);
        out_.transfers.reserve(transfers);
    }

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
        const std::uint32_t n = size32(out_.nodes.size());
        CodeNode& node = out_.nodes.emplace_back();
        node.issue = host_;
        node.piece = p;
        node.item = item;
        node.records = size32(out_.records.size());
        node.drains = static_cast<std::uint16_t>(out_.drains.size());
        node.waits_begin = size32(out_.waits.size());
        node.transfers = size32(out_.transfers.size());
        for (const Link& link : links_[p]) {
            add_waits(n, link);
            std::uint32_t& last = stream_record_[index_of(link.stream)];
            if (link.first) {
                out_.on_stream[index_of(link.stream)].push_back(n);
                if (link.stream != Stream::Compute) {
                    node.stream_before = last;
                }
            }
            std::uint32_t record = kNone32;
            if (link.record != kNone16) {
                record = last = node.records + link.record;
                out_.records.push_back({n, link.op, kNone16});
            }
            if (link.slot != kNoSlot) {
                slots_[link.slot] = {true, link.stream, record};
            }
            if (link.exchange != kNone32) {
                add_transfers(n, link);
            }
        }
        node.waits_end = size32(out_.waits.size());
        host_ += code_.pieces[p].host;
    }

    void add_waits(std::uint32_t n, const Link& link) {
        for (std::uint8_t w = 0; w < link.waits; ++w) {
            const Held& held = slots_[link.wait[w]];
            if (!held.recorded) {
                open_.push_back({n, link.op, link.wait[w], link.stream});
            } else if (held.stream != link.stream) {  // else in order already
                out_.waits.push_back({awaited(held, link.stream), link.op, false});
            }
        }
    }

    // The record that an op of the stream waits for.
    std::uint32_t awaited(const Held& held, Stream by) {
        MW_CHECK(held.record != kNone32, "an awaited op has no record");
        std::uint16_t& waiters = out_.waiters[held.record];
        waiters = static_cast<std::uint16_t>(waiters | (1U << index_of(by)));
        return held.record;
    }

    void add_transfers(std::uint32_t n, const Link& link) {
        std::vector<CodeTransfer>& transfers = transfers_of_[link.exchange];
        if (transfers.empty()) {
            for (const PeerTransfer& peer : set_.exchanges[link.exchange].transfers) {
                CodeTransfer& transfer = transfers.emplace_back();
                transfer.send = peer.send;
                transfer.peer = index_in(out_.peers, static_cast<std::uint32_t>(peer.stage));
                if (peer.send) {
                    transfer.bytes_of = index_in(out_.messages, Message{transfer.peer, peer.bytes});
                }
            }
        }
        std::uint16_t t = 0;
        for (CodeTransfer transfer : transfers) {
            transfer.node = n;
            transfer.record = size32(out_.records.size());
            out_.records.push_back({n, link.op, t++});
            out_.transfers.push_back(transfer);
        }
    }

    // What was open at its place holds the last record of the step before. Such waits stand behind the others of their node.
    void wrap_waits() {
        if (open_.empty()) {
            return;
        }
        std::vector<OutsideWait> all;
        all.reserve(out_.waits.size() + open_.size());
        std::uint32_t taken = 0;
        const auto take_until = [&](std::uint32_t end) {
            all.insert(all.end(), out_.waits.begin() + taken, out_.waits.begin() + end);
            taken = end;
        };
        std::uint32_t added = 0;
        auto open = open_.begin();
        for (std::uint32_t n = 0; n < out_.nodes.size(); ++n) {
            CodeNode& node = out_.nodes[n];
            node.waits_begin += added;
            if (open != open_.end() && open->node == n) {
                take_until(node.waits_end);
                for (; open != open_.end() && open->node == n; ++open) {
                    const Held& held = slots_[open->slot];
                    if (held.recorded && held.stream != open->stream) {
                        all.push_back({awaited(held, open->stream), open->op, true});
                        ++added;
                    }
                }
            }
            node.waits_end += added;
        }
        take_until(size32(out_.waits.size()));
        out_.waits = std::move(all);
    }

    // The first node of a stream comes after the last of the step before.
    void wrap_streams() {
        for (std::size_t s = 0; s < kStreams; ++s) {
            if (out_.on_stream[s].empty()) {
                continue;
            }
            out_.streams.push_back(static_cast<Stream>(s));
            if (s != index_of(Stream::Compute)) {
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
    std::vector<Held> slots_;
    std::vector<OpenWait> open_;
    // The last op of each stream that has a record.
    std::array<std::uint32_t, kStreams> stream_record_{};
    // By exchange that has been met: without their nodes and records.
    std::vector<std::vector<CodeTransfer>> transfers_of_;
};

}  // namespace

CodeProgram lay_out(const Code& code,
                    ProgramPlace place,
                    const Bodies& bodies,
                    const Links& links) {
    return Layout(code, place, bodies, links).run();
}

}  // namespace memwall
