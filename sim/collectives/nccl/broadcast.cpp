// Broadcast along a ring that starts at the root; from the library's structure only, no open measurement.
//   LL      b_LL + (n-1) l + 2 S / B + (n-1) min(S, 4096) / (B / 2C)
//   Simple  b_S + (S + (n-2) C min(S / C, 524288)) / B
// Across nodes m - 1 of the hops take the network's latency instead, and the message moves at the slower of B and the
// NICs (LL: of its rate on the wire). Unverified.
// Source: NVIDIA/nccl @5067397 src/device/broadcast.h, src/enqueue.cc.
#include <algorithm>

#include "sim/collectives/nccl/laws.h"
#include "sim/collectives/nccl/shared.h"

namespace memwall {

LawTime broadcast_law(const NcclView& v, Protocol protocol, double bytes) {
    const double hops = v.n - 1;
    const double across = v.m - 1;
    const double channels = v.gpu.channels;
    switch (protocol) {
    case Protocol::Ll: {
        const double latency = ((hops - across) * us(v.gpu.step_ll)) + (across * us(v.net.step_ll));
        const double first = hops * std::min(bytes, kNcclFacts.ll_channel_bytes) *
                             kNcclFacts.ll_wire * channels / v.ring;
        double flow = kNcclFacts.ll_wire * bytes / v.ring;
        if (v.m > 1) {
            flow = std::max(flow,
                            bytes / std::min(per_us(v.net.ll_rate), v.wire / kNcclFacts.ll_wire));
        }
        return {us(v.gpu.base_ll) + latency + first + flow, flow};
    }
    case Protocol::Simple: {
        const double rate = v.m > 1 ? std::min(v.ring, v.wire) : v.ring;
        const double fill =
            (v.n - 2) * channels * std::min(bytes / channels, kNcclFacts.chunk_bytes) / rate;
        const double latency = across * us(v.net.step_simple);
        return {us(v.gpu.base_simple) + latency + fill + (bytes / rate), bytes / rate};
    }
    case Protocol::Ll128:
    case Protocol::None:
        break;
    }
    return {};
}

}  // namespace memwall
