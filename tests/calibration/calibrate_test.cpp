// Fits of a GPU: what made the rows is found, what the rows do not tell is named, held-out rows stay out.
#include "sim/calibration/calibrate.h"

#include <array>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/calibration/hold_out.h"
#include "synthetic.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

struct Truth {
    const char* path;
    double value;
};
// Of true_gpu().
constexpr std::array kGemm = {Truth{"gemm.bf16.burst", 700e12},
                              Truth{"gemm.bf16.sustained", 610e12},
                              Truth{"gemm.bf16.prologue_k", 240},
                              Truth{"gemm.bf16.memory", 2200e9},
                              Truth{"gemm.bf16.fixed", 4e6},
                              Truth{"gemm.bf16.clock_drop", 0.12}};

Table table_of(const std::string& text) {
    Diagnostics diagnostics;
    const auto table = read_table("t.csv", text, diagnostics);
    REQUIRE(table.has_value());
    return *table;
}

std::vector<std::string> errors_of(const std::vector<Table>& tables,
                                   const CalibrateOptions& options) {
    DiskFiles files;
    Diagnostics diagnostics;
    CHECK_FALSE(calibrate(tables, options, files, diagnostics).has_value());
    std::vector<std::string> errors;
    for (const Diagnostic& d : diagnostics.sorted()) {
        errors.push_back(fmt::format("{}:{}: {} [{}]", d.place.file, d.place.line, d.text, d.code));
    }
    return errors;
}

}  // namespace

TEST_CASE("the constants that made the rows are found to 1 %") {
    const Calibration c =
        calibrated({gemm_table(true_gpu())}, options_for("h100-80g-sxm", {"gemm.bf16"}));
    for (const Truth& t : kGemm) {
        CAPTURE(t.path);
        const FittedConstant& found = constant(c, t.path);
        CHECK(found.fitted);
        CHECK(found.value == doctest::Approx(t.value).epsilon(0.01));
        CHECK(found.rows_felt > 0);
    }
    REQUIRE(c.parts.size() == 1);
    CHECK(c.parts[0].name == "gemm.bf16");
    CHECK(c.parts[0].fitted_before.median > 0.1);
    CHECK(c.parts[0].fitted_after.median < 0.001);
    CHECK(c.parts[0].fitted_after.rows == 80);
    CHECK(c.parts[0].held_out_after.rows == 20);
    CHECK(c.parts[0].held_out_after.median < 0.001);
    // What all cards share is not in gemm.bf16.
    CHECK(c.parts[0].constants.size() == kGemm.size());
}

TEST_CASE("with noise the truth lies inside the stated intervals, about 95 times in 100") {
    int inside = 0;
    int all = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CalibrateOptions options = options_for("h100-80g-sxm", {"gemm.bf16"});
        options.hold_out = 0;
        const Calibration c = calibrated({gemm_table(true_gpu(), lognormal(0.01, seed))}, options);
        for (const Truth& t : kGemm) {
            const FittedConstant& found = constant(c, t.path);
            if (found.fitted && !found.at_bound) {
                ++all;
                inside += found.low <= t.value && t.value <= found.high ? 1 : 0;
            }
        }
    }
    // 180 draws at 0.95, the six of a fit not independent. Over 200 seeds: 95.1 % with noise of 0.5 %; 90.7 % with 3 %, where
    // the corners of the law (max, min over tiles) are within the noise.
    CHECK(all >= 170);
    CHECK(inside >= 0.9 * all);
}

TEST_CASE("rows that are far off do not move the constants by more than their intervals") {
    const auto noise = lognormal(0.02, 3);
    const Noise dirty = [&](std::size_t i) { return noise(i) * (i % 12 == 5 ? 4 : 1); };
    const Calibration c =
        calibrated({gemm_table(true_gpu(), dirty)}, options_for("h100-80g-sxm", {"gemm.bf16"}));
    CHECK(constant(c, "gemm.bf16.burst").value == doctest::Approx(700e12).epsilon(0.03));
    CHECK(constant(c, "gemm.bf16.memory").value == doctest::Approx(2200e9).epsilon(0.05));
    CHECK(constant(c, "gemm.bf16.fixed").value == doctest::Approx(4e6).epsilon(0.05));
}

TEST_CASE("rows that are held out have no part in the fit") {
    Table table = gemm_table(true_gpu(), lognormal(0.02, 5));
    const CalibrateOptions options = options_for("h100-80g-sxm", {"gemm.bf16"});
    const Calibration before = calibrated({table}, options);
    std::vector<std::size_t> rows;
    std::vector<Measurement> measured;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        rows.push_back(r);
        measured.push_back({0, r, 1});
    }
    const auto aside = draw_held_out(rows, measured, options.hold_out, options.seed);
    CHECK(aside.size() == 20);
    for (const std::size_t r : aside) {
        table.rows[r][5] = "12345";
    }
    const Calibration after = calibrated({table}, options);
    for (const Truth& t : kGemm) {
        CHECK(constant(after, t.path).value == constant(before, t.path).value);
    }
    CHECK(after.parts[0].fitted_after.median == before.parts[0].fitted_after.median);
    CHECK(after.parts[0].held_out_after.median > 0.5);
    CHECK(draw_held_out(rows, measured, 0.2, 2) != aside);
}

