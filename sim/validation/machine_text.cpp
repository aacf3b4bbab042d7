#include "sim/validation/machine_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace memwall {

RowMachine machine_of(const Row& row,
                      const KnownGpu& gpu,
                      int gpus,
                      int gpus_per_node,
                      std::vector<std::string>& assumptions) {
    const StatedNetwork net = stated_network(row.text("inter_node"));
    RowMachine out;
    out.gpus_per_node = gpus_per_node;
    out.nodes = std::max(1, (gpus + gpus_per_node - 1) / gpus_per_node);
    std::string& y = out.text;
    y = fmt::format(
        "machine:\n  cluster:\n    name: row\n    node: {}\n    fabric: {}\n    nodes_max: {}\n",
        gpu.node,
        out.nodes == 1 && gpu.fabric != "none" ? "none"
        : !net.fabric.empty()                  ? net.fabric
                                               : gpu.fabric,
        out.nodes);
    y += "    with:\n";
    y += fmt::format("      node.gpu: {}\n      node.gpus: {}\n", gpu.file, gpus_per_node);
    if (net.nics > 0) {
        y += fmt::format("      node.nics: {}\n      node.nic_rate: {}Gbps\n",
                         net.nics,
                         net.nic_rate.value * 8 / 1e9);
    } else if (net.node_rate.value > 0) {
        y += fmt::format("      node.nics: 4\n      node.nic_rate: {}Gbps\n",
                         net.node_rate.value * 8 / 1e9 / 4);
        assumptions.emplace_back("NICs: the stated rate of a node over 4");
    } else if (net.gpu_rate.value > 0) {
        y += fmt::format("      node.nics: {}\n      node.nic_rate: {}Gbps\n",
                         gpus_per_node,
                         net.gpu_rate.value * 8 / 1e9);
    }
    y += fmt::format("  nodes: {}\n", out.nodes);
    return out;
}

}  // namespace memwall
