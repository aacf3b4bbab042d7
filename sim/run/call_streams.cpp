#include "sim/run/call_streams.h"

#include <algorithm>
#include <map>
#include <span>

namespace memwall {
namespace {

std::uint16_t bit(Stream s) {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(s));
}

bool runs(const Op& op) {
    return op.kind != OpKind::HostWork && op.kind != OpKind::Drain;
}

// What a segment does to the order of things outside of it.
struct Summary {
    bool has_compute = false;
    bool has_tp = false;
    bool covers_tp = false;  // a compute op waits for its last tp op
    std::vector<std::uint16_t>
        asks_before;  // slots that its compute ops wait for, before its first tp op
    struct Record {
        std::uint16_t slot = 0;
        Stream stream = Stream::Compute;
        bool last = false;  // by the last op of that stream
    };
    std::vector<Record> records;
};

Summary summary_of(std::span<const Op> ops) {
    Summary s;
    std::map<std::uint16_t, std::size_t> recorded;
    std::size_t last_compute = ops.size();
    std::size_t last_tp = ops.size();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const Op& op = ops[i];
        if (!runs(op)) {
            continue;
        }
        if (op.stream == Stream::Tp) {
            s.has_tp = true;
            s.covers_tp = false;
            last_tp = i;
        } else {
            s.has_compute = true;
            last_compute = i;
            for (const std::uint16_t slot : op.waits) {
                const auto found = recorded.find(slot);
                if (found != recorded.end()) {
                    s.covers_tp = s.covers_tp || found->second == last_tp;
                } else if (slot != kNoSlot && !s.has_tp) {
                    s.asks_before.push_back(slot);
                }
            }
        }
        if (op.records != kNoSlot) {
            recorded[op.records] = i;
        }
    }
    for (const auto& [slot, i] : recorded) {
        s.records.push_back({slot, ops[i].stream, i == last_compute || i == last_tp});
    }
    return s;
}

class Walk {
  public:
    Walk(const ProgramSet& set, const std::vector<Summary>& segments, std::vector<bool>& apart)
        : set_(set), segments_(segments), apart_(apart), slots_(set.slots) {}

    // The step is repeated: what is open at its end meets its beginning.
    void run(const Program& program) {
        for (int step = 0; step < 2; ++step) {
            for (const Item& item : program.items) {
                if (item.kind == Item::Kind::Segment) {
                    visit(segments_[item.index]);
                } else {
                    visit(set_.ops[item.index]);
                }
            }
        }
    }

  private:
    struct Producer {
        Stream stream = Stream::Compute;
        std::uint64_t number = 0;  // of ops on the stream; 0 = none
    };
    struct Open {
        std::uint32_t call = 0;
        Stream stream = Stream::Dp;
        std::uint64_t number = 0;
    };

    void visit(const Summary& segment) {
        for (const std::uint16_t slot : segment.asks_before) {
            compute_waits_for(slot);
        }
        if (segment.has_tp) {
            next_tp();
            tp_open_ = !segment.covers_tp;
        }
        if (segment.has_compute) {
            count(Stream::Compute) += 2;  // the last op has the even number
        }
        for (const Summary::Record& r : segment.records) {
            slots_[r.slot] = {r.stream, count(r.stream) - (r.last ? 0 : 1)};
        }
    }

    void visit(const Op& op) {
        if (op.kind == OpKind::Drain) {
            open_.clear();
            tp_open_ = false;
        }
        if (!runs(op)) {
            return;
        }
        if (op.stream == Stream::Compute) {
            for (const std::uint16_t slot : op.waits) {
                compute_waits_for(slot);
            }
        }
        const bool tp_call = op.kind == OpKind::Collective && op.stream != Stream::Tp &&
                             set_.collectives[op.work].role == GroupRole::Tp;
        const bool beside_another = std::any_of(
            open_.begin(), open_.end(), [&](const Open& open) { return open.stream != op.stream; });
        if (tp_call && (tp_open_ || beside_another || !follows_compute(op))) {
            apart_[op.work] = false;
        }
        if (op.stream == Stream::Tp) {
            next_tp();
            tp_open_ = true;
        } else {
            count(op.stream) += 2;
        }
        if (tp_call) {
            open_.push_back({op.work, op.stream, count(op.stream)});
        }
        if (op.records != kNoSlot) {
            slots_[op.records] = {op.stream, count(op.stream)};
        }
    }