TEST_CASE("the answer is the same on any number of threads") {
    const std::vector<Table> tables = {gemm_table(true_gpu(), lognormal(0.05, 8))};
    CalibrateOptions options = options_for("h100-80g-sxm", {"gemm.bf16"});
    options.threads = 1;
    const Calibration one = calibrated(tables, options);
    options.threads = 3;
    const Calibration three = calibrated(tables, options);
    for (const Truth& t : kGemm) {
        CHECK(constant(one, t.path).value == constant(three, t.path).value);
        CHECK(constant(one, t.path).high == constant(three, t.path).high);
    }
}

TEST_CASE("constants of collectives are found from all-gathers and all-reduces") {
    const Gpu truth = true_gpu();
    const Calibration c =
        calibrated({all_gather_table(truth, {2, 4, 8}), all_reduce_table(truth, {2, 4, 8})},
                   options_for("h100-80g-sxm", {"nccl"}));
    CHECK(constant(c, "nccl.ring").value == doctest::Approx(300e9).epsilon(0.01));
    CHECK(constant(c, "nccl.base_ll").value == doctest::Approx(6e6).epsilon(0.01));
    CHECK(constant(c, "nccl.nvls").value == doctest::Approx(260e9).epsilon(0.01));
    CHECK(constant(c, "nccl.nvls_loop").value == doctest::Approx(15e6).epsilon(0.01));
    // No all-to-all, no PCIe box.
    for (const char* path : {"nccl.base_p2p", "nccl.self_copy", "nccl.cross_socket"}) {
        CAPTURE(path);
        CHECK_FALSE(constant(c, path).fitted);
        CHECK(constant(c, path).value == constant(c, path).value_before);
        CHECK(constant(c, path).reason.find("no row depends on it; it takes") == 0);
    }
}

TEST_CASE("without all-reduces over the switch, nvls keeps its value and says what it takes") {
    const Calibration c = calibrated({all_gather_table(true_gpu(), {2, 4, 8})},
                                     options_for("h100-80g-sxm", {"nccl"}));
    const FittedConstant& nvls = constant(c, "nccl.nvls");
    CHECK_FALSE(nvls.fitted);
    CHECK(nvls.after == "315GB/s");
    CHECK(nvls.reason ==
          "no row depends on it; it takes all-reduces of 64 MiB and more on three or more GPUs of "
          "an NVLink switch");
}

TEST_CASE("constants that trade off are not fitted together") {
    // One depth: the prologue is a factor on the rate, (K + K0) / P.
    const Table all = gemm_table(true_gpu());
    Table one_depth = all;
    std::erase_if(one_depth.rows, [](const std::vector<std::string>& cells) {
        return cells[3] != "2048" || cells[1] != "16384";
    });
    REQUIRE(one_depth.rows.size() == 4);
    CalibrateOptions options =
        options_for("h100-80g-sxm", {"gemm.bf16.burst", "gemm.bf16.prologue_k"});
    options.hold_out = 0;
    const Calibration c = calibrated({one_depth}, options);
    const FittedConstant& prologue = constant(c, "gemm.bf16.prologue_k");
    CHECK_FALSE(prologue.fitted);
    CHECK(prologue.after == "169.2");
    CHECK(prologue.reason.find("the rows cannot tell it from gemm.bf16.burst") == 0);
    CHECK(constant(c, "gemm.bf16.burst").fitted);
}

TEST_CASE("fewer rows than constants: what is left is told or kept, never invented") {
    Table table = gemm_table(true_gpu());
    table.rows = {table.rows[50], table.rows[51]};
    CalibrateOptions options = options_for("h100-80g-sxm", {"gemm.bf16"});
    options.hold_out = 0;
    const Calibration c = calibrated({table}, options);
    int fitted = 0;
    for (const Truth& t : kGemm) {
        const FittedConstant& found = constant(c, t.path);
        fitted += found.fitted ? 1 : 0;
        CHECK(found.fitted != !found.reason.empty());
    }
    CHECK(fitted <= 2);
}

TEST_CASE("a rate that would have to be beyond the data sheet rests at its bound") {
    Gpu truth = true_gpu();
    truth.gemm[Dtype::Bf16].memory = Bandwidth(5000e9);
    const Calibration c =
        calibrated({gemm_table(truth)}, options_for("h100-80g-sxm", {"gemm.bf16"}));
    const FittedConstant& memory = constant(c, "gemm.bf16.memory");
    CHECK(memory.fitted);
    CHECK(memory.at_bound);
    CHECK(memory.after == "3352GB/s");
}

