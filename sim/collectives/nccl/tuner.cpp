// Nominal time = latency + S / (bandwidth x ratio), from NVIDIA/nccl src/graph/tuning.cc @5067397.
// In a node:
//   ring: latency = base + N h, ratio = n / N; bandwidth LL min(llMax, bus/2), LL128 min(0.92 bus, C_s x rate), Simple bus
//   NVLS: latency 25 us, bandwidth 2 n g eta (n-1)/n, ratio = n / N
// bus = C_s x speed, from the library's topology search. g: the largest speed at which n heads fit the bus.
// Across nodes, without NVLS in them:
//   ring: N - I steps of h and I of h_net, Simple all-reduce x 1.4 from 64 bytes per channel and rank on
//   tree: latency = base + 2 (p-1) h + 2 log2(m) h_net, ratio = 1/2; bandwidth Simple min(0.92 bus, C_s x rate), LL that
//         / 3.8, LL128 that x 120/128, all times a correction that depends on the size
//   bus: the node's own with two nodes, as the library takes it; else that of the NICs, if less.
// Trees inside a node have a higher base latency and a lower bandwidth than rings in every protocol that matters: the
// table never picks one there, so they are candidates only by name.
#include "sim/collectives/nccl/tuner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "sim/collectives/nccl/shared.h"

