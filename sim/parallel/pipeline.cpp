// Source of the pairing: Megatron-LM megatron/core/pipeline_parallel/schedules.py,
// forward_backward_pipelining_without_interleaving and forward_backward_pipelining_with_interleaving.
#include "sim/parallel/pipeline.h"

#include "sim/core/check.h"

namespace memwall {
namespace {

class Actions {
  public:
    Actions(const PipelineShape& shape, int stage)
        : shape_(shape), first_(stage == 0), last_(stage == shape.p - 1) {
        actions_.reserve(6 * static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.v));
    }

    [[nodiscard]] bool receives(const Slot& slot) const {
        return slot.backward ? !last_ || slot.chunk != shape_.v - 1 : !first_ || slot.chunk != 0;
    }
    [[nodiscard]] bool sends(const Slot& slot) const {
        return slot.backward ? !first_ || slot.chunk != 0 : !last_ || slot.chunk != shape_.v - 1;
    }

    void pass(const Slot& slot) {
        PipelineAction action;
        action.slot = slot;
        actions_.push_back(action);
    }
    void exchange(PipelineAction messages, const Slot& slot) {
        if (messages.messages() != 0) {
            messages.kind = PipelineAction::Kind::Exchange;
            messages.slot = slot;
            actions_.push_back(messages);
        }
    }
    void receive_for(const Slot& slot) {
        PipelineAction messages;
        (slot.backward ? messages.recv_next : messages.recv_prev) = receives(slot);
        exchange(messages, slot);
    }
    void send_of(const Slot& slot) {
        PipelineAction messages;
        (slot.backward ? messages.send_prev : messages.send_next) = sends(slot);
        exchange(messages, slot);
    }
    // The message of `sent` leaves while the one that `received` needs comes in.
    void send_receive(const Slot& sent, const Slot& received) {
        PipelineAction messages;
        (sent.backward ? messages.send_prev : messages.send_next) = sends(sent);
        (received.backward ? messages.recv_next : messages.recv_prev) = receives(received);
        exchange(messages, sent);
    }

    [[nodiscard]] bool first() const { return first_; }
    [[nodiscard]] bool last() const { return last_; }
    [[nodiscard]] std::vector<PipelineAction> take() { return std::move(actions_); }

  private:
    PipelineShape shape_;
    bool first_;
    bool last_;
    std::vector<PipelineAction> actions_;
};

std::vector<PipelineAction> one_by_one(const std::vector<Slot>& order, Actions actions) {
    for (const Slot& slot : order) {
        actions.receive_for(slot);
        actions.pass(slot);
        actions.send_of(slot);
    }
    return actions.take();
}

std::vector<PipelineAction> paired_1f1b(const PipelineShape& shape, int stage, Actions actions) {
    const auto forward = [](int k) {
        return Slot{.backward = false, .micro_batch = k, .chunk = 0};
    };
    const auto backward = [](int k) {
        return Slot{.backward = true, .micro_batch = k, .chunk = 0};
    };
    const int warm_up = one_f_one_b_warm_up(shape, stage);
    const int steady = shape.m - warm_up;
    for (int k = 0; k < warm_up; ++k) {
        actions.receive_for(forward(k));
        actions.pass(forward(k));
        actions.send_of(forward(k));
    }
    if (steady > 0) {
        actions.receive_for(forward(warm_up));
    }
    for (int k = 0; k < steady; ++k) {
        actions.pass(forward(warm_up + k));
        actions.send_receive(forward(warm_up + k), backward(k));
        actions.pass(backward(k));
        if (k + 1 < steady) {
            actions.send_receive(backward(k), forward(warm_up + k + 1));
        } else {
            actions.send_of(backward(k));
        }
    }
    for (int k = steady; k < shape.m; ++k) {
        actions.receive_for(backward(k));
        actions.pass(backward(k));
        actions.send_of(backward(k));
    }
    return actions.take();
}

// After each forward, after each pair of forward and backward, after each backward: one exchange with everything that is
// due. Passes advance in lockstep: the first stage takes what the last stage sends at the same time, p-1 passes later.
class InterleavedPairing {
  public:
    InterleavedPairing(const PipelineShape& shape, int stage, Actions actions)
        : shape_(shape),
          actions_(std::move(actions)),
          forward_(interleaved_sequence(shape, false)),
          backward_(interleaved_sequence(shape, true)),
          warm_up_(interleaved_warm_up(shape, stage)) {}

