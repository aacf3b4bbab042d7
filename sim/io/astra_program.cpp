#include <map>
#include <utility>

#include "sim/io/astra_text.h"

namespace memwall {
namespace {

// Event slots: the last compute op, the last collective that is waited for, and one per layer for its weight gradient.
constexpr std::uint16_t kComputed = 0;
constexpr std::uint16_t kCommunicated = 1;
constexpr std::uint16_t kFirstLayer = 2;

Stream stream_of(GroupRole role) {
    switch (role) {
    case GroupRole::Tp:
        return Stream::Tp;
    case GroupRole::Cp:
        return Stream::Cp;
    case GroupRole::Ep:
        return Stream::Ep;
    case GroupRole::Dp:
    case GroupRole::Shard:
    case GroupRole::Replicate:
    case GroupRole::Pp:
    case GroupRole::Embedding:
    case GroupRole::World:
        return Stream::Dp;
    }
    return Stream::Dp;
}

Category category_of(GroupRole role) {
    switch (role) {
    case GroupRole::Tp:
        return Category::TpComm;
    case GroupRole::Cp:
        return Category::CpComm;
    case GroupRole::Ep:
        return Category::EpComm;
    case GroupRole::Dp:
    case GroupRole::Shard:
    case GroupRole::Replicate:
    case GroupRole::Pp:
    case GroupRole::Embedding:
    case GroupRole::World:
        return Category::DpComm;
    }
    return Category::DpComm;
}

template <class T>
class Distinct {
  public:
    explicit Distinct(std::vector<T>& list) : list_(list) {}
    std::uint32_t index_of(const T& value) {
        const auto [found, is_first] =
            indices_.emplace(value, static_cast<std::uint32_t>(list_.size()));
        if (is_first) {
            list_.push_back(value);
        }
        return found->second;
    }

  private:
    std::vector<T>& list_;
    std::map<T, std::uint32_t> indices_;
};

class Builder {
  public:
    explicit Builder(std::size_t layers) {
        set_.programs.emplace_back();
        set_.slots = static_cast<std::uint16_t>(kFirstLayer + layers);
    }

    // Zero time without anything to wait for is no kernel.
    void compute(const std::string& label,
                 Duration time,
                 std::uint16_t slot,
                 bool backward,
                 Category category = Category::Compute) {
        if (time.count() == 0 && slot == kNoSlot && !waits_for_collective_) {
            return;
        }
        Op op;
        op.category = category;
        op.work = kernels_.index_of(Kernel(Measured{time, Flops(0)}));
        op.records = kComputed;
        op.waits = {slot, waits_for_collective_ ? kCommunicated : kNoSlot, kNoSlot, kNoSlot};
        waits_for_collective_ = false;
        add(op, label, backward);
    }

    void collective(const std::string& label,
                    const CollectiveCall& call,
                    std::uint16_t records,
                    bool backward) {
        Op op;
        op.kind = OpKind::Collective;
        op.stream = stream_of(call.role);
        op.category = category_of(call.role);
        op.work = collectives_.index_of(call);
        op.records = records;
        op.waits = {kComputed, waits_for_collective_ ? kCommunicated : kNoSlot, kNoSlot, kNoSlot};
        add(op, label, backward);
    }

    // The next kernel waits for the last collective that recorded kCommunicated.
    void block() { waits_for_collective_ = true; }

    ProgramSet take() { return std::move(set_); }

  private:
    void add(Op& op, const std::string& label, bool backward) {
        op.label = labels_.index_of(label);
        Item item;
        item.kind = Item::Kind::Op;
        item.index = static_cast<std::uint32_t>(set_.ops.size());
        item.micro_batch = 0;
        item.chunk = 0;
        item.backward = backward;
        set_.ops.push_back(op);
        set_.programs.front().items.push_back(item);
    }

    ProgramSet set_;
    Distinct<Kernel> kernels_{set_.kernels};
    Distinct<CollectiveCall> collectives_{set_.collectives};
    Distinct<std::string> labels_{set_.labels};
    bool waits_for_collective_ = true;  // of the step before
};

std::uint16_t layer_slot(std::size_t layer) {
    return static_cast<std::uint16_t>(kFirstLayer + layer);
}

void forward(Builder& b, const AstraLayer& l, std::size_t i) {
    if (l.update.count() > 0) {
        b.compute(l.name + " update", l.update, layer_slot(i), false, Category::Optimizer);
    }
    b.compute(l.name + " forward", l.forward.compute, layer_slot(i), false);
    if (l.forward.collective) {
        b.collective(l.name + " forward", *l.forward.collective, kCommunicated, false);
        b.block();
    }
}

void weight_gradient(Builder& b, const AstraLayer& l, std::size_t i) {
    b.compute(l.name + " weight gradient", l.weight_gradient.compute, kNoSlot, true);
    if (l.weight_gradient.collective) {
        b.collective(
            l.name + " weight gradient", *l.weight_gradient.collective, layer_slot(i), true);
    }
}

void backward(Builder& b, AstraKeyword keyword, const AstraLayer& l, std::size_t i) {
    if (keyword == AstraKeyword::Data) {
        weight_gradient(b, l, i);
        // Nothing stands before the first layer.
        if (i > 0) {
            b.compute(l.name + " input gradient", l.input_gradient.compute, kNoSlot, true);
        }
        return;
    }
    b.compute(l.name + " input gradient", l.input_gradient.compute, kNoSlot, true);
    if (l.input_gradient.collective) {
        b.collective(l.name + " input gradient", *l.input_gradient.collective, kCommunicated, true);
    }
    weight_gradient(b, l, i);
    if (l.input_gradient.collective) {
        b.block();
    }
}

ProgramSet one_stage(const AstraWorkload& workload) {
    const std::vector<AstraLayer>& layers = workload.layers;
    const AstraKeyword keyword = workload.header.keyword;
    Builder b(layers.size());
    if (keyword == AstraKeyword::Micro) {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            for (const AstraPass* pass :
                 {&layers[i].forward, &layers[i].input_gradient, &layers[i].weight_gradient}) {
                if (pass->collective) {
                    b.collective(layers[i].name, *pass->collective, layer_slot(i), false);
                }
            }
        }
        return b.take();
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
        forward(b, layers[i], i);
    }
    for (std::size_t i = layers.size(); i-- > 0;) {
        backward(b, keyword, layers[i], i);
    }
    return b.take();
}

}  // namespace

ProgramSet astra_program(const AstraWorkload& workload, int stages) {
    ProgramSet set = one_stage(workload);
    for (int stage = 1; stage < stages; ++stage) {
        set.programs.push_back(set.programs.front());
        set.programs.back().stage = stage;
    }
    return set;
}

}  // namespace memwall
