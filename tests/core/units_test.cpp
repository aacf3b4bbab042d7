#include "sim/core/units.h"

#include <type_traits>

#include <doctest/doctest.h>

using namespace memwall;
using namespace memwall::literals;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept Comparable = requires(A a, B b) { a < b; };

static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, Bandwidth>);
static_assert(!Addable<Flops, FlopRate>);
static_assert(!Addable<Bytes, int>);
static_assert(!Addable<Duration, Bytes>);
static_assert(!Addable<Time, Time>);
static_assert(!Comparable<Bytes, Bandwidth>);
static_assert(!std::is_convertible_v<double, Bandwidth>);
static_assert(!std::is_convertible_v<Bytes, std::int64_t>);

}  // namespace

TEST_CASE("bytes over bandwidth is a duration, rounded up to whole picoseconds") {
    CHECK(Bytes(50'000'000'000) / 50_GBps == 1_s);
    CHECK(Bytes(1) / Bandwidth(3e12) == 1_ps);  // a third of a picosecond
    CHECK(Bytes(0) / 50_GBps == 0_ps);
}

TEST_CASE("operations over rate is a duration") {
    CHECK(Flops(312e12) / 312_TFLOPS == 1_s);
}

TEST_CASE("bits per second in a literal are an eighth of bytes per second") {
    CHECK(400_Gbps == 50_GBps);
}

TEST_CASE("a quotient of two like quantities is a plain number") {
    CHECK(80_GiB / 40_GiB == 2.0);
    CHECK(100_GBps / 50_GBps == 2.0);
}