TEST_CASE("one row tells nothing: its constants are only told together") {
    Table table = all_gather_table(true_gpu(), {4});
    table.rows = {table.rows[3]};
    CalibrateOptions options = options_for("h100-80g-sxm", {"nccl"});
    options.hold_out = 0;
    const Calibration c = calibrated({table}, options);
    REQUIRE(c.parts.size() == 1);
    for (const FittedConstant& found : c.parts[0].constants) {
        CAPTURE(found.path);
        CHECK_FALSE(found.fitted);
    }
    CHECK(constant(c, "nccl.base_ll").reason.find("the rows tell it only if they told ") == 0);
}

TEST_CASE("a table of one's own machine names no GPU") {
    Table table = gemm_table(true_gpu());
    table.columns.erase(table.columns.begin());
    for (auto& cells : table.rows) {
        cells.erase(cells.begin());
    }
    const Calibration c = calibrated({table}, options_for("h100-80g-sxm", {"gemm.bf16"}));
    CHECK(constant(c, "gemm.bf16.burst").value == doctest::Approx(700e12).epsilon(0.01));
}

TEST_CASE("rows of other GPUs, across nodes or too narrow are left out by name") {
    const Calibration c = calibrated(
        {gemm_table(true_gpu()),
         table_of("gpu,M,N,K,dtype,time_us\na100,512,512,512,bf16,9\nh100,512,64,512,bf16,9\n"),
         table_of("gpu,n_gpus,n_nodes,collective,message_bytes,time_us\n"
                  "h100,16,2,all_reduce,1048576,90\n"),
         table_of("gpu,layers,step_time_s\nh100,2,1\n")},
        options_for("h100-80g-sxm", {"gemm.bf16"}));
    CHECK(c.left_out.at("another GPU") == 1);
    CHECK(c.left_out.at("a matrix narrower than 128: other kernels") == 1);
    CHECK(c.left_out.at("a collective across nodes: constants of the fabric, not of the GPU") == 1);
    CHECK(c.left_out.at("a training step: fit a stack to it (--stack)") == 1);
    CHECK(constant(c, "gemm.bf16.burst").value == doctest::Approx(700e12).epsilon(0.01));
}

TEST_CASE("no row that says anything is no answer, not an error") {
    const Calibration c =
        calibrated({table_of("gpu,M,N,K,dtype,time_us\na100,512,512,512,bf16,9\n")},
                   options_for("h100-80g-sxm", {"gemm.bf16"}));
    CHECK(c.parts.empty());
    CHECK(c.no_answer.find("none of 1 rows says anything") == 0);
    CHECK(c.no_answer.find("another GPU") != std::string::npos);
}

TEST_CASE("without a list all is fitted that some row feels") {
    const Calibration c = calibrated({gemm_table(true_gpu())}, options_for("h100-80g-sxm", {}));
    REQUIRE(c.parts.size() == 1);
    CHECK(c.parts[0].name == "gemm.bf16");
    CHECK(c.untold.empty());
}

TEST_CASE("wrong input is refused with its place") {
    const Table gemm = gemm_table(true_gpu());
    CHECK(errors_of({gemm}, options_for("h100-80g-sxm", {"gemm.bf16", "gemm.bf16.brust"})) ==
          std::vector<std::string>{"--fit:2: no constant 'gemm.bf16.brust' to fit [E0601]"});
    CHECK(errors_of({gemm}, options_for("h100-80g-sxm", {"hbm"})) ==
          std::vector<std::string>{"--fit:1: no constant 'hbm' to fit [E0601]"});
    CHECK(errors_of({gemm}, options_for("h100-80g-sxm", {"nccl.ll_max"})) ==
          std::vector<std::string>{
              "--fit:1: 'nccl.ll_max' is not fitted: no time depends on it [E0601]"});
    CHECK(errors_of({gemm}, options_for("h100-80g-sxm", {"gemm.bf16.quantise_fixed"})) ==
          std::vector<std::string>{
              "--fit:1: 'gemm.bf16.quantise_fixed' is 0: nowhere to start from [E0601]"});
    CHECK(errors_of({gemm}, options_for("h1000", {"gemm.bf16"})).size() == 1);
    CHECK(errors_of({table_of("gpu,M,N,K,dtype,time_us\nh100,512,512,512,bf16,9\n"
                              "h100,512,512,512,bf16,0\nh100,512,512,512,bf16,-1\n"
                              "h100,512,512,512,bf16,fast\na100,512,512,512,bf16,0\n")},
                    options_for("h100-80g-sxm", {"gemm.bf16"})) ==
          std::vector<std::string>{"t.csv:3: time_us '0' is not a positive time [E0602]",
                                   "t.csv:4: time_us '-1' is not a positive time [E0602]",
                                   "t.csv:5: time_us 'fast' is not a positive time [E0602]"});
}
