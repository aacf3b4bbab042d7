// law: steps on machines with round numbers: closed forms to the picosecond.
#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "sim/collectives/algorithms/algorithms.h"
#include "sim/collectives/transfer.h"
#include "sim/spec/names.h"
#include "tests/collectives/machines.h"

using namespace memwall;
using namespace memwall::testing;
using namespace memwall::literals;

namespace {

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

// A transfer alone on the machine, as the fluid network plays it.
Duration alone(const Machine& machine, const Transfer& transfer, Bytes bytes) {
    const Fabric fabric(machine);
    const FluidNetwork network(link_capacities(fabric), transfer.usage);
    const FlowShape shape{.usage_begin = 0,
                          .usage_end = static_cast<std::uint32_t>(transfer.usage.size()),
                          .cap = transfer.cap,
                          .weight = transfer.weight};
    return transfer.delay + network.alone(shape, bytes);
}

// The stepwise reference, from its statement: steps one after the other, each its longest latency plus its busiest link.
Duration stepwise(const Machine& machine,
                  CollectiveKind kind,
                  const std::vector<DeviceId>& group,
                  Bytes bytes) {
    const Fabric fabric(machine);
    const auto plan = plan_steps(fabric, {.kind = kind, .bytes = bytes}, group);
    REQUIRE(plan);
    Duration total{};
    for (const PlannedStep& step : plan->steps) {
        std::vector<double> bytes_on(fabric.links().size());
        Duration latency{};
        for (const StepMessage& m : step.messages) {
            const Route route = fabric.route(m.from, m.to);
            latency = std::max(latency, route.latency);
            for (const LinkShare& link : route.links) {
                bytes_on[link.link.index] +=
                    static_cast<double>(m.bytes.value) * static_cast<double>(link.share) / kUnit;
            }
        }
        double seconds = 0;
        for (std::size_t l = 0; l < bytes_on.size(); ++l) {
            const Link& link = fabric.links()[l];
            if (link.binding && link.capacity.value > 0) {
                seconds = std::max(seconds, bytes_on[l] / link.capacity.value);
            }
        }
        total += step.repeat *
                 (latency + Duration{static_cast<std::int64_t>(std::llround(seconds * 1e12))});
    }
    return total;
}

}  // namespace

