// law: nccl against published measurements and against the statements of the model.
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "sim/collectives/nccl/laws.h"
#include "sim/collectives/nccl/tuner.h"
#include "sim/collectives/transfer.h"
#include "tests/collectives/machines.h"

using namespace memwall;
using namespace memwall::testing;
using namespace memwall::literals;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

CollectiveTime time_of(const Machine& machine,
                       CollectiveKind kind,
                       const std::vector<DeviceId>& group,
                       Bytes bytes) {
    const Fabric fabric(machine);
    const auto time =
        collective_time(machine, shape_of(fabric, group), {.kind = kind, .bytes = bytes});
    REQUIRE(time);
    return *time;
}

double micros_of(const Machine& machine,
                 CollectiveKind kind,
                 const std::vector<DeviceId>& group,
                 std::int64_t bytes) {
    return to_seconds(time_of(machine, kind, group, Bytes{bytes}).alone) * 1e6;
}

std::string variant_of(const Machine& machine, CollectiveKind kind, int n, std::int64_t bytes) {
    const Variant v = time_of(machine, kind, devices(n), Bytes{bytes}).variant;
    return std::string(name_of(v.algorithm)) + "/" + std::string(name_of(v.protocol));
}

// The size at which the library's estimate of `later` falls below that of `sooner`, in bytes.
double switch_point(
    const Machine& machine, CollectiveKind kind, int n, Variant sooner, Variant later) {
    const Fabric fabric(machine);
    const NcclView view = nccl_view(machine, shape_of(fabric, devices(n)));
    double low = 1;
    double high = 1e10;
    while (high - low > 1) {
        const double middle = (low + high) / 2;
        (nominal_us(view, kind, later, middle) < nominal_us(view, kind, sooner, middle) ? high
                                                                                        : low) =
            middle;
    }
    return high;
}

constexpr Variant kLl{Algorithm::Ring, Protocol::Ll};
constexpr Variant kLl128{Algorithm::Ring, Protocol::Ll128};
constexpr Variant kSimple{Algorithm::Ring, Protocol::Simple};
constexpr Variant kNvls{Algorithm::Nvls, Protocol::Simple};

}  // namespace

TEST_CASE(
    "the library's estimate switches protocols at the sizes that follow from its published "
    "constants") {
    // NVIDIA/nccl src/graph/tuning.cc @5067397, worked by hand: (difference of latencies) / (difference of 1 / bandwidth).
    CHECK(switch_point(
              nccl_machine(blackwell(), 1, 50), CollectiveKind::AllGather, 4, kLl, kSimple) ==
          doctest::Approx(6.3e6).epsilon(0.01));
    CHECK(switch_point(nccl_machine(hopper(), 1, 50), CollectiveKind::AllGather, 8, kLl, kLl128) ==
          doctest::Approx(4.6e6).epsilon(0.01));
    CHECK(switch_point(
              nccl_machine(hopper(), 1, 50), CollectiveKind::AllGather, 8, kLl128, kSimple) ==
          doctest::Approx(23e6).epsilon(0.02));
    CHECK(switch_point(nccl_machine(a100(), 1, 25), CollectiveKind::AllGather, 4, kLl, kSimple) ==
          doctest::Approx(1.9e6).epsilon(0.02));
    CHECK(switch_point(nccl_machine(hopper(), 1, 50), CollectiveKind::AllReduce, 8, kLl, kNvls) ==
          doctest::Approx(1.14e6).epsilon(0.01));
}

TEST_CASE("the variants switch between the sizes where the measured curves jump") {
    // ai-dynamo/aiconfigurator @095f58a, nccl_perf tables.
    const Machine b200 = nccl_machine(blackwell(), 1, 50);
    CHECK(variant_of(b200, CollectiveKind::AllGather, 4, 4 * kMiB) == "ring/ll");
    CHECK(variant_of(b200, CollectiveKind::AllGather, 4, 8 * kMiB) == "ring/simple");
    const Machine h100 = nccl_machine(hopper(), 1, 50);
    CHECK(variant_of(h100, CollectiveKind::AllGather, 8, 4 * kMiB) == "ring/ll");
    CHECK(variant_of(h100, CollectiveKind::AllGather, 8, 8 * kMiB) == "ring/ll128");
    CHECK(variant_of(h100, CollectiveKind::AllGather, 8, 16 * kMiB) == "ring/ll128");
    CHECK(variant_of(h100, CollectiveKind::AllGather, 8, 32 * kMiB) == "ring/simple");
    CHECK(variant_of(h100, CollectiveKind::AllReduce, 8, kMiB / 2) == "ring/ll");
    CHECK(variant_of(h100, CollectiveKind::AllReduce, 8, 2 * kMiB) == "nvls/simple");
    const Machine dgx = nccl_machine(a100(), 1, 25);
    CHECK(variant_of(dgx, CollectiveKind::AllGather, 4, kMiB) == "ring/ll");
    CHECK(variant_of(dgx, CollectiveKind::AllGather, 4, 2 * kMiB) == "ring/simple");
    const Machine box = pcie_box();
    CHECK(variant_of(box, CollectiveKind::AllReduce, 8, kMiB / 2) == "ring/ll");
    CHECK(variant_of(box, CollectiveKind::AllReduce, 8, kMiB) == "ring/simple");
}

