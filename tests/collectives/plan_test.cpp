// A transfer alone on the fluid network takes exactly the time of its law.
#include <cmath>

#include <doctest/doctest.h>

#include "sim/collectives/split.h"
#include "sim/collectives/transfer.h"
#include "tests/collectives/machines.h"

using namespace memwall;
using namespace memwall::testing;
using namespace memwall::literals;

namespace {

Duration alone(const Fabric& fabric, const Transfer& transfer, Bytes bytes) {
    const FluidNetwork network(link_capacities(fabric), transfer.usage);
    const FlowShape shape{.usage_begin = 0,
                          .usage_end = static_cast<std::uint32_t>(transfer.usage.size()),
                          .cap = transfer.cap,
                          .weight = transfer.weight};
    return transfer.delay + network.alone(shape, bytes);
}

void check_group(const Machine& machine, const std::vector<DeviceId>& group) {
    const Fabric fabric(machine);
    for (const CollectiveKind kind : {CollectiveKind::AllReduce,
                                      CollectiveKind::AllGather,
                                      CollectiveKind::ReduceScatter,
                                      CollectiveKind::Broadcast,
                                      CollectiveKind::AllToAll,
                                      CollectiveKind::Shift}) {
        for (const std::int64_t bytes :
             {1LL, 1000LL, 65'536LL, 1'000'003LL, 8'388'608LL, 333'333'333LL, 17'179'869'184LL}) {
            const CollectiveCall call{.kind = kind, .bytes = Bytes{bytes}};
            const auto time = collective_time(machine, shape_of(fabric, group), call);
            const auto plan = plan_collective(fabric, call, group);
            REQUIRE(time);
            REQUIRE(plan);
            CAPTURE(machine.cluster.node.gpu.name);
            CAPTURE(static_cast<int>(kind));
            CAPTURE(bytes);
            CAPTURE(group.size());
            CAPTURE(plan->algorithm);
            CAPTURE(plan->protocol);
            CHECK(time->alone > Duration{0});
            CHECK(alone(fabric, *plan, call.bytes) == time->alone);
        }
    }
}

}  // namespace

TEST_CASE("every collective alone takes exactly the time of its law, in one node") {
    for (const Gpu& gpu : {a100(), hopper(), blackwell()}) {
        const Machine m = nccl_machine(gpu, 1, 50);
        for (int n = 2; n <= 8; ++n) {
            check_group(m, devices(n));
        }
    }
}

TEST_CASE("and in PCIe boxes, where the ring's host bridge is shared by others' pairs") {
    const Machine box = pcie_box();
    for (const int n : {2, 3, 4, 8}) {
        check_group(box, devices(n));
    }
    check_group(box, devices(4, 0, 2));
}

TEST_CASE("and across nodes, with one rank per node, some, or all") {
    for (const int nodes : {2, 3, 8}) {
        for (const Gpu& gpu : {a100(), hopper(), blackwell()}) {
            const Machine m = nccl_machine(gpu, nodes, 25);
            check_group(m, devices(nodes, 5, 8));
            check_group(m, devices(nodes * 2, 0, 4));
            check_group(m, devices(nodes * 8));
            check_group(m, devices(nodes * 8 - 3));
        }
    }
}

TEST_CASE("and in a rack that is one NVLink domain, and over two racks") {
    Machine rack = nccl_machine(blackwell(), 18, 50);
    rack.cluster.node.gpus = 4;
    rack.cluster.node.nics = 4;
    rack.cluster.node.nodes_per_nvlink_domain = 9;
    check_group(rack, devices(36));
    check_group(rack, devices(72));
    check_group(rack, devices(8, 0, 9));
}

TEST_CASE("and under named algorithms") {
    for (const std::string name : {"ring", "tree", "hierarchical", "nvls"}) {
        Machine m = nccl_machine(hopper(), 4, 50);
        m.algorithm = name;
        check_group(m, devices(8));
        check_group(m, devices(32));
    }
}

TEST_CASE("and so does every message") {
    const Machine m = nccl_machine(hopper(), 4, 50);
    const Fabric fabric(m);
    for (const std::int64_t bytes : {1LL, 16'384LL, 16'385LL, 1'000'003LL, 333'333'333LL}) {
        for (const DeviceId to : {DeviceId{1}, DeviceId{8}, DeviceId{31}}) {
            const Transfer t = plan_message(fabric, DeviceId{0}, to, Bytes{bytes});
            CHECK(alone(fabric, t, Bytes{bytes}) ==
                  message_time(m, message_path(fabric, DeviceId{0}, to).shape, Bytes{bytes}).alone);
        }
    }
}

TEST_CASE("an oversubscribed spine slows what crosses it, and only that") {
    Machine m = nccl_machine(hopper(), 8, 50);
    m.cluster.fabric.kind = FabricKind::FatTree2;
    m.cluster.fabric.leaf_nodes = 4;
    m.cluster.fabric.oversubscription = 16;
    const Fabric fabric(m);
    const CollectiveCall call{.kind = CollectiveKind::AllGather, .bytes = 1_GiB};
    const auto inside = plan_collective(fabric, call, devices(32));
    const auto across = plan_collective(fabric, call, devices(64));
    REQUIRE(inside);
    REQUIRE(across);
    CHECK(alone(fabric, *inside, call.bytes) ==
          collective_time(m, shape_of(fabric, devices(32)), call)->alone);
    // Up-links of a leaf: 4 nodes x 8 NICs x 50 GB/s / 16 = 100 GB/s x 0.98 for a ring that needs 400.
    const double seconds = 63.0 / 64 * 1073741824.0 / (0.98 * 100e9);
    CHECK(to_seconds(alone(fabric, *across, call.bytes)) ==
          doctest::Approx(to_seconds(across->delay) + seconds).epsilon(1e-5));
}

TEST_CASE("a split gives back its law to the picosecond, whatever the size") {
    for (const double total : {1e-12, 3.3e-9, 1.7e-5, 0.25, 7.0, 4000.0}) {
        for (const double part : {0.0, 1e-3, 0.37, 0.999, 1.0}) {
            for (const std::int64_t bytes : {1LL, 7LL, 4096LL, 1'234'567'891LL}) {
                CollectiveTime time;
                set_split(time, {.total = total, .flow = total * part}, Bytes{bytes});
                const Duration moving =
                    time.cap > 0 ? duration_from_seconds(static_cast<double>(bytes) / time.cap)
                                 : Duration{0};
                const double exact = total * 1e12;  // a double holds whole picoseconds up to 9000 s
                CHECK(std::abs((time.delay + moving - time.alone).count()) <=
                      (total < 1000 ? 0 : 2));
                // Each of the two parts is rounded up, from a little below to a whole picosecond more.
                CHECK(static_cast<double>(time.alone.count()) > exact - 1);
                CHECK(static_cast<double>(time.alone.count()) <= exact + 2);
            }
        }
    }
}
