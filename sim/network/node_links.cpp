#include "sim/network/node_links.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "sim/core/check.h"
#include "sim/network/paths.h"

namespace memwall {

namespace {

// NCCL lets a GPU relay for two others over NVLink, but only one relay in a row (NVIDIA/nccl src/graph/paths.cc,
// ncclTopoSetPaths: a path through a GPU must have count 1); pairs farther apart talk over PCIe.
constexpr int kNvlinkHopsMax = 2;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

double limit_of(Bandwidth rate) {
    return rate.value > 0 ? rate.value : kUnlimited;
}

// Capacities are sums and quotients of the same rates in different orders: equal up to rounding.
bool can_bind(Bandwidth capacity, double injected) {
    return capacity.value > 0 && capacity.value * (1 + 1e-9) < injected;
}

// One direction of a connection in the node. `link` and `bridge` are -1 where nothing is modelled.
struct NodeEdge {
    int from = 0;
    int to = 0;
    int link = -1;
    int bridge = -1;  // passed by peer traffic only
};

std::vector<DirectedEdge> ends_of(const std::vector<NodeEdge>& edges) {
    std::vector<DirectedEdge> ends;
    ends.reserve(edges.size());
    for (const NodeEdge& e : edges) {
        ends.push_back({e.from, e.to});
    }
    return ends;
}

enum class Traffic : std::uint8_t { Peer, Nic };

// Even split over equal paths in proportion to capacity; shares of kUnit that sum to it exactly.
NodeRoute split(const std::vector<NodeEdge>& edges,
                const std::vector<std::vector<std::size_t>>& paths,
                const NodeLinks& node,
                Traffic traffic) {
    std::vector<std::vector<int>> links(paths.size());
    std::vector<double> capacity(paths.size(), kUnlimited);
    for (std::size_t p = 0; p < paths.size(); ++p) {
        for (const std::size_t i : paths[p]) {
            const NodeEdge& e = edges[i];
            for (const int link : {e.link, traffic == Traffic::Peer ? e.bridge : -1}) {
                if (link >= 0) {
                    links[p].push_back(link);
                    capacity[p] = std::min(
                        capacity[p], limit_of(node.links[static_cast<std::size_t>(link)].capacity));
                }
            }
        }
    }
    const bool weighted =
        std::all_of(capacity.begin(), capacity.end(), [](double c) { return c < kUnlimited; });
    double total = 0;
    for (double& c : capacity) {
        c = weighted ? c : 1;
        total += c;
    }
    std::vector<std::int64_t> share(node.links.size(), 0);
    double upto = 0;
    std::int64_t given = 0;
    for (std::size_t p = 0; p < paths.size(); ++p) {
        upto += capacity[p];
        const auto until =
            p + 1 == paths.size()
                ? kUnit
                : static_cast<std::int64_t>(static_cast<double>(kUnit) * upto / total);
        for (const int link : links[p]) {
            share[static_cast<std::size_t>(link)] += until - given;
        }
        given = until;
    }
    NodeRoute route;
    for (std::size_t l = 0; l < share.size(); ++l) {
        if (share[l] > 0) {
            route.links.push_back({LinkId{l}, share[l]});
        }
    }
    route.hops = static_cast<int>(paths.front().size()) - 1;
    return route;
}

class Builder {
  public:
    explicit Builder(const Node& node) : spec_(node) {}

    NodeLinks build() {
        MW_CHECK(spec_.gpus > 0, "a node needs a GPU");
        place_parts();
        add_nvlink();
        add_pcie();
        out_.nic_base = out_.count();
        for (int n = 0; n < out_.nics; ++n) {
            add(out_.nic_rate,
                LinkTier::Nic,
                out_.nic_rate.value > 0,
                fmt::format("nic{}->network", n));
            add(out_.nic_rate,
                LinkTier::Nic,
                out_.nic_rate.value > 0,
                fmt::format("network->nic{}", n));
        }
        if (out_.has_pcie) {
            connect_pcie();
            find_routes();
        }
        return std::move(out_);
    }