TEST_CASE("measured times in one node are met within 12 %") {
    // Single rows of ai-dynamo/aiconfigurator @095f58a nccl_perf, fp16, in microseconds.
    const auto near = [](double measured) { return doctest::Approx(measured).epsilon(0.12); };
    const Machine dgx = nccl_machine(a100(), 1, 25);
    CHECK(micros_of(dgx, CollectiveKind::AllReduce, devices(8), 1024) == near(21.77));
    CHECK(micros_of(dgx, CollectiveKind::AllReduce, devices(8), kMiB / 2) == near(30.08));
    CHECK(micros_of(dgx, CollectiveKind::AllReduce, devices(8), 8 * kMiB) == near(128));
    CHECK(micros_of(dgx, CollectiveKind::AllReduce, devices(8), 512 * kMiB) == near(4225.9));
    const Machine h100 = nccl_machine(hopper(), 1, 50);
    CHECK(micros_of(h100, CollectiveKind::AllGather, devices(8), 1024) == near(10.4));
    CHECK(micros_of(h100, CollectiveKind::AllGather, devices(8), 16 * kMiB) == near(67.09));
    CHECK(micros_of(h100, CollectiveKind::AllGather, devices(8), 512 * kMiB) == near(1424.6));
    const Machine b200 = nccl_machine(blackwell(), 1, 50);
    CHECK(micros_of(b200, CollectiveKind::AllGather, devices(4), 4 * kMiB) == near(25.08));
    CHECK(micros_of(b200, CollectiveKind::AllGather, devices(4), 8 * kMiB) == near(49.85));
    CHECK(micros_of(b200, CollectiveKind::AllGather, devices(4), 512 * kMiB) == near(711.83));
}

TEST_CASE("measured times of two nodes are met within 6 % at a gigabyte") {
    const auto near = [](double measured) { return doctest::Approx(measured).epsilon(0.06); };
    // 16 A100, 16 x 100G RoCE: oracle-quickstart/oci-hpc-oke, nccl-tests table, 1 and 8 GiB.
    const Machine oci = nccl_machine(a100(), 2, 25);
    CHECK(micros_of(oci, CollectiveKind::AllReduce, devices(16), 1024 * kMiB) == near(10887.4));
    CHECK(micros_of(oci, CollectiveKind::AllReduce, devices(16), 8192 * kMiB) == near(84948.7));
    // 16 B200, InfiniBand: dstackai/dstack lambda.md, 64 MiB and 1 GiB. With two nodes the tree's busbw exceeds the NICs.
    const Machine lambda = nccl_machine(blackwell(), 2, 50);
    CHECK(micros_of(lambda, CollectiveKind::AllReduce, devices(16), 64 * kMiB) ==
          doctest::Approx(350.41).epsilon(0.12));
    CHECK(micros_of(lambda, CollectiveKind::AllReduce, devices(16), 1024 * kMiB) == near(2972.25));
    // 16 H100, 8 x 200G TCPXO: GoogleCloudPlatform/cluster-toolkit gke-a3-megagpu README.
    Machine mega = nccl_machine(hopper(), 2, 25);
    FabricNccl& net = mega.cluster.fabric.nccl;
    net.step_ll = micros(34.6);
    net.ll128_factor = 1.4;
    net.ll_rate = gbs(7.9);
    net.ring_fill = micros(145);
    CHECK(micros_of(mega, CollectiveKind::AllGather, devices(16), 1024 * kMiB) == near(5531.01));
    CHECK(micros_of(mega, CollectiveKind::AllGather, devices(16), 8192 * kMiB) == near(42668.7));
}

