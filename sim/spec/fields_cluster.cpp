#include "sim/spec/fields_machine.h"

namespace memwall {

void describe(Fields& f, MeshLink& v) {
    f.leaf("a", v.a, kRequired | at_most(1023));
    f.leaf("b", v.b, kRequired | at_most(1023));
    f.leaf("links", v.links, between(1, 1024));
}

void describe(Fields& f, Node& v) {
    f.leaf("name", v.name, kRequired);
    f.keep("about");
    f.map("gpu", v.gpu, kRequired);
    f.leaf("gpus", v.gpus, kRequired | kPositive);
    f.leaf("intra", v.intra, kRequired);
    f.list("mesh", v.mesh);
    f.leaf("nvlink_latency", v.nvlink_latency, kNonNegative);
    f.leaf("gpus_per_pcie_switch", v.gpus_per_pcie_switch, between(1, 1024));
    f.leaf("sockets", v.sockets, between(1, 64));
    f.leaf("pcie_switch_uplink", v.pcie_switch_uplink, kNonNegative);
    f.leaf("peer_rate", v.peer_rate, kNonNegative);
    f.leaf("socket_link", v.socket_link, kNonNegative);
    f.leaf("pcie_latency", v.pcie_latency, kNonNegative);
    f.leaf("nics", v.nics, kRequired | kNonNegative);
    f.leaf("nic_rate", v.nic_rate, kNonNegative);
    f.leaf("host_memory", v.host_memory, kNonNegative);
    f.leaf("host_memory_bandwidth", v.host_memory_bandwidth, kNonNegative);
    f.leaf("nodes_per_nvlink_domain", v.nodes_per_nvlink_domain, kPositive);
    f.keep("sources");
}

void describe(Fields& f, FabricNccl& v) {
    f.leaf("efficiency", v.efficiency, between(0.01, 1));
    f.leaf("step_ll", v.step_ll, kNonNegative);
    f.leaf("step_simple", v.step_simple, kNonNegative);
    f.leaf("ll128_factor", v.ll128_factor, between(0.1, 1000));
    f.leaf("ll_rate", v.ll_rate, kNonNegative);
    f.leaf("ll128_rate", v.ll128_rate, kNonNegative);
    f.leaf("ring_fill", v.ring_fill, kNonNegative);
    f.leaf("tree_fill", v.tree_fill, kNonNegative);
}

void describe(Fields& f, FabricSpec& v) {
    f.leaf("name", v.name, kRequired);
    f.keep("about");
    f.leaf("kind", v.kind, kRequired);
    f.leaf("leaf_nodes", v.leaf_nodes, at_most(1 << 20));
    f.leaf("pod_leaves", v.pod_leaves, at_most(1 << 20));
    f.leaf("oversubscription", v.oversubscription, between(0.01, 1000));
    f.leaf("pod_oversubscription", v.pod_oversubscription, between(0.01, 1000));
    f.leaf("spines", v.spines, at_most(1 << 20));
    f.leaf("hop_latency", v.hop_latency, kNonNegative);
    f.map("nccl", v.nccl);
    f.keep("sources");
}

void describe(Fields& f, Cluster& v) {
    f.leaf("name", v.name, kRequired);
    f.keep("about");
    f.map("node", v.node, kRequired);
    f.map("fabric", v.fabric, kRequired);
    f.leaf("nodes_max", v.nodes_max, kRequired | kPositive);
    f.list("stacks", v.stacks);
    f.keep("sources");
}

}  // namespace memwall
