// The file that a calibration writes is a GPU file with the fitted constants and their sources.
#include "sim/calibration/overlay.h"

#include <doctest/doctest.h>

#include "sim/io/load.h"
#include "synthetic.h"

using namespace memwall;
using namespace memwall::testing;

TEST_CASE("the file is read back as the constants that were fitted, to the bit") {
    const Calibration c = calibrated(
        {gemm_table(true_gpu(), lognormal(0.02, 1)), all_gather_table(true_gpu(), {2, 4, 8})},
        options_for("h100-80g-sxm", {"gemm.bf16", "nccl"}));
    LayeredFiles files;
    files.front.texts["mine/my-h100.yaml"] = overlay_yaml(c, {"my-h100", "h100-80g-sxm"});
    DataSource data(files, {MEMWALL_SOURCE_DIR});
    Diagnostics diagnostics;
    auto gpu = load_gpu("mine/my-h100.yaml", data, diagnostics);
    REQUIRE(gpu.has_value());
    CHECK(gpu->name == "my-h100");
    for (const Constant& read : constants_of(*gpu)) {
        if (read.path.starts_with("gemm.bf16.burst") || read.path == "nccl.ring" ||
            read.path == "nccl.nvls") {
            CAPTURE(read.path);
            CHECK(read.value() == constant(c, read.path).value);
        }
    }
    // The same errors when the file is the start of another fit.
    CalibrateOptions again = options_for("mine/my-h100.yaml", {"gemm.bf16"});
    const auto second =
        calibrate({gemm_table(true_gpu(), lognormal(0.02, 1))}, again, files, diagnostics);
    REQUIRE(second.has_value());
    CHECK(second->parts[0].fitted_before.median == c.parts[0].fitted_after.median);
    CHECK(second->parts[0].held_out_before.mean == c.parts[0].held_out_after.mean);
}

TEST_CASE(
    "each constant has its rows, residuals and interval beside it, and what is kept its reason") {
    const Calibration c = calibrated(
        {gemm_table(true_gpu(), lognormal(0.02, 1)), all_gather_table(true_gpu(), {2, 4, 8})},
        options_for("h100-80g-sxm", {"gemm.bf16", "nccl"}));
    LayeredFiles files;
    const std::string text = overlay_yaml(c, {"my-h100", "h100-80g-sxm"});
    files.front.texts["my-h100.yaml"] = text;
    DataSource data(files, {MEMWALL_SOURCE_DIR});
    Diagnostics diagnostics;
    const auto composed = load_document(DataKind::Gpu, "./my-h100.yaml", data, diagnostics);
    REQUIRE(composed.has_value());
    const Provenance provenance = collect_sources(*composed);
    const std::string burst(provenance.find("gemm.bf16.burst"));
    CHECK(burst.find("fitted to gemm.csv: 80 rows, ") == 0);
    CHECK(burst.find("; residual median ") != std::string::npos);
    CHECK(burst.find("; 20 rows held out: median ") != std::string::npos);
    CHECK(burst.find("; 95 % interval ") != std::string::npos);
    // A constant that was not fitted keeps the base's source.
    CHECK(std::string(provenance.find("gemm.bf16.reaction")).find("1 ms for every GPU") == 0);
    CHECK(text.find("# nccl.nvls keeps 315GB/s: no row depends on it") != std::string::npos);
    CHECK(text.find("\n  nvls:") == std::string::npos);
}