TEST_CASE("a small message can be slower than a larger one, as measured on eight GPUs over PCIe") {
    // RTX PRO 6000: 156 us at 512 KiB, 131 us at 1 MiB (ai-dynamo/aiconfigurator @095f58a).
    NcclView view = nccl_view(pcie_box(), shape_of(Fabric(pcie_box()), devices(8)));
    const double small =
        ring_in_node(view, CollectiveKind::AllReduce, Protocol::Ll, 512.0 * 1024).total;
    const double large =
        ring_in_node(view, CollectiveKind::AllReduce, Protocol::Simple, 1024.0 * 1024).total;
    CHECK(small > 0.6 * large);
    // The jump of 4 B200 from 4 to 8 MiB: twice the bytes, twice the time and not less.
    const Machine b200 = nccl_machine(blackwell(), 1, 50);
    CHECK(micros_of(b200, CollectiveKind::AllGather, devices(4), 8 * kMiB) >
          1.9 * micros_of(b200, CollectiveKind::AllGather, devices(4), 4 * kMiB));
}

TEST_CASE("the laws are what their statements say") {
    const Machine dgx = nccl_machine(a100(), 1, 25);
    const NcclView v = nccl_view(dgx, shape_of(Fabric(dgx), devices(8)));
    // LL, one byte: S/n = 1/8 B is less than a channel's 4 KiB: b_LL + 14 l + 15.5 (1/8) / (1.1 x 222e3 / 48).
    CHECK(ring_in_node(v, CollectiveKind::AllReduce, Protocol::Ll, 1).total ==
          doctest::Approx(8.7 + 14 * 0.74 + 15.5 * 0.125 / (1.1 * 222e3 / 48)));
    // LL128: b_S + 7 x 1.5 l + (7 + 0.29) c / 0.92, c = 8 MB / (8 x 222e3) us.
    const double c = 8e6 / (8 * 222e3);
    CHECK(ring_in_node(v, CollectiveKind::AllGather, Protocol::Ll128, 8e6).total ==
          doctest::Approx(27.1 + 7 * 1.5 * 0.74 + 7.29 * c / 0.92));
    // Simple, huge: (N + x) c + b_S + F, the latency branch is far below.
    const double huge = 8e9 / (8 * 222e3);
    CHECK(ring_in_node(v, CollectiveKind::AllReduce, Protocol::Simple, 8e9).total ==
          doctest::Approx(27.1 + 14 * huge + 0.75 * 0.29 * huge + 62).epsilon(1e-3));
    // Simple, tiny: b_S + N L.
    CHECK(ring_in_node(v, CollectiveKind::AllReduce, Protocol::Simple, 1).total ==
          doctest::Approx(27.1 + 14 * 7.7).epsilon(1e-6));
    CHECK(smooth_max(3, 4, 2) == doctest::Approx(5));
    CHECK(smooth_max(0, 0, 8) == 0);
    CHECK(filling(0, 0.4, 10) == 0);
    CHECK(filling(60, 0.4, 1e9) == doctest::Approx(60));
}

TEST_CASE("an NVLS all-reduce of many gigabytes runs at R / (1 + 1/n)") {
    // 0.5 us + (S/Z + 2) sqrt((Z (1 + 1/8) / R)^2 + lambda^2), Z = 16 x 8 x 128 KiB.
    const Machine h100 = nccl_machine(hopper(), 1, 50);
    const double z = 16.0 * 8 * 131072;
    const double loop = std::hypot(z * 1.125 / 315e3, 12.5);
    CHECK(micros_of(h100, CollectiveKind::AllReduce, devices(8), 8192 * kMiB) ==
          doctest::Approx(0.5 + (8589934592.0 / z + 2) * loop));
    // One word: the smallest chunk, one loop and two to fill.
    const NcclView v = nccl_view(h100, shape_of(Fabric(h100), devices(8)));
    CHECK(nvls_in_node(v, 4).total == doctest::Approx(0.5 + 3 * 12.5).epsilon(1e-5));
}

TEST_CASE("four nodes are no faster than the trees' two messages out of the busiest node") {
    // Book, traps: with two nodes tau = 1, with more 2: the large-message rate halves.
    const std::int64_t bytes = 16384 * kMiB;
    Machine two = nccl_machine(blackwell(), 2, 50);
    Machine four = nccl_machine(blackwell(), 4, 50);
    two.algorithm = four.algorithm = "nvls";
    const double ratio = micros_of(four, CollectiveKind::AllReduce, devices(32), bytes) /
                         micros_of(two, CollectiveKind::AllReduce, devices(16), bytes);
    CHECK(ratio == doctest::Approx(2).epsilon(0.03));
}

