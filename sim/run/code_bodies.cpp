// Segments and ops as they stand in the programs: who produces what they wait for.
#include <map>
#include <span>

#include "sim/core/check.h"
#include "sim/run/code_steps.h"

namespace memwall {
namespace {

// A place of a body that begins with a tp op.
struct LeadingPlace {
    std::uint32_t program = 0;
    std::uint32_t item = 0;
    bool follows_compute = false;
};

// A wait for a slot that was not recorded earlier in the step, met again when the step's last records are known.
struct Unmet {
    Source* op = nullptr;
    std::uint32_t place =
        kNone32;  // in places_, when it is the first op there and no compute op stands before
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
            Body& body = bodies_.all.emplace_back(body_of(segment.ops));
            body.segment = true;
            body.begins_with_tp =
                body.first != kNone16 && body.ops[body.first].op->stream == Stream::Tp;
            for (const Op& op : segment.ops) {
                MW_CHECK(op.stream == Stream::Compute || op.stream == Stream::Tp,
                         "a segment is on compute and tp only");
            }
        }
        for (const Op& op : set_.ops) {
            bodies_.all.push_back(body_of(std::span<const Op>(&op, 1)));
        }
        for (std::uint32_t p = 0; p < set_.programs.size(); ++p) {
            find_outside_producers(p);
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
    void find_outside_producers(std::uint32_t p) {
        const std::vector<Item>& items = set_.programs[p].items;
        std::vector<std::uint32_t>& at = bodies_.at.emplace_back();
        at.reserve(items.size());
        slots_.assign(set_.slots, nullptr);
        last_compute_ = nullptr;
        std::vector<Unmet> unmet;
        for (std::uint32_t k = 0; k < items.size(); ++k) {
            at.push_back(body_of_item(items[k]));
            Body& body = bodies_.all[at.back()];
            const bool none = last_compute_ == nullptr;
            bool follows = none && body.outside.empty();
            for (const std::uint16_t i : body.outside) {
                Source& op = body.ops[i];
                const Met met = meet(op);
                const bool leads = body.begins_with_tp && i == body.first;
                if (met.missing) {
                    unmet.push_back({&op, leads && none ? size32(places_.size()) : kNone32});
                }
                follows = follows || (leads && (met.last_compute || (met.missing && none)));
            }
            if (body.begins_with_tp) {
                places_.push_back({p, k, follows});
            }
            for (const auto& [slot, i] : body.last_records) {
                slots_[slot] = &body.ops[i];
            }
            if (body.last_compute != kNone16) {
                last_compute_ = &body.ops[body.last_compute];
            }
        }
        for (const Unmet& u : unmet) {
            const Met met = meet(*u.op);
            if (u.place != kNone32 && !met.last_compute) {
                places_[u.place].follows_compute = false;
            }
        }
    }

    Met meet(Source& source) {
        Met met;
        for (std::size_t w = 0; w < kWaits; ++w) {
            if (!source.waits_outside(w)) {
                continue;
            }
            Source* producer = slots_[source.op->waits[w]];
            if (producer == nullptr) {
                met.missing = true;
                continue;
            }
            const Stream stream = producer->op->stream;
            source.outside_streams[w] =
                static_cast<std::uint16_t>(source.outside_streams[w] | (1U << index_of(stream)));
            producer->awaited = producer->awaited || stream != source.op->stream;
            met.last_compute = met.last_compute || producer == last_compute_;
        }
        return met;
    }

    // Bodies that begin with a tp op, by whether it follows the compute stream.
    void split_bodies() {
        const std::size_t count = bodies_.all.size();
        std::vector<std::uint8_t> kinds(count);  // 1: places where it does not, 2: where it does
        for (const LeadingPlace& place : places_) {
            std::uint8_t& kind = kinds[bodies_.at[place.program][place.item]];
            kind = static_cast<std::uint8_t>(kind | (place.follows_compute ? 2U : 1U));
        }
        std::vector<std::uint32_t> elsewhere(count);  // the body for the places where it does not
        for (std::uint32_t b = 0; b < count; ++b) {
            elsewhere[b] = b;
            if (kinds[b] == 3) {
                elsewhere[b] = size32(bodies_.all.size());
                bodies_.all.push_back(bodies_.all[b]);
            }
            bodies_.all[b].follows_compute = kinds[b] >= 2;
        }
        for (const LeadingPlace& place : places_) {
            std::uint32_t& b = bodies_.at[place.program][place.item];
            b = place.follows_compute ? b : elsewhere[b];
        }
    }

    const ProgramSet& set_;
    Bodies bodies_;
    std::vector<LeadingPlace> places_;  // of all programs
    // Of the program that is looked through.
    std::vector<Source*> slots_;  // the ops that recorded them last
    const Source* last_compute_ = nullptr;
};

}  // namespace

Bodies bodies_of(const ProgramSet& set) {
    return BodyFinder(set).find();
}

}  // namespace memwall
