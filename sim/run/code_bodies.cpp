// Segments and ops as they stand in the programs: who produces what they wait for.
#include <map>
#include <span>

#include "sim/core/check.h"
#include "sim/run/code_steps.h"

namespace memwall {
namespace {

struct Producer {
    std::uint32_t body = kNone32;
    std::uint16_t op = 0;  // of the body
    Stream stream = Stream::Compute;
};

// A wait for a slot that was not recorded earlier in the step, met again when the step's last records are known.
struct Unmet {
    std::uint32_t body = 0;
    std::uint32_t place = 0;  // in follows_
    std::uint16_t op = 0;
    bool no_compute_before = false;  // in the step
};

struct Met {
    bool missing = false;       // some slot has no record yet
    bool last_compute = false;  // it waits for the last compute op
};

class BodyFinder {
  public:
    explicit BodyFinder(const ProgramSet& set) : set_(set) {}

    Bodies find() {
        for (const Segment& segment : set_.segments) {
            bodies_.all.push_back(body_of(segment.ops));
            bodies_.all.back().segment = true;
            for (const Op& op : segment.ops) {
                MW_CHECK(op.stream == Stream::Compute || op.stream == Stream::Tp,
                         "a segment is on compute and tp only");
            }
        }
        for (const Op& op : set_.ops) {
            bodies_.all.push_back(body_of(std::span<const Op>(&op, 1)));
        }
        for (const Program& program : set_.programs) {
            find_outside_producers(program);
        }
        split_bodies();
        return std::move(bodies_);
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

    // Which streams produce what the bodies wait for, over all places where a body stands; the step wraps around.
    void find_outside_producers(const Program& program) {
        std::vector<Producer> slots(set_.slots);
        std::vector<Unmet> unmet;
        std::vector<std::uint32_t>& at = bodies_.at.emplace_back();
        Producer last_compute;
        for (const Item& item : program.items) {
            const std::uint32_t b = body_of_item(item);
            at.push_back(b);
            Body& body = bodies_.all[b];
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
                slots[slot] = {b, i, body.ops[i].op->stream};
            }
            if (body.last_compute != kNone16) {
                last_compute = {b, body.last_compute, Stream::Compute};
            }
        }
        for (const Unmet& u : unmet) {
            const Met met = meet(bodies_.all[u.body].ops[u.op], slots, last_compute);
            if (u.op == bodies_.all[u.body].first && u.no_compute_before && !met.last_compute) {
                follows_[u.place] = false;
            }
        }
    }

    Met meet(Source& source, const std::vector<Producer>& slots, const Producer& last_compute) {
        Met met;
        for (std::size_t w = 0; w < kWaits; ++w) {
            if (!source.waits_outside(w)) {
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
                bodies_.all[producer.body].ops[producer.op].awaited = true;
            }
            met.last_compute = met.last_compute || (producer.body == last_compute.body &&
                                                    producer.op == last_compute.op);
        }
        return met;
    }

    // Bodies that begin with a tp op, by whether it follows the compute stream.
    void split_bodies() {
        const auto count = size32(bodies_.all.size());
        std::vector<std::uint8_t> kinds(count);  // 1: places where it does not, 2: where it does
        std::size_t place = 0;
        for (const std::vector<std::uint32_t>& at : bodies_.at) {
            for (const std::uint32_t b : at) {
                kinds[b] = static_cast<std::uint8_t>(kinds[b] | (follows_[place++] ? 2U : 1U));
            }
        }
        std::vector<std::uint32_t> elsewhere(count);  // the body for the places where it does not
        for (std::uint32_t b = 0; b < count; ++b) {
            Body& body = bodies_.all[b];
            const bool leading = body.segment && body.first != kNone16 &&
                                 body.ops[body.first].op->stream == Stream::Tp;
            elsewhere[b] = b;
            if (leading && kinds[b] == 3) {
                elsewhere[b] = size32(bodies_.all.size());
                bodies_.all.push_back(body);
                bodies_.all.back().follows_compute = false;
            } else {
                body.follows_compute = kinds[b] == 2;
            }
        }
        place = 0;
        for (std::vector<std::uint32_t>& at : bodies_.at) {
            for (std::uint32_t& b : at) {
                b = follows_[place++] ? b : elsewhere[b];
            }
        }
    }

    const ProgramSet& set_;
    Bodies bodies_;
    std::vector<bool> follows_;  // by item of all programs: see Body::follows_compute
};

}  // namespace

Bodies bodies_of(const ProgramSet& set) {
    return BodyFinder(set).find();
}

}  // namespace memwall