TEST_CASE("a group with one GPU per node runs at its own NIC, eight of them at all NICs") {
    const Machine m = nccl_machine(a100(), 16, 25);
    const std::int64_t bytes = 4096 * kMiB;
    const double one = micros_of(m, CollectiveKind::AllGather, devices(16, 0, 8), bytes);
    const double all = micros_of(m, CollectiveKind::AllGather, devices(128), bytes);
    // (n-1)/n S over 25 and over 200 GB/s x 0.98, plus the local pass x c.
    CHECK(one == doctest::Approx((15 + 0.29) / 16 * static_cast<double>(bytes) / (0.98 * 25e3))
                     .epsilon(0.02));
    CHECK(all == doctest::Approx((127 + 0.29) / 128 * static_cast<double>(bytes) / (0.98 * 200e3))
                     .epsilon(0.08));
}

TEST_CASE("a latency-bound collective leaves most of its links to others") {
    // 64 B200 in 8 nodes gathering 1 MiB: hops cost 29 us, the bytes of a step less than one.
    const Machine m = nccl_machine(blackwell(), 8, 50);
    const CollectiveTime t = time_of(m, CollectiveKind::ReduceScatter, devices(64), Bytes{kMiB});
    CHECK(t.cap < 0.1 * 8 * 50e9);
}

TEST_CASE("small LL messages hold few SMs, large ones all channels") {
    const Machine m = nccl_machine(hopper(), 1, 50);
    // One channel per 4 KiB of a rank's part.
    CHECK(time_of(m, CollectiveKind::AllGather, devices(8), 4096_B).blocks == 1);
    CHECK(time_of(m, CollectiveKind::AllGather, devices(8), Bytes{8 * 4096 * 5}).blocks == 5);
    CHECK(time_of(m, CollectiveKind::AllGather, devices(8), 1_GiB).blocks == 24);
    CHECK(time_of(m, CollectiveKind::AllReduce, devices(8), 1_GiB).blocks == 16);
    CHECK(time_of(nccl_machine(hopper(), 4, 50), CollectiveKind::AllReduce, devices(32), 16_GiB)
              .blocks >= 24);
}

TEST_CASE(
    "send and receive between two A100 reach the measured 277 GB/s within 7 % and never the raw "
    "rate") {
    // ai-dynamo/aiconfigurator pair of A100: 277 of 300 GB/s at 64 MB (model book, section 2.6).
    const Machine m = nccl_machine(a100(), 1, 25);
    const Transfer t = plan_message(Fabric(m), DeviceId{0}, DeviceId{1}, 64'000'000_B);
    const double seconds = to_seconds(t.delay) + 64e6 / t.cap;
    CHECK(64e6 / seconds == doctest::Approx(277e9).epsilon(0.07));
    // Hopper: 1.2 B would be 450 GB/s of 450: capped at 0.92 of the links.
    const Transfer h =
        plan_message(Fabric(nccl_machine(hopper(), 1, 50)), DeviceId{0}, DeviceId{1}, 1_GiB);
    CHECK(h.cap == doctest::Approx(0.92 * 450e9));
    // Across nodes: e_W x NIC rate after L_net.
    const Machine two = nccl_machine(a100(), 2, 25);
    const Transfer far = plan_message(Fabric(two), DeviceId{0}, DeviceId{8}, 1_GiB);
    CHECK(far.cap == doctest::Approx(0.98 * 25e9));
    CHECK(far.delay == micros(29.28));
    CHECK(far.blocks == 3);
}

TEST_CASE("the explanation lists every candidate and marks the one that runs") {
    const Machine m = nccl_machine(hopper(), 1, 50);
    std::vector<Candidate> why;
    const Fabric fabric(m);
    REQUIRE(plan_collective(
        fabric, {.kind = CollectiveKind::AllReduce, .bytes = 1_GiB}, devices(8), &why));
    REQUIRE(why.size() == 4);
    int chosen = 0;
    for (const Candidate& c : why) {
        CHECK(c.nominal_us > 0);
        CHECK(c.modelled_us > 0);
        chosen += c.chosen ? 1 : 0;
        CHECK((c.algorithm != "nvls" || c.chosen));
    }
    CHECK(chosen == 1);
    why.clear();
    const Machine two = nccl_machine(hopper(), 2, 50);
    const Fabric wide(two);
    REQUIRE(plan_collective(
        wide, {.kind = CollectiveKind::AllReduce, .bytes = 1_GiB}, devices(16), &why));
    CHECK(why.size() == 7);
    for (const Candidate& c : why) {
        CHECK(c.nominal_us == 0);
    }
}