TEST_CASE("a ring all-reduce takes 2(n-1)(a + S/(nB)), to the picosecond") {
    // a = 500 ns, B = 100 GB/s = 0.1 B/ps: S/(nB) = 10 S / n ps.
    for (int n = 2; n <= 8; ++n) {
        for (const std::int64_t chunk : {1LL, 1000LL, 123'457LL, 100'000'000LL}) {
            const Bytes bytes{chunk * n};
            const Duration wanted = 2 * (n - 1) * (500_ns + Duration{10 * chunk});
            const Machine m = plain(1);
            CHECK(time_of(m, CollectiveKind::AllReduce, devices(n), bytes).alone == wanted);
            const auto plan = plan_collective(
                Fabric(m), {.kind = CollectiveKind::AllReduce, .bytes = bytes}, devices(n));
            REQUIRE(plan);
            CHECK(alone(m, *plan, bytes) == wanted);
            CHECK(stepwise(m, CollectiveKind::AllReduce, devices(n), bytes) == wanted);
        }
    }
}

TEST_CASE("ring all-gather and reduce-scatter take (n-1)(a + S/(nB)), to the picosecond") {
    for (int n = 2; n <= 8; ++n) {
        const Bytes bytes{n * 1'000'003LL};
        const Duration wanted = (n - 1) * (500_ns + Duration{10'000'030});
        for (const CollectiveKind kind :
             {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllToAll}) {
            const Machine m = plain(1);
            CHECK(time_of(m, kind, devices(n), bytes).alone == wanted);
            const auto plan =
                plan_collective(Fabric(m), {.kind = kind, .bytes = bytes}, devices(n));
            REQUIRE(plan);
            CHECK(alone(m, *plan, bytes) == wanted);
            CHECK(stepwise(m, kind, devices(n), bytes) == wanted);
        }
    }
}

TEST_CASE("a shift takes one hop, a + S/B, however many ranks there are") {
    const Bytes bytes{1'000'003};
    for (int n = 2; n <= 8; ++n) {
        const Machine m = plain(1);
        const Duration wanted = 500_ns + Duration{10'000'030};
        CHECK(time_of(m, CollectiveKind::Shift, devices(n), bytes).alone == wanted);
        CHECK(stepwise(m, CollectiveKind::Shift, devices(n), bytes) == wanted);
    }
    // Over 2 nodes of 8 ranks the two hops by NIC (10 GB/s, 2 us) are the slowest.
    const Machine m = plain(2);
    const Duration wanted = 2_us + Duration{100'000'300};
    CHECK(time_of(m, CollectiveKind::Shift, devices(16), bytes).alone == wanted);
    CHECK(stepwise(m, CollectiveKind::Shift, devices(16), bytes) == wanted);
}

TEST_CASE("a ring over nodes with one rank each runs at its NIC's rate") {
    // 4 nodes, a = 2 us (one switch), NIC 10 GB/s = 0.01 B/ps: 6 (2 us + S/(4 NIC)).
    const Machine m = plain(4);
    const Bytes bytes{4'000'000};
    const auto group = devices(4, 3, 8);
    const Duration wanted = 6 * (2_us + Duration{100'000'000});
    CHECK(time_of(m, CollectiveKind::AllReduce, group, bytes).alone == wanted);
    CHECK(stepwise(m, CollectiveKind::AllReduce, group, bytes) == wanted);
}

TEST_CASE("a ring with p ranks per node uses p NICs") {
    // 2 nodes x 8 ranks: 30 steps; 8 lanes of 1/8 on 8 NICs of 10 GB/s: S/16 at 80 GB/s; NVLink carries 7/8 at 100 GB/s.
    const Machine m = plain(2);
    const Bytes bytes{16 * 8 * 100'000};
    const Duration step = std::max(Duration{8 * 100'000LL * 100 / 8}, Duration{7 * 100'000LL * 10});
    const Duration wanted = 30 * (2_us + step);
    CHECK(time_of(m, CollectiveKind::AllReduce, devices(16), bytes).alone == wanted);
    CHECK(stepwise(m, CollectiveKind::AllReduce, devices(16), bytes) == wanted);
}

TEST_CASE("a broadcast in P pieces takes (n-2+P)(a + S/(PB)) for the best P") {
    const Machine m = plain(1);
    const Bytes bytes{64'000'000};
    Duration best = Duration::max();
    for (int pieces = 1; pieces <= 64; ++pieces) {
        const double ps = (8 - 2 + pieces) * (500e3 + (640e6 / pieces));
        best = std::min(best, Duration{static_cast<std::int64_t>(std::ceil(ps - 1e-3))});
    }
    const Duration time = time_of(m, CollectiveKind::Broadcast, devices(8), bytes).alone;
    // The rounded optimum of the continuous P is within a percent of the best integer.
    CHECK(time >= best);
    CHECK(to_seconds(time) <= to_seconds(best) * 1.01);
    const auto plan =
        plan_steps(Fabric(m), {.kind = CollectiveKind::Broadcast, .bytes = bytes}, devices(8));
    REQUIRE(plan);
    const auto pieces = static_cast<std::int64_t>(plan->steps.size()) - 6;
    if (bytes.value % pieces == 0) {
        CHECK(stepwise(m, CollectiveKind::Broadcast, devices(8), bytes) == time);
    }
}

TEST_CASE("a hierarchical all-reduce takes its three phases one after the other") {
    // p = 4 of 8 GPUs in 3 nodes: 6 (500 ns + S/(4 x 100 GB/s)) + 4 (2 us + S/(12 x 10 GB/s)).
    Machine m = plain(3);
    m.algorithm = "hierarchical";
    const Bytes bytes{12'000'000};
    std::vector<DeviceId> group;
    for (int node = 0; node < 3; ++node) {
        for (int gpu = 0; gpu < 4; ++gpu) {
            group.emplace_back(static_cast<std::size_t>(node * 8 + gpu));
        }
    }
    const Duration wanted =
        6 * (500_ns + Duration{30'000'000}) + 4 * (2_us + Duration{100'000'000});
    const CollectiveTime time = time_of(m, CollectiveKind::AllReduce, group, bytes);
    CHECK(time.alone == wanted);
    CHECK(stepwise(m, CollectiveKind::AllReduce, group, bytes) == wanted);
}

TEST_CASE("a double binary tree takes as long as its steps") {
    for (const int nodes : {1, 2, 5, 8}) {
        Machine m = plain(std::max(1, nodes));
        m.algorithm = "tree";
        const auto group = nodes == 1 ? devices(8) : devices(nodes, 2, 8);
        const Bytes bytes{2 * 64 * 2048};
        const CollectiveTime time = time_of(m, CollectiveKind::AllReduce, group, bytes);
        const auto steps =
            plan_steps(Fabric(m), {.kind = CollectiveKind::AllReduce, .bytes = bytes}, group);
        REQUIRE(steps);
        // Chunks are whole bytes: up to four of them a byte longer on the busiest NIC (10 GB/s) in each step.
        const auto rounding = static_cast<std::int64_t>(steps->steps.size()) * 4 * 100;
        CHECK(
            std::abs((stepwise(m, CollectiveKind::AllReduce, group, bytes) - time.alone).count()) <=
            rounding);
        const auto plan =
            plan_collective(Fabric(m), {.kind = CollectiveKind::AllReduce, .bytes = bytes}, group);
        REQUIRE(plan);
        CHECK(alone(m, *plan, bytes) == time.alone);
    }
}

TEST_CASE("an all-to-all over nodes is all inside, then all across") {
    // 2 nodes x 2 ranks: one step inside S/4 at 100 GB/s, two across S/4 at 10 GB/s.
    const Machine m = plain(2);
    const Bytes bytes{4'000'000};
    const std::vector<DeviceId> group = {DeviceId{0}, DeviceId{1}, DeviceId{8}, DeviceId{9}};
    const Duration wanted = (500_ns + Duration{10'000'000}) + 2 * (2_us + Duration{100'000'000});
    CHECK(time_of(m, CollectiveKind::AllToAll, group, bytes).alone == wanted);
    CHECK(stepwise(m, CollectiveKind::AllToAll, group, bytes) == wanted);
}

TEST_CASE("a message takes the route's latency plus its bytes at the slowest link") {
    const Machine m = plain(2);
    const Fabric fabric(m);
    const Transfer near = plan_message(fabric, DeviceId{0}, DeviceId{5}, 1000_B);
    CHECK(alone(m, near, 1000_B) == 500_ns + Duration{10'000});
    CHECK_FALSE(near.crosses_nodes);
    const Transfer far = plan_message(fabric, DeviceId{0}, DeviceId{8}, 1000_B);
    CHECK(alone(m, far, 1000_B) == 2_us + Duration{100'000});
    CHECK(far.crosses_nodes);
    CHECK(far.algorithm == "p2p");
}

TEST_CASE("fidelity ideal has no latency and shares nothing") {
    Machine m = plain(1);
    m.fidelity = Fidelity::Ideal;
    const auto plan = plan_collective(
        Fabric(m), {.kind = CollectiveKind::AllReduce, .bytes = 8'000'000_B}, devices(8));
    REQUIRE(plan);
    CHECK(plan->usage.empty());
    CHECK(plan->delay == Duration{0});
    CHECK(alone(m, *plan, 8'000'000_B) == Duration{14 * 10'000'000});
    const Transfer message = plan_message(Fabric(m), DeviceId{0}, DeviceId{1}, 1000_B);
    CHECK(message.usage.empty());
    CHECK(alone(m, message, 1000_B) == Duration{10'000});
}

TEST_CASE("fidelity alpha_beta is the closed form and shares nothing") {
    Machine m = plain(1);
    m.fidelity = Fidelity::AlphaBeta;
    const auto plan = plan_collective(
        Fabric(m), {.kind = CollectiveKind::AllReduce, .bytes = 8'000'000_B}, devices(8));
    REQUIRE(plan);
    CHECK(plan->usage.empty());
    CHECK(alone(m, *plan, 8'000'000_B) == 14 * (500_ns + Duration{10'000'000}));
}

TEST_CASE("groups of one and empty messages take no time and no link") {
    const Machine m = plain(2);
    const Fabric fabric(m);
    for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllToAll}) {
        for (const auto& [n, bytes] : {std::pair{1, 1_MiB}, std::pair{16, 0_B}}) {
            const auto plan = plan_collective(fabric, {.kind = kind, .bytes = bytes}, devices(n));
            REQUIRE(plan);
            CHECK(plan->delay == Duration{0});
            CHECK(plan->usage.empty());
            CHECK(plan->blocks == 0);
        }
    }
    const Transfer none = plan_message(fabric, DeviceId{0}, DeviceId{9}, 0_B);
    CHECK(none.usage.empty());
    const Transfer self = plan_message(fabric, DeviceId{3}, DeviceId{3}, 1_MiB);
    CHECK(self.delay == Duration{0});
    CHECK(self.usage.empty());
}

TEST_CASE("a barrier takes an all-reduce of a word and moves nothing") {
    const Machine m = plain(1);
    const CollectiveTime time = time_of(m, CollectiveKind::Barrier, devices(8), 0_B);
    CHECK(time.delay == time_of(m, CollectiveKind::AllReduce, devices(8), 4_B).alone);
    CHECK(time.cap == 0);
}

TEST_CASE("messages of exabytes take long, but no negative time") {
    const Machine m = plain(2);
    const Bytes most{std::numeric_limits<std::int64_t>::max()};
    for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllToAll}) {
        const CollectiveTime time = time_of(m, kind, devices(16), most);
        CHECK(time.alone > 1000_s);
        CHECK(time.cap > 0);
    }
}

TEST_CASE("the words of machine.network.algorithm are those of the table") {
    const std::span<const std::string_view> words = collective_algorithms();
    std::vector<std::string_view> known;
    for (const AlgorithmEntry& entry : algorithms()) {
        if (entry.serves(CollectiveKind::AllReduce)) {
            known.push_back(name_of(entry.algorithm));
        }
    }
    CHECK(std::vector<std::string_view>(words.begin(), words.end()) == known);
}

TEST_CASE("a named algorithm that does not exist or cannot run is an error that says why") {
    Machine m = plain(2);
    const Fabric fabric(m);
    const CollectiveCall call{.kind = CollectiveKind::AllReduce, .bytes = 1_MiB};
    m.algorithm = "butterfly";
    auto plan = plan_collective(fabric, call, devices(8));
    REQUIRE_FALSE(plan);
    CHECK(
        plan.error() ==
        "unknown collective algorithm 'butterfly'; all-reduce has ring, tree, hierarchical, nvls");
    m.algorithm = "nvls";
    plan = plan_collective(fabric, call, devices(16));
    REQUIRE_FALSE(plan);
    CHECK(plan.error() == "nvls across nodes has no law in steps; use law: nccl");
    m.algorithm = "hierarchical";
    plan = plan_collective(fabric, call, devices(11));
    REQUIRE_FALSE(plan);
    CHECK(plan.error() == "hierarchical needs equally many ranks of the group in every node");
    CHECK_FALSE(plan_steps(fabric, call, devices(11)));
    // The name selects among the algorithms of all-reduce; others keep theirs.
    m.algorithm = "tree";
    plan =
        plan_collective(fabric, {.kind = CollectiveKind::AllGather, .bytes = 1_MiB}, devices(11));
    REQUIRE(plan);
    CHECK(plan->algorithm == "ring");
}

TEST_CASE("a ring's steps are planned once and repeated") {
    const Machine m = plain(128);
    const Fabric fabric(m);
    const auto plan =
        plan_steps(fabric, {.kind = CollectiveKind::AllReduce, .bytes = 1_GiB}, devices(1024));
    REQUIRE(plan);
    REQUIRE(plan->steps.size() == 1);
    CHECK(plan->steps[0].repeat == 2 * 1023);
    CHECK(plan->steps[0].messages.size() == 1024 * 8);
    // 1 GiB in 8 x 1024 chunks.
    CHECK(plan->steps[0].messages[0].bytes == Bytes{131072});
}

TEST_CASE("the chunks of a planned step sum to the message, whole bytes each") {
    const Machine m = plain(1);
    const Fabric fabric(m);
    const auto plan =
        plan_steps(fabric, {.kind = CollectiveKind::AllGather, .bytes = 1003_B}, devices(8));
    REQUIRE(plan);
    std::int64_t sent = 0;
    for (const PlannedStep& step : plan->steps) {
        for (const StepMessage& message : step.messages) {
            CHECK((message.bytes == 125_B || message.bytes == 126_B));
            sent += step.repeat * message.bytes.value;
        }
    }
    CHECK(sent == 7 * 1003);
}

TEST_CASE("stepwise refuses groups beyond its reach") {
    Machine m = plain(5000);
    const Fabric fabric(m);
    const auto plan =
        plan_steps(fabric, {.kind = CollectiveKind::AllToAll, .bytes = 1_GiB}, devices(40000));
    REQUIRE_FALSE(plan);
    CHECK(plan.error() ==
          "fidelity: stepwise plays groups of at most 32768 ranks, here 40000; use fluid");
}
