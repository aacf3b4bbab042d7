#include "sim/spec/precision.h"

#include <cmath>

#include <doctest/doctest.h>

using namespace memwall;

namespace {

double total(const Precision& p) {
    return p.weight_bytes + p.gradient_bytes + p.master_bytes + p.moment_bytes;
}

}  // namespace

TEST_CASE("model states per parameter: 16 bytes mixed, 18 with fp32 gradients, 16 in fp32") {
    CHECK(total(*find_precision("fp16_mixed")) == 16);
    CHECK(total(*find_precision("bf16_mixed")) == 16);
    CHECK(total(*find_precision("bf16_mixed_fp32_gradients")) == 18);
    CHECK(total(*find_precision("bf16_params_fp32_states")) == 16);
    CHECK(total(*find_precision("fp32")) == 16);
}

TEST_CASE("ZeRO of Llama-3 8B over 8 ranks: 119.66, 41.13, 28.05, 14.96 GiB") {
    const Precision p = *find_precision("bf16_mixed");
    const double parameters = 8'030'261'248.0;
    const double gib = 1024.0 * 1024 * 1024;
    const double states = p.master_bytes + p.moment_bytes;
    const auto rounded = [&](double bytes) {
        return std::round(bytes * parameters / gib * 100) / 100;
    };
    CHECK(rounded(total(p)) == 119.66);
    CHECK(rounded(p.weight_bytes + p.gradient_bytes + states / 8) == 41.13);
    CHECK(rounded(p.weight_bytes + (p.gradient_bytes + states) / 8) == 28.05);
    CHECK(rounded(total(p) / 8) == 14.96);
}

TEST_CASE("an unknown policy is none") {
    CHECK_FALSE(find_precision("bf17").has_value());
    CHECK_FALSE(find_precision("").has_value());
}