TEST_CASE("named algorithms run or say why not") {
    const CollectiveCall call{.kind = CollectiveKind::AllReduce, .bytes = 64_MiB};
    Machine m = nccl_machine(a100(), 2, 25);
    const Fabric fabric(m);
    m.algorithm = "nvls";
    auto plan = plan_collective(fabric, call, devices(16));
    REQUIRE_FALSE(plan);
    CHECK(plan.error() ==
          "nvls needs an NVLink switch that reduces: gpu 'a100' in node 'plain' has none");
    for (const std::string name : {"ring", "tree", "hierarchical"}) {
        m.algorithm = name;
        for (const int n : {8, 16}) {
            plan = plan_collective(fabric, call, devices(n));
            REQUIRE(plan);
            CHECK(plan->algorithm == name);
        }
    }
    Machine h = nccl_machine(hopper(), 1, 50);
    h.algorithm = "nvls";
    CHECK_FALSE(plan_collective(Fabric(h), call, devices(2)));
    CHECK(plan_collective(Fabric(h), call, devices(3)));
}

TEST_CASE("a machine without the constants that a law needs is an error, not a wrong number") {
    Gpu bare = a100();
    bare.nccl = {};
    const Machine m = nccl_machine(bare, 1, 25);
    const auto plan =
        plan_collective(Fabric(m), {.kind = CollectiveKind::AllReduce, .bytes = 1_MiB}, devices(8));
    REQUIRE_FALSE(plan);
    CHECK(plan.error() ==
          "gpu 'a100' has no NCCL constants (nccl.ring, nccl.channels): use law: steps");
}

TEST_CASE("a fabric whose LL rates are not known runs Simple") {
    Machine m = nccl_machine(hopper(), 2, 25);
    m.cluster.fabric.nccl.ll_rate = {};
    m.cluster.fabric.nccl.ll128_rate = {};
    m.cluster.fabric.nccl.ll128_factor = 1000;
    const auto plan =
        plan_collective(Fabric(m), {.kind = CollectiveKind::AllReduce, .bytes = 8_B}, devices(16));
    REQUIRE(plan);
    CHECK(plan->protocol == "simple");
}

TEST_CASE("LL never exceeds half of the NICs it runs over") {
    // GCP RoCE: 70 GB/s of LL per node with eight NICs; a group with one NIC of 50 GB/s x 0.85 gets 21 at most.
    Machine m = nccl_machine(hopper(), 2, 50);
    m.cluster.fabric.nccl.efficiency = 0.85;
    m.cluster.fabric.nccl.ll_rate = gbs(70);
    const NcclView v = nccl_view(m, shape_of(Fabric(m), devices(2, 0, 8)));
    const double bytes = 64e6;
    CHECK(ring_across(v, CollectiveKind::AllReduce, Protocol::Ll, bytes).total >
          bytes / (0.85 * 25e3));
}

TEST_CASE("PCIe boxes of GPUs that could have NVLink run with the two channels of a PCIe ring") {
    Machine m = pcie_box();
    Gpu bridged = a100();
    bridged.pcie = gbs(31.5);
    m.cluster.node.gpu = bridged;
    const CollectiveTime t = time_of(m, CollectiveKind::AllReduce, devices(8), 1_GiB);
    CHECK(t.blocks == 2);
    // The host bridge's ring rate decides: 2 (n-1)/n S / 24.8 GB/s.
    CHECK(to_seconds(t.alone) == doctest::Approx(14.0 / 8 * 1073741824.0 / 24.8e9).epsilon(0.03));
    // With bridges, a pair runs at the NVLink ring's rate.
    m.cluster.node.intra = IntraNode::Mesh;
    m.cluster.node.mesh = {{0, 1, 12}, {2, 3, 12}, {4, 5, 12}, {6, 7, 12}};
    const CollectiveTime pair = time_of(m, CollectiveKind::AllReduce, devices(2, 2), 1_GiB);
    CHECK(to_seconds(pair.alone) == doctest::Approx(1073741824.0 / 222e9).epsilon(0.13));
    const CollectiveTime all = time_of(m, CollectiveKind::AllReduce, devices(8), 1_GiB);
    CHECK(all.alone == t.alone);
}

