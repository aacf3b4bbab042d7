#include "sim/analyze/beyond_peak.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

std::vector<Diagnostic> warnings(double mfu, double hfu, double executed, AttentionFlops counted) {
    Plan plan;
    plan.jobs.emplace_back().attention_flops = counted;
    Metrics metrics;
    metrics.mfu = mfu;
    metrics.hfu = hfu;
    metrics.hfu_executed = executed;
    metrics.peak = FlopRate(312e12);
    Diagnostics diagnostics;
    warn_beyond_peak(plan, metrics, DocNode{}, diagnostics);
    return diagnostics.sorted();
}

}  // namespace

TEST_CASE("figures within the peak rate are not warned of") {
    CHECK(warnings(0.5, 0.6, 0.4, AttentionFlops::Full).empty());
    CHECK(warnings(1, 1, 1, AttentionFlops::Causal).empty());
}

TEST_CASE("kernels above the peak rate are warned of, whatever the convention counts") {
    for (const AttentionFlops counted : {AttentionFlops::Full, AttentionFlops::Causal}) {
        const std::vector<Diagnostic> found = warnings(0.9, 1.1, 1.13, counted);
        REQUIRE(found.size() == 1);
        CHECK(found[0].code == "W0408");
        CHECK(found[0].severity == Severity::Warning);
        CHECK(found[0].text == "kernels execute 113 % of the peak of 312 TFLOP/s");
    }
}

TEST_CASE("an MFU above 100 % of kernels within the peak is told what counts too much") {
    const std::vector<Diagnostic> full = warnings(1.2, 1.5, 0.8, AttentionFlops::Full);
    REQUIRE(full.size() == 1);
    CHECK(full[0].text == "MFU 120 %, HFU 150 %, while kernels execute 80 % of the peak");
    CHECK(full[0].hint.find("attention_flops: causal") != std::string::npos);
    const std::vector<Diagnostic> causal = warnings(1.2, 1.5, 0.8, AttentionFlops::Causal);
    REQUIRE(causal.size() == 1);
    CHECK(causal[0].hint.find("matmul_parameters") != std::string::npos);
}