    std::vector<PipelineAction> run() {
        const int total = static_cast<int>(forward_.size());
        const bool all_warm_up = warm_up_ == total;
        actions_.receive_for(forward_.front());
        for (int k = 0; k < warm_up_; ++k) {
            actions_.pass(f(k));
            PipelineAction messages;
            messages.send_next = actions_.sends(f(k));
            messages.recv_prev = forward_due(k);
            messages.recv_next = k + 1 == warm_up_ && !all_warm_up && !actions_.last();
            actions_.exchange(messages, f(k));
        }
        for (int k = 0; warm_up_ + k < total; ++k) {
            actions_.pass(f(warm_up_ + k));
            actions_.pass(b(k));
            PipelineAction messages;
            messages.send_next = actions_.sends(f(warm_up_ + k));
            messages.recv_prev = forward_due(warm_up_ + k);
            messages.send_prev = actions_.sends(b(k));
            messages.recv_next = backward_due(k);
            actions_.exchange(messages, b(k));
        }
        if (all_warm_up) {
            actions_.receive_for(backward_.front());
        }
        for (int k = total - warm_up_; k < total; ++k) {
            actions_.pass(b(k));
            PipelineAction messages;
            messages.send_prev = actions_.sends(b(k));
            messages.recv_next = backward_due(k);
            actions_.exchange(messages, b(k));
        }
        return actions_.take();
    }

  private:
    [[nodiscard]] const Slot& f(int k) const { return forward_[static_cast<std::size_t>(k)]; }
    [[nodiscard]] const Slot& b(int k) const { return backward_[static_cast<std::size_t>(k)]; }

    // Whether an activation arrives after forward pass k.
    [[nodiscard]] bool forward_due(int k) const {
        if (actions_.first()) {
            const int sent = k - (shape_.p - 1);
            return sent >= 0 && f(sent).chunk != shape_.v - 1;
        }
        return k + 1 < static_cast<int>(forward_.size());
    }
    [[nodiscard]] bool backward_due(int k) const {
        if (actions_.last()) {
            const int sent = k - (shape_.p - 1);
            return sent >= 0 && b(sent).chunk != 0;
        }
        return k + 1 < static_cast<int>(backward_.size());
    }

    PipelineShape shape_;
    Actions actions_;
    std::vector<Slot> forward_;
    std::vector<Slot> backward_;
    int warm_up_;
};

}  // namespace

bool single_messages(Schedule schedule, const PipelineShape& shape, P2pKind p2p) {
    return p2p == P2pKind::Overlapped ||
           (schedule == Schedule::Interleaved && shape.m % shape.p != 0);
}

std::vector<PipelineAction> pipeline_actions(Schedule schedule,
                                             const PipelineShape& shape,
                                             int stage,
                                             P2pKind p2p) {
    Actions actions(shape, stage);
    if (shape.p == 1 || single_messages(schedule, shape, p2p)) {
        return one_by_one(schedule_order(schedule, shape, stage), std::move(actions));
    }
    switch (schedule) {
    case Schedule::GPipe:
        return one_by_one(schedule_order(schedule, shape, stage), std::move(actions));
    case Schedule::OneForwardOneBackward:
        return paired_1f1b(shape, stage, std::move(actions));
    case Schedule::Interleaved:
        return InterleavedPairing(shape, stage, std::move(actions)).run();
    }
    return {};
}

}  // namespace memwall
