// Several nodes. I hops cross the network on the longest block path: 2m of N for all-reduce, m for all-gather and
// reduce-scatter, all N with one rank per node. B' = min(B, e_W W); d = ceil(log2 m); tau = 1 for two nodes, else 2.
//   ring LL      b_LL + (N-I) l + I l_net + (N + 1.5) q / (1.1 B / 2C) + N S / (n r_LL)
//   ring LL128   b_S + (N-I) l128 + I k128 l_net + (N + x) c' / 0.92                          c' = S / (n B')
//   ring Simple  b_S + max4( (N + x) c' + F_r (1 - exp(-0.8 N c' / F_r)),  (N-I) L + I L_net + (N/2 + x) c' )
//   tree LL      b_LL + 2 ((p-1) l + d l_net) + tau S / r_LL
//   tree LL128   b_S + 2 ((p-1) l128 + d k128 l_net) + S / min( min(r128, 0.92 e_W W) / tau, 0.4 B )
//   tree Simple  b_S + t_in + 2 d L_net + w + F_t (1 - exp(-0.8 w / F_t)),    w = S / min(A, e_W W / tau)
//     A = 0.46 B, t_in = 2 (p-1) L;  with NVLS in the nodes A = R / (1 + 1/p), t_in = 2.5 lambda
// With two nodes each is root of half of the trees and every byte leaves once; with more, an inner node of one tree
// sends up once and down twice on half of the data and is a leaf of the other: 2 S leave the busiest node.
// LL rates on the wire are those of the fabric, but never more than half of its NICs (LL doubles the bytes).
// Fit and residuals: data of fabric.nccl. Rings of more than 32 ranks and racks of NVLink: extrapolated.
#include <algorithm>
#include <cmath>

#include "sim/collectives/nccl/laws.h"
#include "sim/collectives/nccl/shared.h"

namespace memwall {

namespace {

double ll_wire_rate(const NcclView& v) {
    return std::min(per_us(v.net.ll_rate), v.wire / kNcclFacts.ll_wire);
}

}  // namespace

LawTime ring_across(const NcclView& v, CollectiveKind kind, Protocol protocol, double bytes) {
    const double steps = ring_steps(kind, v.n);
    const double passes = steps > v.n - 1 ? 2 : 1;
    const double hops = v.p <= 1 ? steps : std::min(steps, passes * v.m);
    const double c = bytes / (v.n * std::min(v.ring, v.wire));
    const double pass = v.gpu.extra_pass * (passes > 1 ? kNcclShared.all_reduce_pass : 1.0);
    switch (protocol) {
    case Protocol::Ll: {
        const double channels = v.gpu.channels;
        const double q =
            std::max(bytes / (v.n * channels), std::min(bytes / v.n, kNcclFacts.ll_channel_bytes));
        const double rate = kNcclShared.ll_efficiency * v.ring / (kNcclFacts.ll_wire * channels);
        const double flow = ((steps - hops) * us(v.gpu.step_ll)) + (hops * us(v.net.step_ll)) +
                            ((steps + kNcclShared.ll_passes) * q / rate) +
                            (steps * bytes / (v.n * ll_wire_rate(v)));
        return {us(v.gpu.base_ll) + flow, flow};
    }
    case Protocol::Ll128: {
        const double flow = ((steps - hops) * kNcclShared.ll128_step * us(v.gpu.step_ll)) +
                            (hops * v.net.ll128_factor * us(v.net.step_ll)) +
                            ((steps + pass) * c / kNcclShared.ll128_rate);
        return {us(v.gpu.base_simple) + flow, flow};
    }
    case Protocol::Simple: {
        const double fill = filling(us(v.net.ring_fill), kNcclShared.network_fill_rate, steps * c);
        const double wide = ((steps + pass) * c) + fill;
        const double latent = ((steps - hops) * us(v.gpu.step_simple)) +
                              (hops * us(v.net.step_simple)) + ((steps / 2 + pass) * c);
        const double body = smooth_max(wide, latent, kNcclShared.norm_across);
        return {us(v.gpu.base_simple) + body, body - fill};
    }
    case Protocol::None:
        break;
    }
    return {};
}

LawTime tree_across(const NcclView& v, Protocol protocol, bool nvls, double bytes) {
    const double depth = std::ceil(std::log2(v.m));
    const double tau = v.m > 2 ? 2 : 1;
    const bool network = v.m > 1;
    const double chain = v.p - 1;
    switch (protocol) {
    case Protocol::Ll: {
        const double latency = 2 * ((chain * us(v.gpu.step_ll)) + (depth * us(v.net.step_ll)));
        const double flow = tau * bytes / ll_wire_rate(v);
        return {us(v.gpu.base_ll) + latency + flow, flow};
    }
    case Protocol::Ll128: {
        const double latency = 2 * ((chain * kNcclShared.ll128_step * us(v.gpu.step_ll)) +
                                    (depth * v.net.ll128_factor * us(v.net.step_ll)));
        const double wire =
            std::min(per_us(v.net.ll128_rate), kNcclShared.ll128_rate * v.wire) / tau;
        const double flow = bytes / std::min(wire, kNcclShared.tree_ll128_rate * v.ring);
        return {us(v.gpu.base_simple) + latency + flow, flow};
    }
    case Protocol::Simple: {
        const double inside = nvls ? kNcclShared.nvls_tree_loops * us(v.gpu.nvls_loop)
                                   : 2 * chain * us(v.gpu.step_simple);
        const double rate =
            nvls ? per_us(v.gpu.nvls) / (1 + 1 / v.p) : kNcclShared.tree_rate * v.ring;
        const double work = bytes / (network ? std::min(rate, v.wire / tau) : rate);
        const double fill =
            network ? filling(us(v.net.tree_fill), kNcclShared.network_fill_rate, work) : 0;
        return {us(v.gpu.base_simple) + inside + (2 * depth * us(v.net.step_simple)) + work + fill,
                work};
    }
    case Protocol::None:
        break;
    }
    return {};
}

}  // namespace memwall
