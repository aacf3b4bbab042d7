// The data in topologies/nodes, fabrics and clusters: every file loads, every number has a source, and what can be derived
// from a published figure is.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "sim/io/load.h"
#include "sim/network/topo.h"

using namespace memwall;

namespace {

struct Data {
    DiskFiles files;
    DataSource source{files, {MEMWALL_SOURCE_DIR}};

    std::vector<std::string> names(DataKind kind) {
        std::vector<std::string> all = source.names(kind);
        REQUIRE(!all.empty());
        return all;
    }
    Cluster cluster(const std::string& name) {
        Diagnostics diagnostics;
        std::optional<Cluster> loaded = load_cluster(name, source, diagnostics);
        for (const Diagnostic& d : diagnostics.sorted()) {
            CAPTURE(d.place.file);
            CAPTURE(d.place.line);
            FAIL_CHECK(d.text);
        }
        REQUIRE(loaded);
        return *loaded;
    }
};

Machine machine(const Cluster& cluster, int nodes) {
    Machine m;
    m.cluster = cluster;
    m.nodes = nodes;
    return m;
}

bool is_number(const DocNode& node) {
    return node.kind == DocNode::Kind::Scalar && !node.quoted && !node.scalar.empty() &&
           node.scalar.find_first_not_of("0123456789") != 0;
}

// Numeric leaves that no entry of `sources` covers, by dotted path; an item of a list counts as its list.
void uncovered(const DocNode& node,
               const std::string& path,
               const Provenance& sources,
               std::vector<std::string>& found) {
    if (is_number(node) && sources.find(path).empty()) {
        found.push_back(path);
    }
    for (const DocNode& item : node.items) {
        uncovered(item, path, sources, found);
    }
    for (const DocEntry& entry : node.entries) {
        if (entry.key == "sources" || entry.key == "schema" || entry.key == "name") {
            continue;
        }
        uncovered(entry.value, path.empty() ? entry.key : path + "." + entry.key, sources, found);
    }
}

std::vector<std::string> uncovered_of(Data& data, DataKind kind, const std::string& name) {
    Diagnostics diagnostics;
    const std::optional<DocNode> document = load_document(kind, name, data.source, diagnostics);
    REQUIRE(document);
    std::vector<std::string> found;
    uncovered(*document, "", collect_sources(*document), found);
    return found;
}

bool within(double value, double low, double high) {
    return value >= low && value <= high;
}

}  // namespace

TEST_CASE("every number of every card, node, fabric, cluster and stack has a source") {
    Data data;
    for (const DataKind kind :
         {DataKind::Gpu, DataKind::Node, DataKind::Fabric, DataKind::Cluster, DataKind::Stack}) {
        for (const std::string& name : data.names(kind)) {
            for (const std::string& path : uncovered_of(data, kind, name)) {
                FAIL_CHECK(kind_name(kind) << " " << name << ": " << path << " has no source");
            }
        }
    }
}

TEST_CASE("every cluster loads, and a machine of it can be built at its largest") {
    Data data;
    for (const std::string& name : data.names(DataKind::Cluster)) {
        CAPTURE(name);
        const Cluster cluster = data.cluster(name);
        CHECK(cluster.name == name);
        const Machine m = machine(cluster, cluster.nodes_max);
        const Fabric fabric(m);
        const TopoReport report = describe(fabric);
        CHECK(report.gpus == static_cast<std::size_t>(cluster.nodes_max) *
                                 static_cast<std::size_t>(cluster.node.gpus));
        CHECK(report.bisection.value > 0);
        CHECK(describe_route(fabric, DeviceId{0}, DeviceId{fabric.devices() - 1}).limit.value > 0);
    }
}

TEST_CASE("rates and latencies are of the order of real parts") {
    Data data;
    for (const std::string& name : data.names(DataKind::Cluster)) {
        CAPTURE(name);
        const Cluster c = data.cluster(name);
        const Node& n = c.node;
        CHECK(within(n.gpus, 1, 16));
        CHECK(within(n.gpu.pcie.value, 10e9, 1000e9));
        CHECK(within(static_cast<double>(n.host_memory.value), 256e9, 8e12));
        CHECK(within(n.host_memory_bandwidth.value, 100e9, 2000e9));
        CHECK(within(to_seconds(n.pcie_latency), 0.1e-6, 5e-6));
        CHECK(within(n.nic_rate.value, 1e9, 200e9));
        if (n.intra == IntraNode::NvSwitch) {
            CHECK(within(n.gpu.link_rate.value * n.gpu.links, 100e9, 1000e9));
        }
        if (c.fabric.kind != FabricKind::None) {
            CHECK(within(c.fabric.oversubscription, 1, 16));
            CHECK(within(c.fabric.pod_oversubscription, 1, 16));
            CHECK(within(to_seconds(c.fabric.hop_latency), 0.1e-6, 10e-6));
            CHECK(within(c.fabric.nccl.efficiency, 0.5, 1));
            CHECK(within(to_seconds(c.fabric.nccl.step_simple), 1e-6, 1e-3));
        }
    }
}

