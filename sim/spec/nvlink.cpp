#include "sim/spec/nvlink.h"

#include <algorithm>
#include <numeric>

namespace memwall {

std::vector<int> nvlink_parts(const Node& node) {
    std::vector<int> part(static_cast<std::size_t>(node.gpus));
    if (node.intra == IntraNode::NvSwitch) {
        return part;
    }
    std::iota(part.begin(), part.end(), 0);
    if (node.intra == IntraNode::PcieTree) {
        return part;
    }
    for (const MeshLink& link : node.mesh) {
        if (link.a >= node.gpus || link.b >= node.gpus) {
            continue;  // an error of its own
        }
        const int a = part[static_cast<std::size_t>(link.a)];
        const int b = part[static_cast<std::size_t>(link.b)];
        std::replace(part.begin(), part.end(), std::max(a, b), std::min(a, b));
    }
    return part;
}

int nvlink_domain(const Node& node) {
    const std::vector<int> parts = nvlink_parts(node);
    std::ptrdiff_t smallest = node.gpus;
    for (const int part : parts) {
        smallest = std::min(smallest, std::count(parts.begin(), parts.end(), part));
    }
    const bool whole = smallest == node.gpus && node.intra != IntraNode::PcieTree;
    return static_cast<int>(smallest) * (whole ? node.nodes_per_nvlink_domain : 1);
}

bool nvlink_joins_runs(const Node& node, int n) {
    const int domain = nvlink_domain(node);
    if (domain % n == 0 && domain >= node.gpus) {
        return true;
    }
    if (n > node.gpus || node.gpus % n != 0) {
        return false;  // some run reaches into another node
    }
    const std::vector<int> parts = nvlink_parts(node);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] != parts[i - i % static_cast<std::size_t>(n)]) {
            return false;
        }
    }
    return true;
}

}  // namespace memwall
