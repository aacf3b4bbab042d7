// Nominal time = latency + S / (bandwidth x ratio), from NVIDIA/nccl src/graph/tuning.cc @5067397.
//   ring: latency = base + N h, ratio = n / N; bandwidth LL min(llMax, bus/2), LL128 min(0.92 bus, C_s x rate), Simple bus
//   NVLS: latency 25 us, bandwidth 2 n g eta (n-1)/n, ratio = n / N
// bus = C_s x speed, from the library's topology search. g: the largest speed at which n heads fit the bus.
// Trees inside a node have a higher base latency and a lower bandwidth than rings in every protocol that matters: the
// table never picks one there, so they are candidates only by name.
#include "sim/collectives/nccl/tuner.h"

#include <algorithm>
#include <array>
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
    for (const Protocol protocol : {Protocol::Ll, Protocol::Ll128, Protocol::Simple}) {
        if ((named == Algorithm::None || named == Algorithm::Ring) &&
            known(v, Algorithm::Ring, protocol)) {
            all.push_back({{Algorithm::Ring, protocol}, 0, ring_across(v, kind, protocol, bytes)});
        }
        if (sums && (named == Algorithm::None || named == Algorithm::Tree) &&
            known(v, Algorithm::Tree, protocol)) {
            all.push_back({{Algorithm::Tree, protocol}, 0, tree_across(v, protocol, false, bytes)});
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
