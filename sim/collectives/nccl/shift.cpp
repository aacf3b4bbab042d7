// Shift as one grouped send and receive per rank, the law of a single message (message.cpp) in both directions at once.
//   S <= 16 KiB: t = b_LL + 2 us + S / 6.5 GB/s
//   else:        t = max8( b_P + min(S, 64 KiB) / 32 GB/s,  6 us + S / r ),   r = min(1.2 B, 0.92 of the raw rate)
//   across nodes: t = L_net + 0.28 us + S / (e_W x NIC rate), or the time inside a node where that is longer.
// Neglects: the ring that crosses nodes waits for the slowest hop only. No open measurement, unverified.
#include <algorithm>

#include "sim/collectives/nccl/laws.h"
#include "sim/collectives/nccl/shared.h"

namespace memwall {

Protocol shift_protocol(const NcclView& v, double bytes) {
    return v.m <= 1 && bytes <= kNcclFacts.p2p_ll_bytes ? Protocol::Ll : Protocol::Simple;
}

LawTime shift_law(const NcclView& v, const GroupShape& shape, double bytes) {
    if (shift_protocol(v, bytes) == Protocol::Ll) {
        const double flow = bytes / kNcclShared.p2p_ll_rate;
        return {us(v.gpu.base_ll) + kNcclShared.p2p_ll_base_us + flow, flow};
    }
    LawTime time;
    if (v.p > 1) {
        const double rate =
            std::min(kNcclShared.p2p_rate * v.ring, kNcclShared.p2p_raw_share * per_us(shape.port));
        const double base = us(v.gpu.base_p2p) + (std::min(bytes, kNcclFacts.p2p_channel_bytes) /
                                                  kNcclShared.p2p_channel_rate);
        time = {
            smooth_max(base, kNcclShared.p2p_base_us + (bytes / rate), kNcclShared.norm_in_node),
            bytes / rate};
    }
    if (v.m > 1) {
        const double flow = bytes / (per_us(shape.lane_rate) * v.net.efficiency);
        time.total = std::max(time.total, us(v.net.step_simple) + kNcclShared.per_peer_us + flow);
        time.flow = std::max(time.flow, flow);
    }
    return time;
}

}  // namespace memwall
