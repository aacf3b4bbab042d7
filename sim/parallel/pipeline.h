#pragma once
// The passes of one stage with the exchanges between them. A pure function of schedule, shape and kind of send/recv.
//
// Blocking and batched send/recv pair their messages as Megatron-LM does (a stage that sends an activation forward receives
// a gradient in the same exchange), so that a rendezvous never waits in a circle. Overlapped send/recv has one message per
// exchange, each direction on its own stream. A ragged interleaved schedule (m mod p != 0) has no such pairing: it uses
// single messages on own streams whatever the stack says.
// Neglected: the memory of received tensors between their arrival and the first op of the pass that consumes them.
#include <vector>

#include "sim/parallel/schedule.h"
#include "sim/spec/stack.h"

namespace memwall {

struct PipelineAction {
    enum class Kind : std::uint8_t { Pass, Exchange } kind = Kind::Pass;
    Slot slot;  // the pass; of an exchange: the pass it belongs to
    // Messages of an exchange.
    bool send_next = false;  // activation
    bool recv_prev = false;
    bool send_prev = false;  // gradient
    bool recv_next = false;
    // One bit each, in the order above.
    [[nodiscard]] unsigned messages() const {
        return (send_next ? 1U : 0U) | (recv_prev ? 2U : 0U) | (send_prev ? 4U : 0U) |
               (recv_next ? 8U : 0U);
    }
};

// Whether messages travel one by one on streams of their own.
[[nodiscard]] bool single_messages(Schedule schedule, const PipelineShape& shape, P2pKind p2p);

[[nodiscard]] std::vector<PipelineAction> pipeline_actions(Schedule schedule,
                                                           const PipelineShape& shape,
                                                           int stage,
                                                           P2pKind p2p);

}  // namespace memwall
