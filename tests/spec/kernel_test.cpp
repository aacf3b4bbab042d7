#include "sim/spec/kernel.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

using namespace memwall;

namespace {

Attention attention(std::int64_t queries, std::int64_t keys, bool causal, std::int64_t window) {
    Attention a;
    a.batch = 3;
    a.heads = 5;
    a.kv_heads = 1;
    a.queries = queries;
    a.keys = keys;
    a.head_dim_qk = 2;
    a.head_dim_v = 4;
    a.causal = causal;
    a.window = window;
    return a;
}

// Forward 2 (2 + 4) operations per score, 15 heads.
double scores(const Attention& a) {
    return flops_of(a).value / (15 * 12);
}

// One by one: the last query sees the last key; a window holds the query itself.
double counted(const Attention& a) {
    double sum = 0;
    for (std::int64_t q = a.keys - a.queries; q < a.keys; ++q) {
        for (std::int64_t k = 0; k < a.keys; ++k) {
            const bool masked = a.causal && k > q;
            const bool outside = a.window > 0 && std::abs(q - k) >= a.window;
            sum += masked || outside ? 0 : 1;
        }
    }
    return sum;
}

}  // namespace

TEST_CASE("a causal mask leaves half of the square") {
    CHECK(scores(attention(64, 64, false, 0)) == 64 * 64);
    CHECK(scores(attention(64, 64, true, 0)) == 64 * 64 / 2);
}

TEST_CASE("a window of w tokens leaves w s - w^2/2 of a causal square") {
    CHECK(scores(attention(64, 64, true, 16)) == 16 * 64 - 16 * 16 / 2);
    CHECK(scores(attention(64, 64, true, 64)) == 64 * 64 / 2);
    CHECK(scores(attention(64, 64, true, 1000)) == 64 * 64 / 2);
    CHECK(scores(attention(64, 64, false, 64)) == 64 * 64);
}

TEST_CASE("executed scores are those that the masks leave, but for half of each diagonal") {
    for (const bool causal : {true, false}) {
        for (const std::int64_t window : {0, 1, 7, 16, 63, 64, 100}) {
            const Attention square = attention(64, 64, causal, window);
            CAPTURE(window);
            // Each edge of the band counts half of its at most 64 scores; a band open to both sides has two.
            CHECK(std::fabs(scores(square) - counted(square)) <= 64);
        }
    }
    for (const std::int64_t window : {0, 1, 7, 16, 63, 100}) {
        const Attention chunk = attention(16, 64, true, window);
        CAPTURE(window);
        CHECK(std::fabs(scores(chunk) - counted(chunk)) <= 16);
    }
}

TEST_CASE("backward makes the scores again: 2 (3 dq + 2 dv) per score") {
    Attention a = attention(64, 64, true, 16);
    const double forward = flops_of(a).value;
    a.backward = true;
    CHECK(flops_of(a).value == forward * (3 * 2 + 2 * 4) / (2 + 4));
}