    void next_tp() {
        for (const Open& open : open_) {
            apart_[open.call] = false;
        }
        open_.clear();
        count(Stream::Tp) += 2;
    }

    void compute_waits_for(std::uint16_t slot) {
        if (slot == kNoSlot || slots_[slot].number == 0) {
            return;
        }
        const Producer& producer = slots_[slot];
        if (producer.stream == Stream::Tp && producer.number == count(Stream::Tp)) {
            tp_open_ = false;
        }
        std::erase_if(open_, [&](const Open& open) {
            return open.stream == producer.stream && open.number <= producer.number;
        });
    }

    bool follows_compute(const Op& op) {
        return std::any_of(op.waits.begin(), op.waits.end(), [&](std::uint16_t slot) {
            return slot != kNoSlot && slots_[slot].stream == Stream::Compute &&
                   slots_[slot].number != 0 && slots_[slot].number == count(Stream::Compute);
        });
    }

    std::uint64_t& count(Stream s) { return counts_[static_cast<std::size_t>(s)]; }

    const ProgramSet& set_;
    const std::vector<Summary>& segments_;
    std::vector<bool>& apart_;
    std::vector<Producer> slots_;
    std::array<std::uint64_t, kStreams> counts_{};
    std::vector<Open> open_;  // tp calls on other streams that no compute op has waited for
    bool tp_open_ = false;    // so for ops of the tp stream
};

}  // namespace

std::vector<std::uint16_t> call_streams(const ProgramSet& set) {
    std::vector<std::uint16_t> streams(set.collectives.size());
    std::vector<bool> elsewhere(set.collectives.size());  // tp calls on other streams
    const auto note = [&](const Op& op) {
        if (op.kind == OpKind::Collective) {
            streams[op.work] = static_cast<std::uint16_t>(streams[op.work] | bit(op.stream));
            if (op.stream != Stream::Tp && set.collectives[op.work].role == GroupRole::Tp) {
                elsewhere[op.work] = true;
            }
        }
    };
    std::for_each(set.ops.begin(), set.ops.end(), note);
    for (const Segment& segment : set.segments) {
        std::for_each(segment.ops.begin(), segment.ops.end(), note);
    }
    if (std::find(elsewhere.begin(), elsewhere.end(), true) == elsewhere.end()) {
        return streams;
    }
    std::vector<Summary> segments;
    for (const Segment& segment : set.segments) {
        segments.push_back(summary_of(segment.ops));
    }
    std::vector<bool> apart = elsewhere;
    for (const Program& program : set.programs) {
        Walk(set, segments, apart).run(program);
    }
    for (std::size_t c = 0; c < streams.size(); ++c) {
        if (apart[c]) {
            streams[c] = bit(Stream::Tp);
        }
    }
    return streams;
}

std::vector<bool> calls_made(const ProgramSet& set, const Program& program) {
    std::vector<bool> made(set.collectives.size());
    std::vector<bool> seen(set.segments.size());
    const auto note = [&](const Op& op) {
        if (op.kind == OpKind::Collective) {
            made[op.work] = true;
        }
    };
    for (const Item& item : program.items) {
        if (item.kind == Item::Kind::Op) {
            note(set.ops[item.index]);
        } else if (!seen[item.index]) {
            seen[item.index] = true;
            const std::vector<Op>& ops = set.segments[item.index].ops;
            std::for_each(ops.begin(), ops.end(), note);
        }
    }
    return made;
}

}  // namespace memwall