  private:
    // PCIe switches and sockets in blocks of neighbours; NICs in proportion.
    void place_parts() {
        out_.gpus = spec_.gpus;
        out_.nics = std::min(spec_.nics, spec_.gpus);
        if (out_.nics > 0) {
            out_.nic_rate = Bandwidth{spec_.nic_rate.value * spec_.nics / out_.nics};
        }
        const int per_switch = std::max(1, spec_.gpus_per_pcie_switch);
        out_.switches = (spec_.gpus + per_switch - 1) / per_switch;
        out_.sockets = std::clamp(spec_.sockets, 1, out_.switches);
        for (int s = 0; s < out_.switches; ++s) {
            out_.socket_of_switch.push_back(s * out_.sockets / out_.switches);
        }
        for (int g = 0; g < spec_.gpus; ++g) {
            out_.switch_of_gpu.push_back(g / per_switch);
            out_.nic_of_gpu.push_back(g * out_.nics / spec_.gpus);
        }
        for (int n = 0; n < out_.nics; ++n) {
            const bool on_switch = out_.nics >= out_.switches;
            const int first_gpu = (n * spec_.gpus + out_.nics - 1) / out_.nics;
            out_.switch_of_nic.push_back(on_switch ? first_gpu / per_switch : -1);
            out_.socket_of_nic.push_back(
                on_switch ? out_.socket_of_switch[static_cast<std::size_t>(first_gpu / per_switch)]
                          : n * out_.sockets / out_.nics);
        }
        const bool slow_pcie =
            out_.nics > 0 && spec_.gpu.pcie.value > 0 && spec_.gpu.pcie.value < out_.nic_rate.value;
        out_.has_pcie = spec_.intra != IntraNode::NvSwitch || slow_pcie;
    }

    void add(Bandwidth capacity, LinkTier tier, bool binding, std::string name) {
        out_.links.push_back({capacity, tier, binding});
        out_.names.push_back(std::move(name));
    }

    void add_nvlink() {
        const double rate = spec_.gpu.link_rate.value;
        switch (spec_.intra) {
        case IntraNode::NvSwitch:
            for (int g = 0; g < spec_.gpus; ++g) {
                const Bandwidth port{rate * spec_.gpu.links};
                add(port, LinkTier::NvLink, port.value > 0, fmt::format("gpu{}->nvswitch", g));
                add(port, LinkTier::NvLink, port.value > 0, fmt::format("nvswitch->gpu{}", g));
            }
            break;
        case IntraNode::Mesh:
            for (const MeshLink& m : spec_.mesh) {
                const int last = spec_.gpus - 1;
                MW_CHECK(m.a != m.b, "mesh link from a GPU to itself");
                MW_CHECK(m.a == std::clamp(m.a, 0, last),
                         "mesh link from a GPU that the node does not have");
                MW_CHECK(m.b == std::clamp(m.b, 0, last),
                         "mesh link to a GPU that the node does not have");
                const Bandwidth capacity{rate * m.links};
                add(capacity,
                    LinkTier::NvLink,
                    capacity.value > 0,
                    fmt::format("gpu{}->gpu{}", m.a, m.b));
                add(capacity,
                    LinkTier::NvLink,
                    capacity.value > 0,
                    fmt::format("gpu{}->gpu{}", m.b, m.a));
            }
            break;
        case IntraNode::PcieTree:
            break;
        }
    }

    void add_pcie() {
        out_.pcie_base = out_.count();
        if (!out_.has_pcie) {
            return;
        }
        const Bandwidth port = spec_.gpu.pcie;
        for (int g = 0; g < spec_.gpus; ++g) {
            const int at = out_.switch_of_gpu[static_cast<std::size_t>(g)];
            add(port, LinkTier::Pcie, port.value > 0, fmt::format("gpu{}->pcie{}", g, at));
            add(port, LinkTier::Pcie, port.value > 0, fmt::format("pcie{}->gpu{}", at, g));
        }
        std::vector<double> gpus_inject(static_cast<std::size_t>(out_.switches), 0);
        std::vector<double> inject(static_cast<std::size_t>(out_.switches), 0);
        for (const int s : out_.switch_of_gpu) {
            gpus_inject[static_cast<std::size_t>(s)] += limit_of(port);
            inject[static_cast<std::size_t>(s)] += limit_of(port);
        }
        for (const int s : out_.switch_of_nic) {
            if (s >= 0) {
                inject[static_cast<std::size_t>(s)] += limit_of(out_.nic_rate);
            }
        }
        out_.uplink_base = out_.count();
        std::vector<double> socket_inject(static_cast<std::size_t>(out_.sockets), 0);
        for (int s = 0; s < out_.switches; ++s) {
            const double in = inject[static_cast<std::size_t>(s)];
            const bool binding = can_bind(spec_.pcie_switch_uplink, in);
            add(spec_.pcie_switch_uplink, LinkTier::Pcie, binding, fmt::format("pcie{}->root", s));
            add(spec_.pcie_switch_uplink, LinkTier::Pcie, binding, fmt::format("root->pcie{}", s));
            socket_inject[static_cast<std::size_t>(
                out_.socket_of_switch[static_cast<std::size_t>(s)])] +=
                std::min(in, limit_of(spec_.pcie_switch_uplink));
        }
        out_.bridge_base = out_.count();
        for (int s = 0; s < out_.switches; ++s) {
            const bool binding =
                can_bind(spec_.peer_rate, gpus_inject[static_cast<std::size_t>(s)]);
            add(spec_.peer_rate,
                LinkTier::HostBridge,
                binding,
                fmt::format("pcie{}->host bridge", s));
            add(spec_.peer_rate,
                LinkTier::HostBridge,
                binding,
                fmt::format("host bridge->pcie{}", s));
        }
        for (int n = 0; n < out_.nics; ++n) {
            if (out_.switch_of_nic[static_cast<std::size_t>(n)] < 0) {
                socket_inject[static_cast<std::size_t>(
                    out_.socket_of_nic[static_cast<std::size_t>(n)])] += limit_of(out_.nic_rate);
            }
        }
        out_.socket_base = out_.count();
        for (int a = 0; a < out_.sockets; ++a) {
            for (int b = 0; b < out_.sockets; ++b) {
                if (a != b) {
                    add(spec_.socket_link,
                        LinkTier::Socket,
                        can_bind(spec_.socket_link, socket_inject[static_cast<std::size_t>(a)]),
                        fmt::format("socket{}->socket{}", a, b));
                }
            }
        }
    }