TEST_CASE("the laws across nodes are what their statements say") {
    // 4 nodes x 8 A100, 8 NICs of 25 GB/s x 0.98: W = 196e3 B/us, N = 62, I = 8, d = 2, tau = 2.
    const Machine m = nccl_machine(a100(), 4, 25);
    const NcclView v = nccl_view(m, shape_of(Fabric(m), devices(32)));
    const double wire = 0.98 * 8 * 25e3;
    const auto all = CollectiveKind::AllReduce;
    // Ring LL, 4 MB: more than 4 KiB per rank and channel, so q = S / (32 x 24).
    CHECK(ring_across(v, all, Protocol::Ll, 4e6).total ==
          doctest::Approx(8.7 + 54 * 0.74 + 8 * 6.8 + 63.5 * (4e6 / 768) / (1.1 * 222e3 / 48) +
                          62 * 4e6 / (32 * 7.5e3)));
    const double c = 4e6 / (32 * wire);
    CHECK(ring_across(v, all, Protocol::Ll128, 4e6).total ==
          doctest::Approx(27.1 + 54 * 1.5 * 0.74 + 8 * 4.6 * 6.8 + (62 + 0.75 * 0.29) * c / 0.92));
    // Ring Simple, one byte: the latency branch alone; all-gather passes m hops of the network.
    CHECK(ring_across(v, CollectiveKind::AllGather, Protocol::Simple, 1).total ==
          doctest::Approx(27.1 + 27 * 7.7 + 4 * 29).epsilon(1e-6));
    CHECK(tree_across(v, Protocol::Ll, false, 1e6).total ==
          doctest::Approx(8.7 + 2 * (7 * 0.74 + 2 * 6.8) + 2 * 1e6 / 7.5e3));
    CHECK(tree_across(v, Protocol::Ll128, false, 1e6).total ==
          doctest::Approx(27.1 + 2 * (7 * 1.5 * 0.74 + 2 * 4.6 * 6.8) + 1e6 / (47e3 / 2)));
    // Tree Simple: A = 0.46 x 222 = 102 GB/s is more than W / 2 = 98.
    const double work = 1e9 / (wire / 2);
    CHECK(tree_across(v, Protocol::Simple, false, 1e9).total ==
          doctest::Approx(27.1 + 2 * 7 * 7.7 + 2 * 2 * 29 + work +
                          169 * (1 - std::exp(-0.8 * work / 169))));
    // With two nodes every byte leaves a node once.
    const Machine two = nccl_machine(a100(), 2, 25);
    const NcclView pair = nccl_view(two, shape_of(Fabric(two), devices(16)));
    CHECK(tree_across(pair, Protocol::Ll, false, 1e6).flow == doctest::Approx(1e6 / 7.5e3));
    CHECK(tree_across(pair, Protocol::Simple, false, 1e9).flow ==
          doctest::Approx(1e9 / (0.46 * 222e3)));
    // NVLSTree on Hopper: R / (1 + 1/8) = 280 GB/s, entry and exit 2.5 loops.
    const Machine h = nccl_machine(hopper(), 2, 50);
    const NcclView nvls = nccl_view(h, shape_of(Fabric(h), devices(16)));
    const double loops = 1e9 / (315e3 / 1.125);
    CHECK(tree_across(nvls, Protocol::Simple, true, 1e9).total ==
          doctest::Approx(13.8 + 2.5 * 12.5 + 2 * 29 + loops +
                          169 * (1 - std::exp(-0.8 * loops / 169))));
}

TEST_CASE(
    "between two nodes of A100 the table takes rings for large sums, and trees for small ones over "
    "many") {
    // From the library's own table: at 1 GiB a ring moves n / 2(n-1) of the bus, a tree 0.46; below some MiB the steps of
    // a ring over 64 nodes cost more than the tree's few.
    const CollectiveCall large{.kind = CollectiveKind::AllReduce, .bytes = 1_GiB};
    const CollectiveCall small{.kind = CollectiveKind::AllReduce, .bytes = 256_KiB};
    const Machine two = nccl_machine(a100(), 2, 25);
    const auto on_two = plan_collective(Fabric(two), large, devices(16));
    REQUIRE(on_two);
    CHECK(on_two->algorithm == "ring");
    const Machine many = nccl_machine(a100(), 64, 25);
    const Fabric fabric(many);
    const auto on_many = plan_collective(fabric, small, devices(512));
    REQUIRE(on_many);
    CHECK(on_many->algorithm == "tree");
}
