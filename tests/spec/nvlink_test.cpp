#include "sim/spec/nvlink.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "sim/spec/legality.h"

using namespace memwall;

namespace {

Node eight(IntraNode intra, std::vector<MeshLink> mesh = {}) {
    Node node;
    node.gpus = 8;
    node.intra = intra;
    node.mesh = std::move(mesh);
    return node;
}

const std::vector<MeshLink> kPairs = {{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}};
// The hybrid cube mesh of DGX-1: two quads, joined corner by corner.
const std::vector<MeshLink> kCube = {{0, 1},
                                     {0, 2},
                                     {0, 3},
                                     {1, 2},
                                     {1, 3},
                                     {2, 3},
                                     {4, 5},
                                     {4, 6},
                                     {4, 7},
                                     {5, 6},
                                     {5, 7},
                                     {6, 7},
                                     {0, 4},
                                     {1, 5},
                                     {2, 6},
                                     {3, 7}};

std::vector<std::string> warnings(const Node& node, int tp, int nodes, NodeOrder order) {
    Job job;
    job.nodes = nodes;
    job.degrees.tp = tp;
    Machine machine;
    machine.cluster.node = node;
    machine.node_order = order;
    const DocNode document;
    Diagnostics diagnostics;
    warn_beyond_nvlink({job, machine, document, diagnostics});
    std::vector<std::string> texts;
    for (const Diagnostic& d : diagnostics.sorted()) {
        CHECK(d.code == "W0341");
        texts.push_back(d.text);
    }
    return texts;
}

}  // namespace

TEST_CASE("switches join a node, bridges a pair, a cube mesh all, PCIe nobody") {
    CHECK(nvlink_domain(eight(IntraNode::NvSwitch)) == 8);
    CHECK(nvlink_domain(eight(IntraNode::Mesh, kPairs)) == 2);
    CHECK(nvlink_domain(eight(IntraNode::Mesh, kCube)) == 8);
    CHECK(nvlink_domain(eight(IntraNode::PcieTree)) == 1);
    Node rack = eight(IntraNode::NvSwitch);
    rack.nodes_per_nvlink_domain = 9;
    CHECK(nvlink_domain(rack) == 72);
}

TEST_CASE("the parts of a mesh do not depend on the order of its links") {
    std::vector<MeshLink> chain = {{6, 7}, {5, 6}, {0, 1}, {4, 5}, {3, 4}, {1, 2}};
    const std::vector<int> parts = {0, 0, 0, 3, 3, 3, 3, 3};
    CHECK(nvlink_parts(eight(IntraNode::Mesh, chain)) == parts);
    std::reverse(chain.begin(), chain.end());
    CHECK(nvlink_parts(eight(IntraNode::Mesh, chain)) == parts);
    CHECK(nvlink_domain(eight(IntraNode::Mesh, {{0, 9}, {12, 1}})) == 1);  // links to nowhere
}

TEST_CASE("runs of GPUs are joined only when each lies in one part") {
    const Node pairs = eight(IntraNode::Mesh, kPairs);
    CHECK(nvlink_joins_runs(pairs, 2));
    CHECK_FALSE(nvlink_joins_runs(pairs, 4));
    const Node crossed = eight(IntraNode::Mesh, {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
    CHECK(nvlink_domain(crossed) == 2);
    CHECK_FALSE(nvlink_joins_runs(crossed, 2));
    const Node node = eight(IntraNode::NvSwitch);
    CHECK(nvlink_joins_runs(node, 8));
    CHECK_FALSE(nvlink_joins_runs(node, 16));
    CHECK_FALSE(nvlink_joins_runs(node, 3));  // GPUs 6, 7 and the next node's first
    Node rack = node;
    rack.nodes_per_nvlink_domain = 9;
    CHECK(nvlink_joins_runs(rack, 24));
}

TEST_CASE("tensor parallelism beyond NVLink is warned of with what joins the GPUs") {
    const Node pairs = eight(IntraNode::Mesh, kPairs);
    CHECK(warnings(pairs, 2, 1, NodeOrder::Block).empty());
    CHECK(warnings(pairs, 8, 1, NodeOrder::Block) ==
          std::vector<std::string>{"tp 8 reaches beyond the NVLink domain of 2 GPUs"});
    CHECK(warnings(eight(IntraNode::PcieTree), 2, 1, NodeOrder::Block) ==
          std::vector<std::string>{"tp 2 has no NVLink between all of its GPUs"});
    CHECK(warnings(eight(IntraNode::PcieTree), 1, 1, NodeOrder::Block).empty());
    CHECK(warnings(eight(IntraNode::NvSwitch), 8, 4, NodeOrder::Block).empty());
    CHECK(warnings(eight(IntraNode::NvSwitch), 2, 4, NodeOrder::Cyclic) ==
          std::vector<std::string>{"tp 2 is spread over nodes by `placement: cyclic`"});
}