namespace memwall {

namespace {

struct RingLatency {
    double base;    // baseLatencies
    double nvlink;  // hwLatencies, per step
    double pcie;
};
constexpr RingLatency kLl{6.6, 0.6, 1.0};
constexpr RingLatency kLl128{14.0, 1.9, 2.5};
constexpr RingLatency kSimple{8.4, 3.4, 5.7};
constexpr double kNvlsLatency = 25;

// Speeds per channel that the search tries, GB/s, sm90 and sm100 (src/graph/search.cc).
constexpr std::array<double, 12> kHeadSpeeds = {90, 80, 70, 60, 50, 40, 30, 24, 20, 15, 12, 11};

double head_speed(double largest, double bus, double n) {
    for (const double speed : kHeadSpeeds) {
        const double rate = speed * 1e3;
        if (rate <= largest && n * rate <= bus) {
            return rate;
        }
    }
    return bus / n;
}

double ring_nominal(const NcclView& v, CollectiveKind kind, Protocol protocol, double bytes) {
    const double steps = ring_steps(kind, v.n);
    const double bus = v.gpu.search_channels * per_us(v.gpu.search_speed) * v.full;
    const auto time = [&](const RingLatency& l, double bandwidth) {
        return l.base + (steps * (v.medium == Medium::NvLink ? l.nvlink : l.pcie)) +
               (bytes * steps / (v.n * bandwidth));
    };
    switch (protocol) {
    case Protocol::Ll:
        return time(kLl, std::min(per_us(v.gpu.ll_max), bus / 2));
    case Protocol::Ll128:
        return time(kLl128,
                    std::min(0.92 * bus, v.gpu.search_channels * per_us(v.gpu.ll128_per_channel)));
    case Protocol::Simple:
        return time(kSimple, bus);
    case Protocol::None:
        break;
    }
    return 0;
}

struct TreeLatency {
    double base;
    double nvlink;
    double pcie;
    double net;
};
constexpr TreeLatency kTreeLl{6.8, 0.6, 1.0, 5.0};
constexpr TreeLatency kTreeLl128{14.0, 1.25, 1.9, 8.5};
constexpr TreeLatency kTreeSimple{8.4, 4.0, 4.0, 14.0};

// treeCorrectionFactor, by log2(bytes / 64).
using Correction = std::array<double, 23>;
constexpr Correction kCorrectionLl = {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
                                      0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0};
constexpr Correction kCorrectionLl128 = {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
                                         0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0};
constexpr Correction kCorrectionSimple = {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8,
                                          0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6,
                                          0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9};

double corrected(const Correction& factors, double bytes) {
    const double size = std::floor(std::log2(std::max(bytes / 64, 1.0)));
    return size < static_cast<double>(factors.size()) ? factors[static_cast<std::size_t>(size)]
                                                      : 1.0;
}

// The library's view of what a channel set carries between nodes.
double bus_across(const NcclView& v) {
    const double node = v.gpu.search_channels * per_us(v.gpu.search_speed) * v.full;
    return v.m > 2 || v.p <= 1 ? std::min(node, v.wire) : node;
}

// Caps in bytes per microsecond; those of one node where the GPU has no others.
double across(const NcclView& v, Bandwidth one, Bandwidth two, Bandwidth more) {
    const Bandwidth own = v.m > 2 ? more : two;
    return per_us(own.value > 0 ? own : one);
}
double ll_max_across(const NcclView& v) {
    return across(v, v.gpu.ll_max, v.gpu.ll_max_two_nodes, v.gpu.ll_max_more_nodes);
}

double ring_nominal_across(const NcclView& v,
                           CollectiveKind kind,
                           Protocol protocol,
                           double bytes) {
    constexpr double kNetLl = 2.7;
    constexpr double kNetLl128 = 4.0;
    constexpr double kNetSimple = 14.0;
    const double steps = ring_steps(kind, v.n);
    const double passes = steps > v.n - 1 ? 2 : 1;
    const double hops = std::min(steps, passes * (v.m - 1));
    const double bus = bus_across(v);
    const auto time = [&](const RingLatency& l, double net, double bandwidth, double factor) {
        const double step = v.medium == Medium::NvLink ? l.nvlink : l.pcie;
        return l.base + factor * ((steps - hops) * step + hops * net) +
               bytes * steps / (v.n * bandwidth);
    };
    switch (protocol) {
    case Protocol::Ll:
        return time(kLl, kNetLl, std::min(ll_max_across(v), bus / 2), 1);
    case Protocol::Ll128:
        return time(kLl128,
                    kNetLl128,
                    std::min((v.p < 2 ? 0.7 : 0.92) * bus,
                             v.gpu.search_channels * per_us(v.gpu.ll128_per_channel)),
                    1);
    case Protocol::Simple: {
        const bool wide = passes > 1 && bytes / (v.gpu.search_channels * v.n) >= 64;
        return time(kSimple, kNetSimple, bus, wide ? 1.4 : 1);
    }
    case Protocol::None:
        break;
    }
    return 0;
}

double tree_nominal_across(const NcclView& v, Protocol protocol, double bytes) {
    const double bus = bus_across(v);
    const double per_channel = across(v,
                                      v.gpu.tree_per_channel,
                                      v.gpu.tree_per_channel_two_nodes,
                                      v.gpu.tree_per_channel_more_nodes);
    const double simple = std::min(0.92 * bus, v.gpu.search_channels * per_channel);
    const auto time = [&](const TreeLatency& l, const Correction& factors, double bandwidth) {
        const double step = v.medium == Medium::NvLink ? l.nvlink : l.pcie;
        return l.base + 2 * (v.p - 1) * step + 2 * std::log2(v.m) * l.net +
               bytes / (0.5 * bandwidth * corrected(factors, bytes));
    };
    switch (protocol) {
    case Protocol::Ll:
        return time(kTreeLl, kCorrectionLl, std::min(simple / 3.8, ll_max_across(v)));
    case Protocol::Ll128:
        return time(
            kTreeLl128,
            kCorrectionLl128,
            std::min(simple * 120 / 128, v.gpu.search_channels * per_us(v.gpu.ll128_per_channel)));
    case Protocol::Simple:
        return time(kTreeSimple, kCorrectionSimple, simple);
    case Protocol::None:
        break;
    }
    return 0;
}

double nvls_nominal(const NcclView& v, double bytes) {
    const double bus = v.gpu.search_channels * per_us(v.gpu.search_speed);
    const double g = head_speed(per_us(v.gpu.nvls_head_speed), bus, v.n);
    const double bandwidth = 2 * (v.n - 1) * g * v.gpu.nvls_efficiency;
    return kNvlsLatency + (bytes * 2 * (v.n - 1) / (v.n * bandwidth));
}

// Eight GPUs' LL128 needs NVLink; over PCIe the library turns it off.
std::vector<Protocol> protocols(const NcclView& v) {
    if (v.medium == Medium::NvLink) {
        return {Protocol::Ll, Protocol::Ll128, Protocol::Simple};
    }
    return {Protocol::Ll, Protocol::Simple};
}

void add_in_node(std::vector<NcclCandidate>& all,
                 const NcclView& v,
                 CollectiveKind kind,
                 Algorithm named,
                 double bytes) {
    if (named == Algorithm::None || named == Algorithm::Ring) {
        for (const Protocol protocol : protocols(v)) {
            const Variant variant{Algorithm::Ring, protocol};
            all.push_back({variant,
                           nominal_us(v, kind, variant, bytes),
                           ring_in_node(v, kind, protocol, bytes)});
        }
    }
    const bool sums = kind == CollectiveKind::AllReduce || kind == CollectiveKind::Barrier;
    if (sums && v.nvls && (named == Algorithm::None || named == Algorithm::Nvls)) {
        const Variant variant{Algorithm::Nvls, Protocol::Simple};
        all.push_back({variant, nominal_us(v, kind, variant, bytes), nvls_in_node(v, bytes)});
    }
    if (sums && named == Algorithm::Tree) {
        all.push_back({{Algorithm::Tree, Protocol::Simple},
                       0,
                       tree_across(v, Protocol::Simple, false, bytes)});
    }
}

// Rates that the fabric's measurements do not determine are 0: such a variant is left out.
bool known(const NcclView& v, Algorithm algorithm, Protocol protocol) {
    switch (protocol) {
    case Protocol::Ll:
        return v.net.ll_rate.value > 0;
    case Protocol::Ll128:
        return v.medium == Medium::NvLink &&
               (algorithm == Algorithm::Ring || v.net.ll128_rate.value > 0);
    case Protocol::Simple:
        return true;
    case Protocol::None:
        return false;
    }
    return false;
}

void add_across(std::vector<NcclCandidate>& all,
                const NcclView& v,
                CollectiveKind kind,
                Algorithm named,
                double bytes) {
    const bool sums = kind == CollectiveKind::AllReduce || kind == CollectiveKind::Barrier;
    // Where the nodes have NVLS its tree competes too, which the table is not known for.
    const auto nominal = [&](double us) { return v.nvls ? 0 : us; };
    for (const Protocol protocol : {Protocol::Ll, Protocol::Ll128, Protocol::Simple}) {
        if ((named == Algorithm::None || named == Algorithm::Ring) &&
            known(v, Algorithm::Ring, protocol)) {
            all.push_back({{Algorithm::Ring, protocol},
                           nominal(ring_nominal_across(v, kind, protocol, bytes)),
                           ring_across(v, kind, protocol, bytes)});
        }
        if (sums && (named == Algorithm::None || named == Algorithm::Tree) &&
            known(v, Algorithm::Tree, protocol)) {
            all.push_back({{Algorithm::Tree, protocol},
                           nominal(tree_nominal_across(v, protocol, bytes)),
                           tree_across(v, protocol, false, bytes)});
        }
    }
    if (sums && v.nvls && (named == Algorithm::None || named == Algorithm::Nvls)) {
        all.push_back({{Algorithm::Nvls, Protocol::Simple},
                       0,
                       tree_across(v, Protocol::Simple, true, bytes)});
    }
}

// Shards of the hierarchical scheme: one rank per node, p groups at once on the node's NICs.
NcclCandidate hierarchical(const NcclView& v, double bytes) {
    LawTime sum;
    const auto add = [&sum](const LawTime& part) {
        sum.total += part.total;
        sum.flow += part.flow;
    };
    if (v.p > 1) {
        NcclView node = v;
        node.n = v.p;
        node.m = 1;
        for (const CollectiveKind kind :
             {CollectiveKind::ReduceScatter, CollectiveKind::AllGather}) {
            const std::vector<NcclCandidate> inside =
                nccl_candidates(node, kind, Algorithm::Ring, bytes);
            add(inside[nccl_choice(inside)].time);
        }
    }
    if (v.m > 1) {
        NcclView shard = v;
        shard.n = v.m;
        shard.p = 1;
        shard.wire = v.wire / v.p;
        shard.nvls = false;
        const std::vector<NcclCandidate> across =
            nccl_candidates(shard, CollectiveKind::AllReduce, Algorithm::Ring, bytes / v.p);
        add(across[nccl_choice(across)].time);
    }
    return {{Algorithm::Hierarchical, Protocol::Simple}, 0, sum};
}

}  // namespace

double nominal_us(const NcclView& v, CollectiveKind kind, Variant variant, double bytes) {
    return variant.algorithm == Algorithm::Nvls ? nvls_nominal(v, bytes)
                                                : ring_nominal(v, kind, variant.protocol, bytes);
}

std::vector<NcclCandidate> nccl_candidates(const NcclView& v,
                                           CollectiveKind kind,
                                           Algorithm named,
                                           double bytes) {
    std::vector<NcclCandidate> all;
    if (kind == CollectiveKind::AllToAll) {
        all.push_back(
            {{Algorithm::Pairwise, all_to_all_protocol(v, bytes)}, 0, all_to_all_law(v, bytes)});
    } else if (kind == CollectiveKind::Broadcast) {
        all.push_back(
            {{Algorithm::Ring, Protocol::Simple}, 0, broadcast_law(v, Protocol::Simple, bytes)});
        if (v.m <= 1 || v.net.ll_rate.value > 0) {
            all.push_back(
                {{Algorithm::Ring, Protocol::Ll}, 0, broadcast_law(v, Protocol::Ll, bytes)});
        }
    } else if (named == Algorithm::Hierarchical) {
        all.push_back(hierarchical(v, bytes));
    } else if (v.m > 1) {
        add_across(all, v, kind, named, bytes);
    } else {
        add_in_node(all, v, kind, named, bytes);
    }
    return all;
}

std::size_t nccl_choice(const std::vector<NcclCandidate>& candidates) {
    std::size_t best = 0;
    const auto rank = [](const NcclCandidate& c) {
        return c.nominal_us > 0 ? c.nominal_us : c.time.total;
    };
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        if (rank(candidates[i]) < rank(candidates[best])) {
            best = i;
        }
    }
    return best;
}

}  // namespace memwall