    void connect(int a, int b, int link, int bridge) {
        edges_.push_back({a, b, link, bridge});
        edges_.push_back({b, a, link < 0 ? -1 : link + 1, bridge < 0 ? -1 : bridge + 1});
    }

    // Vertices: GPUs, PCIe switches, sockets, NICs.
    void connect_pcie() {
        const int first_switch = out_.gpus;
        const int first_socket = first_switch + out_.switches;
        first_nic_ = first_socket + out_.sockets;
        for (int g = 0; g < out_.gpus; ++g) {
            connect(g,
                    first_switch + out_.switch_of_gpu[static_cast<std::size_t>(g)],
                    out_.pcie_base + 2 * g,
                    -1);
        }
        for (int s = 0; s < out_.switches; ++s) {
            connect(first_switch + s,
                    first_socket + out_.socket_of_switch[static_cast<std::size_t>(s)],
                    out_.uplink_base + 2 * s,
                    out_.bridge_base + 2 * s);
        }
        int link = out_.socket_base;
        for (int a = 0; a < out_.sockets; ++a) {
            for (int b = 0; b < out_.sockets; ++b) {
                if (a != b) {
                    edges_.push_back({first_socket + a, first_socket + b, link++, -1});
                }
            }
        }
        for (int n = 0; n < out_.nics; ++n) {
            const int at = out_.switch_of_nic[static_cast<std::size_t>(n)];
            const int host = at >= 0
                                 ? first_switch + at
                                 : first_socket + out_.socket_of_nic[static_cast<std::size_t>(n)];
            connect(first_nic_ + n, host, -1, -1);
        }
    }

    void find_routes() {
        const PathFinder pcie(first_nic_ + out_.nics, ends_of(edges_));
        std::vector<NodeEdge> direct;
        if (spec_.intra == IntraNode::Mesh) {
            for (std::size_t m = 0; m < spec_.mesh.size(); ++m) {
                const int link = out_.nvlink_base + 2 * static_cast<int>(m);
                direct.push_back({spec_.mesh[m].a, spec_.mesh[m].b, link, -1});
                direct.push_back({spec_.mesh[m].b, spec_.mesh[m].a, link + 1, -1});
            }
        }
        const PathFinder nvlink(out_.gpus, ends_of(direct));
        for (int a = 0; a < out_.gpus; ++a) {
            for (int b = 0; b < out_.gpus && spec_.intra != IntraNode::NvSwitch; ++b) {
                const auto over_nvlink = nvlink.shortest(a, b, kNvlinkHopsMax);
                if (a == b) {
                    out_.gpu_to_gpu.emplace_back();
                } else if (!over_nvlink.empty()) {
                    out_.gpu_to_gpu.push_back(split(direct, over_nvlink, out_, Traffic::Peer));
                    NodeRoute& route = out_.gpu_to_gpu.back();
                    route.latency = spec_.nvlink_latency * (route.hops + 1);
                } else {
                    out_.gpu_to_gpu.push_back(over_pcie(pcie, a, b, Traffic::Peer));
                }
            }
            for (int n = 0; n < out_.nics; ++n) {
                out_.gpu_to_nic.push_back(over_pcie(pcie, a, first_nic_ + n, Traffic::Nic));
                out_.nic_to_gpu.push_back(over_pcie(pcie, first_nic_ + n, a, Traffic::Nic));
            }
        }
    }

    [[nodiscard]] NodeRoute over_pcie(const PathFinder& pcie,
                                      int from,
                                      int to,
                                      Traffic traffic) const {
        NodeRoute route =
            split(edges_, pcie.shortest(from, to, std::numeric_limits<int>::max()), out_, traffic);
        route.latency = spec_.pcie_latency;
        return route;
    }

    const Node& spec_;
    NodeLinks out_;
    std::vector<NodeEdge> edges_;
    int first_nic_ = 0;
};

}  // namespace

NodeLinks build_node_links(const Node& node) {
    return Builder(node).build();
}

}  // namespace memwall
