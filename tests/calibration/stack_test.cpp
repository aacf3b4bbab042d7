// Fits of a stack to whole training steps.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/calibration/calibrate.h"
#include "sim/calibration/overlay.h"
#include "sim/io/load.h"
#include "sim/run/simulate.h"
#include "sim/validation/training_row.h"
#include "synthetic.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

// Steps of megatron-lm-2021 as if it launched a kernel in 30 us and kept 0.8 of the rate of products.
Table steps() {
    std::string text =
        "id,framework,gpu,n_gpus,gpus_per_node,layers,hidden,heads,vocab,seq_len,gated_mlp,"
        "precision,"
        "tp,pp,dp,micro_batch,global_batch,step_time_s\n";
    for (const int hidden : {512, 2048, 4096}) {
        for (const int micro : {1, 2, 4}) {
            text += fmt::format(
                "h{}m{},megatron-lm,a100-80g-sxm,1,8,2,{},16,51200,1024,0,fp16,1,1,1,{},{},1\n",
                hidden,
                micro,
                hidden,
                micro,
                4 * micro);
        }
    }
    Diagnostics diagnostics;
    auto table = read_table("steps.csv", text, diagnostics);
    REQUIRE(table.has_value());
    DiskFiles files;
    DataSource data(files, {MEMWALL_SOURCE_DIR});
    for (std::size_t r = 0; r < table->rows.size(); ++r) {
        const auto mapped = training_case(Row(*table, r));
        REQUIRE(mapped.has_value());
        auto loaded = load_scenario_text("row", mapped->scenario, {}, data, diagnostics);
        REQUIRE(loaded.has_value());
        Stack& stack = loaded->plan.jobs.front().stack;
        stack.host.kernel_launch = Duration(30'000'000);
        REQUIRE(stack.rates.size() == 1);
        stack.rates.front().gemm = 0.8;
        const RunResult result = simulate(loaded->plan);
        table->rows[r].back() =
            fmt::format("{}", to_seconds(result.step_ends[1] - result.step_ends[0]));
    }
    return *table;
}

CalibrateOptions stack_options(std::vector<std::string> fit) {
    CalibrateOptions options = options_for("megatron-lm-2021", std::move(fit));
    options.kind = DataKind::Stack;
    options.hold_out = 0;
    return options;
}

}  // namespace

TEST_CASE("launch time and kept rate are found from whole steps") {
    const Calibration c =
        calibrated({steps()}, stack_options({"host.kernel_launch", "rates.gemm"}));
    CHECK(constant(c, "host.kernel_launch").value == doctest::Approx(30e6).epsilon(0.01));
    CHECK(constant(c, "rates.sm80.gemm").value == doctest::Approx(0.8).epsilon(0.01));

    // The list of rates is written in full, so that the file says what was fitted.
    LayeredFiles files;
    files.front.texts["mine.yaml"] = overlay_yaml(c, {"mine", "megatron-lm-2021"});
    DataSource data(files, {MEMWALL_SOURCE_DIR});
    Diagnostics diagnostics;
    const auto base = load_stack("megatron-lm-2021", data, diagnostics);
    const auto mine = load_stack("./mine.yaml", data, diagnostics);
    REQUIRE(mine.has_value());
    REQUIRE(mine->rates.size() == base->rates.size());
    CHECK(mine->rates.front().gemm == constant(c, "rates.sm80.gemm").value);
    CHECK(mine->rates.front().architecture == "sm80");
    CHECK(mine->rates.front().memory == base->rates.front().memory);
    CHECK(mine->rates.front().batched_unaligned == base->rates.front().batched_unaligned);
    CHECK(mine->host.step == base->host.step);
}

TEST_CASE("rows of other frameworks and kernels are left out by name") {
    Table table = steps();
    table.rows[0][1] = "torchtitan";
    const Calibration c =
        calibrated({table, gemm_table(true_gpu())}, stack_options({"host.kernel_launch"}));
    CHECK(c.left_out.at("framework of stack torchtitan-2025") == 1);
    CHECK(c.left_out.at("a kernel or collective: fit a GPU to it (--gpu)") == 100);
    CHECK(c.parts.at(0).fitted_after.rows == 8);
}

TEST_CASE("a stack that is not there, a constant that is not there, a time below zero") {
    const auto code = [](const Table& table, const CalibrateOptions& options) {
        DiskFiles files;
        Diagnostics diagnostics;
        CHECK_FALSE(calibrate({table}, options, files, diagnostics).has_value());
        return diagnostics.sorted().front().code;
    };
    Table table = steps();
    CHECK(code(table, stack_options({"host.launch"})) == "E0601");
    CalibrateOptions options = stack_options({"host.kernel_launch"});
    options.reference = "megatron-lm-1999";
    CHECK(code(table, options) == "E0113");
    table.rows[3].back() = "-1";
    CHECK(code(table, stack_options({"host.kernel_launch"})) == "E0602");
}
