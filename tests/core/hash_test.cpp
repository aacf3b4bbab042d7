#include "sim/core/hash.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include <doctest/doctest.h>

using namespace memwall;

namespace {

template <class... T>
std::uint64_t hash(T... values) {
    Hasher h;
    (h.add(values), ...);
    return h.value();
}

}  // namespace

TEST_CASE("the mixer is the finaliser of SplitMix64") {
    // First three outputs of the reference SplitMix64 with seed 0 (Vigna, splitmix64.c): mix(g), mix(2g), mix(3g).
    CHECK(mix64(kGolden64) == 0xE220A8397B1DCDAFU);
    CHECK(mix64(2 * kGolden64) == 0x6E789E6AA1B965F4U);
    CHECK(mix64(3 * kGolden64) == 0x06C45D188009454FU);
}

TEST_CASE("a hash is a constant expression, so it does not depend on the machine it runs on") {
    constexpr std::uint64_t kAtCompileTime =
        Hasher(1).add(std::int64_t{42}).add("text").add(1.5).value();
    CHECK(Hasher(1).add(std::int64_t{42}).add("text").add(1.5).value() == kAtCompileTime);
}

TEST_CASE("order, boundaries and seed matter") {
    CHECK(hash(1U, 2U) != hash(2U, 1U));
    CHECK(hash("ab", "c") != hash("a", "bc"));
    CHECK(hash("") != hash());
    CHECK(hash("", "") != hash(""));
    CHECK(hash("a") != hash(std::string_view("a\0", 2)));
    CHECK(Hasher(0).value() != Hasher(1).value());
    CHECK(hash(0U) != hash(0U, 0U));
}

TEST_CASE("the same number gives the same hash in each integer type that holds it") {
    CHECK(hash(std::int64_t{7}) == hash(std::uint32_t{7}));
    CHECK(hash(std::int32_t{-7}) == hash(std::int64_t{-7}));
    CHECK(hash(Duration(5)) == hash(std::int64_t{5}));
    CHECK(hash(Bytes(5)) == hash(std::int64_t{5}));
    CHECK(hash(true) == hash(std::uint64_t{1}));
}

TEST_CASE("doubles are hashed by value: zeros agree, NaNs agree, neighbours differ") {
    CHECK(hash(0.0) == hash(-0.0));
    CHECK(hash(std::numeric_limits<double>::quiet_NaN()) == hash(-std::nan("1")));
    CHECK(hash(1.0) != hash(std::nextafter(1.0, 2.0)));
}
