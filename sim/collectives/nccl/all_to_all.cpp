// All-to-all as grouped send/receive, a = S / n bytes per peer.
//   a <= 16 KiB:  b_LL + 2 us + 0.28 us (n-1) + a / 6.5 GB/s
//   else:         b_P + 0.28 us (n-1) + min(a, 64 KiB) / 32 GB/s + w + F_p (1 - exp(-0.4 w / F_p))
//   w = (i (n-1) + x_a) a / B      i: 1, or 1.5 where half of the pairs cross sockets; x_a: the copy to oneself
// Across nodes w is the longer of the node's own part (n -> p) and (n - p) a over the rank's share of the NICs, and one
// network latency is added. That part is from the NICs' rate and latency alone: no open measurement, unverified.
#include <algorithm>

#include "sim/collectives/nccl/laws.h"
#include "sim/collectives/nccl/shared.h"

namespace memwall {

Protocol all_to_all_protocol(const NcclView& v, double bytes) {
    return bytes / v.n <= kNcclFacts.p2p_ll_bytes ? Protocol::Ll : Protocol::Simple;
}

LawTime all_to_all_law(const NcclView& v, double bytes) {
    const double a = bytes / v.n;
    const double peers = kNcclShared.per_peer_us * (v.n - 1);
    const bool small = all_to_all_protocol(v, bytes) == Protocol::Ll;
    const double inside = ((v.cross_socket * (v.p - 1)) + v.gpu.self_copy) * a / v.ring;
    const double across = v.m > 1 ? (v.n - v.p) * a * v.p / v.wire : 0;
    if (small) {
        const double latency = v.m > 1 ? us(v.net.step_ll) : 0;
        const double flow = std::max(a / kNcclShared.p2p_ll_rate, across * kNcclFacts.ll_wire);
        return {us(v.gpu.base_ll) + kNcclShared.p2p_ll_base_us + peers + latency + flow, flow};
    }
    const double work = std::max(inside, across);
    const double latency = v.m > 1 ? us(v.net.step_simple) : 0;
    const double first = std::min(a, kNcclFacts.p2p_channel_bytes) / kNcclShared.p2p_channel_rate;
    const double fill = filling(us(v.gpu.fill_p2p), kNcclShared.fill_rate, inside);
    return {us(v.gpu.base_p2p) + peers + latency + first + work + fill, work};
}

}  // namespace memwall
