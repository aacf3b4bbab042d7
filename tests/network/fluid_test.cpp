#include "sim/network/fluid.h"

#include <bit>
#include <limits>

#include <doctest/doctest.h>

#include "sim/core/check.h"

using namespace memwall;

namespace {

constexpr std::int64_t kOne = std::int64_t{1} << 20;  // one byte on the link per byte of message

Time at(std::int64_t picoseconds) {
    return Time{Duration{picoseconds}};
}

// Usages of one link each: shape i is flow type i on link i.
FlowShape on(std::uint32_t usage, double cap = 0, std::int64_t weight = 1) {
    return {usage, usage + 1, cap, weight};
}

}  // namespace

TEST_CASE("two flows through one link get half of it each") {
    FluidNetwork net({1e9}, {{0, kOne}});
    const FlowId a = net.start(on(0), Bytes{1'000'000}, at(0));
    const FlowId b = net.start(on(0), Bytes{1'000'000}, at(0));
    CHECK(net.settle(at(0)).size() == 2);
    CHECK(net.rate(a) == 0.5e9);
    CHECK(net.rate(b) == 0.5e9);
    CHECK(net.completion(b) == at(2'000'000'000));
}

TEST_CASE("when one of two flows ends the other gets the whole link for the rest") {
    // 1 MB and 2 MB at 1 GB/s: half each for 2 ms, then 1 MB alone in 1 ms.
    FluidNetwork net({1e9}, {{0, kOne}});
    const FlowId a = net.start(on(0), Bytes{1'000'000}, at(0));
    const FlowId b = net.start(on(0), Bytes{2'000'000}, at(0));
    net.settle(at(0));
    CHECK(net.completion(a) == at(2'000'000'000));
    net.stop(a, net.completion(a));
    const auto changed = net.settle(at(2'000'000'000));
    REQUIRE(changed.size() == 1);
    CHECK(changed[0] == b);
    CHECK(net.rate(b) == 1e9);
    CHECK(net.completion(b) == at(3'000'000'000));
}

TEST_CASE("a flow on two links is held by the tighter one and leaves the rest of the other") {
    // Long flow over both links, one short flow on each. Link 0 (1 GB/s) halves; link 1 (3 GB/s) gives what is left.
    FluidNetwork net({1e9, 3e9}, {{0, kOne}, {1, kOne}, {0, kOne}, {1, kOne}});
    const FlowId longest = net.start({0, 2, 0, 1}, Bytes{1}, at(0));
    const FlowId first = net.start(on(2), Bytes{1}, at(0));
    const FlowId second = net.start(on(3), Bytes{1}, at(0));
    net.settle(at(0));
    CHECK(net.rate(longest) == 0.5e9);
    CHECK(net.rate(first) == 0.5e9);
    CHECK(net.rate(second) == 2.5e9);
}

TEST_CASE("a cap below the fair share leaves the rest to the others") {
    FluidNetwork net({1e9}, {{0, kOne}});
    const FlowId slow = net.start(on(0, 0.1e9), Bytes{1}, at(0));
    const FlowId b = net.start(on(0), Bytes{1}, at(0));
    const FlowId c = net.start(on(0), Bytes{1}, at(0));
    net.settle(at(0));
    CHECK(net.rate(slow) == 0.1e9);
    CHECK(net.rate(b) == 0.45e9);
    CHECK(net.rate(c) == 0.45e9);
}

TEST_CASE("a flow of weight four gets four shares") {
    FluidNetwork net({1e9}, {{0, kOne}});
    const FlowId four = net.start(on(0, 0, 4), Bytes{1}, at(0));
    const FlowId one = net.start(on(0), Bytes{1}, at(0));
    net.settle(at(0));
    CHECK(net.rate(four) == 0.8e9);
    CHECK(net.rate(one) == 0.2e9);
}

TEST_CASE("a coefficient of two halves the message rate that a link allows") {
    FluidNetwork net({1e9}, {{0, 2 * kOne}});
    const FlowId f = net.start(on(0), Bytes{1'000'000}, at(0));
    net.settle(at(0));
    CHECK(net.rate(f) == 0.5e9);
    CHECK(net.completion(f) == at(2'000'000'000));
}

TEST_CASE("flows that share no link do not touch each other") {
    FluidNetwork net({1e9, 1e9}, {{0, kOne}, {1, kOne}});
    const FlowId a = net.start(on(0), Bytes{1'000'000}, at(0));
    net.settle(at(0));
    net.start(on(1), Bytes{1'000'000}, at(5));
    CHECK(net.settle(at(5)).size() == 1);
    CHECK(net.completion(a) == at(1'000'000'000));
}

TEST_CASE(
    "a flow that joins and leaves within an instant leaves the other's completion as it was") {
    FluidNetwork net({1e9}, {{0, kOne}});
    const FlowId a = net.start(on(0), Bytes{1'000'000}, at(0));
    net.settle(at(0));
    const FlowId b = net.start(on(0), Bytes{1'000'000}, at(7));
    net.stop(b, at(7));
    CHECK(net.settle(at(7)).empty());
    CHECK(net.completion(a) == at(1'000'000'000));
    CHECK(net.active() == 1);
}

TEST_CASE("a slot that is reused within an instant is settled as the new flow") {
    FluidNetwork net({1e9, 1e9}, {{0, kOne}, {1, kOne}});
    const FlowId a = net.start(on(0), Bytes{1'000'000}, at(0));
    net.stop(a, at(0));
    const FlowId b = net.start(on(1), Bytes{2'000'000}, at(0));
    CHECK(a == b);
    CHECK(net.settle(at(0)).size() == 1);
    CHECK(net.completion(b) == at(2'000'000'000));
}

TEST_CASE("a link whose capacity falls slows its flows from that instant on") {
    // Half of 1 MB at 1 GB/s, the other half at 0.25 GB/s: 0.5 ms + 2 ms.
    FluidNetwork net({1e9}, {{0, kOne}});
    const FlowId f = net.start(on(0), Bytes{1'000'000}, at(0));
    net.settle(at(0));
    net.set_capacity(0, 0.25e9, at(500'000'000));
    CHECK(net.settle(at(500'000'000)).size() == 1);
    CHECK(net.completion(f) == at(2'500'000'000));
}

TEST_CASE("a link that could never bind can be made to") {
    FluidNetwork net({1e9, 0.0}, {{0, kOne}, {1, kOne}, {1, kOne}});
    const FlowId a = net.start({0, 2, 0, 1}, Bytes{1'000'000}, at(0));
    const FlowId b = net.start(on(2), Bytes{1'000'000}, at(0));
    net.settle(at(0));
    CHECK(net.rate(a) == 1e9);
    net.set_capacity(1, 0.5e9, at(0));
    net.settle(at(0));
    CHECK(net.rate(a) == 0.25e9);
    CHECK(net.rate(b) == 0.25e9);
    net.set_capacity(1, 0, at(0));
    net.settle(at(0));
    CHECK(net.rate(a) == 1e9);
    net.stop(a, at(0));
    net.stop(b, at(0));
    CHECK(net.active() == 0);
}

TEST_CASE("an empty message is complete at once, and so is one that nothing limits") {
    FluidNetwork net({1e9, 0.0}, {{0, kOne}, {1, kOne}});
    const FlowId empty = net.start(on(0), Bytes{0}, at(3));
    const FlowId free = net.start(on(1), Bytes{1'000'000'000}, at(3));
    const FlowId nowhere = net.start({0, 0, 0, 1}, Bytes{1'000'000'000}, at(3));
    CHECK(net.settle(at(3)).size() == 3);
    CHECK(net.completion(empty) == at(3));
    CHECK(net.completion(free) == at(3));
    CHECK(net.completion(nowhere) == at(3));
    CHECK(net.rate(free) == std::numeric_limits<double>::infinity());
}

TEST_CASE("a flow that only its cap limits takes message over cap, rounded up") {
    FluidNetwork net({}, {});
    const FlowId f = net.start({0, 0, 3e12, 1}, Bytes{1}, at(0));
    net.settle(at(0));
    CHECK(net.completion(f) == at(1));
    CHECK(net.alone({0, 0, 3e12, 1}, Bytes{1}) == Duration{1});
}

TEST_CASE("a transfer of geological length ends at the end of the clock, not before it starts") {
    FluidNetwork net({1e-6}, {{0, kOne}});
    const FlowId f = net.start(on(0), Bytes{std::int64_t{1} << 50}, at(1000));
    net.settle(at(1000));
    CHECK(net.completion(f) > at(std::int64_t{1} << 61));
}

TEST_CASE("links count what each flow moved, finished, stopped and under way") {
    FluidNetwork net({1e9, 0.0}, {{0, kOne}, {1, kOne / 2}});
    const FlowShape both{0, 2, 0, 1};
    const FlowId done = net.start(both, Bytes{1'000}, at(0));
    net.settle(at(0));
    net.stop(done, net.completion(done));  // at 1 us
    const FlowId half = net.start(both, Bytes{2'000}, at(1'000'000));
    net.settle(at(1'000'000));
    CHECK(net.carried(at(2'000'000)) == std::vector<double>{2'000, 1'000});
    net.stop(half, at(2'000'000));
    CHECK(net.carried(at(9'000'000)) == std::vector<double>{2'000, 1'000});
}

TEST_CASE("usages that are unsorted, repeated, empty or of links that do not exist are refused") {
    const auto start = [](std::vector<Usage> usages) {
        FluidNetwork net({1e9, 1e9}, usages);
        net.start({0, static_cast<std::uint32_t>(usages.size()), 0, 1}, Bytes{1}, Time{});
    };
    CHECK_THROWS_AS(start({{1, kOne}, {0, kOne}}), BugError);
    CHECK_THROWS_AS(start({{0, kOne}, {0, kOne}}), BugError);
    CHECK_THROWS_AS(start({{0, 0}}), BugError);
    CHECK_THROWS_AS(start({{0, -kOne}}), BugError);
    CHECK_THROWS_AS(start({{2, kOne}}), BugError);
    CHECK_NOTHROW(start({{0, kOne}, {1, kOne}}));
}

TEST_CASE("weights that are not positive, or whose loads overflow, are refused") {
    FluidNetwork net({1e9}, {{0, kOne}});
    CHECK_THROWS_AS(net.start(on(0, 0, 0), Bytes{1}, Time{}), BugError);
    CHECK_THROWS_AS(net.start(on(0, 0, -1), Bytes{1}, Time{}), BugError);
    CHECK_THROWS_AS(net.start(on(0, 0, std::int64_t{1} << 44), Bytes{1}, Time{}), BugError);
}

TEST_CASE("stopping a flow twice is refused") {
    FluidNetwork net({1e9}, {{0, kOne}});
    const FlowId f = net.start(on(0), Bytes{1}, Time{});
    net.stop(f, Time{});
    CHECK_THROWS_AS(net.stop(f, Time{}), BugError);
}
