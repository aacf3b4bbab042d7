#include "sim/network/fluid.h"

#include <doctest/doctest.h>

using namespace memwall;

TEST_CASE("two flows through one link get half of it each") {
    FluidNetwork net({1e9}, {{0, 1 << 20}});
    const FlowShape shape{0, 1, 0, 1};
    const FlowId a = net.start(shape, Bytes{1'000'000}, Time{});
    const FlowId b = net.start(shape, Bytes{1'000'000}, Time{});
    CHECK(net.settle(Time{}).size() == 2);
    CHECK(net.rate(a) == 0.5e9);
    CHECK(net.completion(b) == Time{Duration{2'000'000'000}});
}