TEST_CASE("no GPU of a mesh has more links than the card") {
    Data data;
    for (const std::string& name : data.names(DataKind::Cluster)) {
        CAPTURE(name);
        const Node n = data.cluster(name).node;
        std::map<int, int> links;
        for (const MeshLink& m : n.mesh) {
            links[m.a] += m.links;
            links[m.b] += m.links;
        }
        for (const auto& [gpu, count] : links) {
            CAPTURE(gpu);
            CHECK(gpu < n.gpus);
            CHECK(count <= n.gpu.links);
        }
    }
}

TEST_CASE("the links of the full meshes are all used") {
    Data data;
    for (const char* name :
         {"v100-dgx1", "mi300x-8x400g", "a100-80g-bridge-100g", "rtx3090-bridge-100g"}) {
        CAPTURE(name);
        const Node n = data.cluster(name).node;
        int ends = 0;
        for (const MeshLink& m : n.mesh) {
            ends += 2 * m.links;
        }
        CHECK(ends == n.gpus * n.gpu.links);
    }
}

TEST_CASE("switched nodes have the NVLink bandwidth their makers print") {
    Data data;
    // Total of a node or rack, both directions: NVIDIA DGX A100 4.8 TB/s, DGX H100 7.2 TB/s, DGX B200 14.4 TB/s, GB200 NVL72
    // 130 TB/s (129.6) data sheets; A800 and H800 have 8 links of 50 GB/s both ways per GPU.
    const std::vector<std::pair<const char*, double>> printed{{"selene-a100", 4.8e12},
                                                              {"h100-8x400g", 7.2e12},
                                                              {"h200-8x400g", 7.2e12},
                                                              {"b200-8x400g", 14.4e12},
                                                              {"gb200-nvl72", 129.6e12},
                                                              {"gb300-nvl72", 129.6e12},
                                                              {"a800-8x200g", 3.2e12},
                                                              {"h800-8x400g", 3.2e12}};
    for (const auto& [name, total] : printed) {
        CAPTURE(name);
        const Node n = data.cluster(name).node;
        CHECK(2 * n.gpu.link_rate.value * n.gpu.links * n.gpus * n.nodes_per_nvlink_domain ==
              doctest::Approx(total));
    }
}

TEST_CASE("networks have the bandwidth per node that was printed for them") {
    Data data;
    // stas00/ml-engineering network/README.md l.574-598, one direction, GB/s; vTrain 800 Gb/s; InternEvo 4 x 100 Gb/s.
    const std::vector<std::pair<const char*, double>> printed{{"h100-8x400g", 400},
                                                              {"b300-8x800g", 800},
                                                              {"a100-40g-400g-efa", 50},
                                                              {"h100-3200g-efa", 400},
                                                              {"h200-3200g-efa", 400},
                                                              {"b200-3200g-efa", 400},
                                                              {"h100-a3-high", 100},
                                                              {"h100-a3-mega", 200},
                                                              {"gb200-nvl72", 200},
                                                              {"selene-a100", 200},
                                                              {"a100-800g", 100},
                                                              {"a100-400g", 50},
                                                              {"rtx4090-100g", 12.5}};
    for (const auto& [name, rate] : printed) {
        CAPTURE(name);
        const Cluster c = data.cluster(name);
        CHECK(c.node.nic_rate.value * c.node.nics == doctest::Approx(rate * 1e9));
        const Machine m = machine(c, 2);
        const Fabric fabric(m);
        CHECK(fabric.nic_rate().value * fabric.nics() == doctest::Approx(rate * 1e9));
    }
}

TEST_CASE("full-bisection fabrics have it, oversubscribed ones their part") {
    Data data;
    const auto bisection = [&](const char* name, int nodes) {
        const Machine m = machine(data.cluster(name), nodes);
        return describe(Fabric(m)).bisection.value;
    };
    // DGX H100 SuperPOD unit, stas00 network/README.md: 32 nodes, 12.8 TB/s out of all of them; half of it crosses.
    CHECK(bisection("h100-8x400g", 32) == doctest::Approx(6.4e12));
    CHECK(bisection("h100-8x400g", 64) == doctest::Approx(12.8e12));
    CHECK(bisection("h100-8x400g-3l", 2048) == doctest::Approx(1024 * 400e9));
    CHECK(bisection("selene-a100", 384) == doctest::Approx(192 * 200e9));
    // Llama 3: two pods of 3,072 GPUs at 1:7 exchange a seventh of 3,072 x 50 GB/s.
    CHECK(bisection("h100-llama3", 768) == doctest::Approx(3072 * 50e9 / 7));
    CHECK(bisection("h100-llama3", 384) == doctest::Approx(1536 * 50e9));
    // One NVL72 rack: 36 GPUs face 36.
    CHECK(bisection("gb200-nvl72", 18) == doctest::Approx(36 * 900e9));
}

TEST_CASE("unknown clusters and nodes are errors with a hint, not a crash") {
    Data data;
    Diagnostics diagnostics;
    CHECK_FALSE(load_cluster("selene-a10", data.source, diagnostics));
    CHECK_FALSE(load_node("dgx-h1000", data.source, diagnostics));
    CHECK(diagnostics.errors() == 2);
}
