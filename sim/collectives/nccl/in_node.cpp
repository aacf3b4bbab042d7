// Inside one NVLink domain or PCIe box. N ring steps, c = S / (n B) the bytes of one step at the ring rate.
//   ring LL      b_LL + N l + (N + 1.5) q / (1.1 B / 2C)        q = max(S / nC, min(S / n, 4096)) bytes per channel, step
//   ring LL128   b_S + N l128 + (N + x) c / 0.92
//   ring Simple  b_S + max8( (N + x) c + F (1 - exp(-0.4 N c / F)),  N L + (N/2 + x) c )
//   NVLS         0.5 us + (max(S / Z, 1) + 2) t,   t = sqrt( (min(S, Z)(1 + 1/n) / R)^2 + lambda^2 ),   Z = C_nv n k
// LL carries a flag with each word (half of the wire is payload) and adds channels only when each has 4 KiB per rank.
// Simple has two regimes: bandwidth with a saturating fill, and latency, where a step costs a handshake plus half a chunk.
// x: the pass over local memory that is no ring step. k: the chunk, halved for small messages.
// Neglects: data type (int8 reductions are 3 - 13 % slower), rank skew, library versions before 2.23.
// Fit and residuals: data of gpu.nccl; geometric mean error 5 % at >= 1 MiB.
#include <algorithm>
#include <cmath>

#include "sim/collectives/nccl/laws.h"
#include "sim/collectives/nccl/shared.h"

namespace memwall {

double ring_steps(CollectiveKind kind, double n) {
    return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Barrier ? 2 * (n - 1)
                                                                                : n - 1;
}

double smooth_max(double a, double b, double k) {
    const double high = std::max(a, b);
    const double low = std::min(a, b);
    return high > 0 ? high * std::pow(1 + std::pow(low / high, k), 1 / k) : 0;
}

double filling(double fill, double rate, double work) {
    return fill > 0 ? fill * -std::expm1(-rate * work / fill) : 0;
}

LawTime ring_in_node(const NcclView& v, CollectiveKind kind, Protocol protocol, double bytes) {
    const double steps = ring_steps(kind, v.n);
    const double c = bytes / (v.n * v.ring);
    const double pass = v.gpu.extra_pass * (steps > v.n - 1 ? kNcclShared.all_reduce_pass : 1.0);
    switch (protocol) {
    case Protocol::Ll: {
        const double channels = v.gpu.channels;
        const double q =
            std::max(bytes / (v.n * channels), std::min(bytes / v.n, kNcclFacts.ll_channel_bytes));
        const double rate = kNcclShared.ll_efficiency * v.ring / (kNcclFacts.ll_wire * channels);
        const double flow =
            (steps * us(v.gpu.step_ll)) + ((steps + kNcclShared.ll_passes) * q / rate);
        return {us(v.gpu.base_ll) + flow, flow};
    }
    case Protocol::Ll128: {
        const double flow = (steps * kNcclShared.ll128_step * us(v.gpu.step_ll)) +
                            ((steps + pass) * c / kNcclShared.ll128_rate);
        return {us(v.gpu.base_simple) + flow, flow};
    }
    case Protocol::Simple: {
        const double fill = filling(us(v.gpu.fill), kNcclShared.fill_rate, steps * c);
        const double wide = ((steps + pass) * c) + fill;
        const double latent = (steps * us(v.gpu.step_simple)) + ((steps / 2 + pass) * c);
        const double body = smooth_max(wide, latent, kNcclShared.norm_in_node);
        return {us(v.gpu.base_simple) + body, body - fill};
    }
    case Protocol::None:
        break;
    }
    return {};
}

LawTime nvls_in_node(const NcclView& v, double bytes) {
    const double heads = v.gpu.nvls_channels * v.n;
    double chunk = kNvlsChunkMax;
    for (const NvlsChunk& smaller : kNvlsChunks) {
        if (bytes < smaller.loops * heads * chunk) {
            chunk = smaller.bytes;
        }
    }
    const double loop_bytes = heads * chunk;
    const double moving = std::min(bytes, loop_bytes) * (1 + 1 / v.n) / per_us(v.gpu.nvls);
    const double loop = std::hypot(moving, us(v.gpu.nvls_loop));
    const double flow = std::max(bytes / loop_bytes, 1.0) * loop;
    return {kNcclShared.nvls_base_us + (kNcclShared.nvls_fill_loops * loop) + flow, flow};
}

}  // namespace memwall
