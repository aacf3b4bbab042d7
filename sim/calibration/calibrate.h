#pragma once
// Fits constants of a GPU or a stack to measurements: the residual of a row is ln(predicted / measured).
//   1. Rows and constants that hang together form a part; each part is fitted alone.
//   2. A share of a part's rows, drawn by the seed, is held out: never fitted, only predicted at the end.
//   3. Robust least squares over the logarithms of the constants (sim/analyze/least_squares.h).
//   4. What the rows cannot tell is not fitted: a constant whose 95 % interval would reach beyond a factor of two, were
//      rows to scatter by 1 % at the least, keeps its value; then the rest is fitted again, until all are told. That the value
//      kept may be wrong, by a factor of two with 95 %, is in the intervals of what trades off against it.
// The intervals count rows as independent, the law as true and as straight within them: they say how well the rows fix a
// constant, not how well the law holds. That is what the held-out error is for. On rows that the law made, with 3 % of noise
// on 100 products, the truth is inside 91 times in 100 (tests/calibration).
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/calibration/experiment.h"
#include "sim/spec/compose.h"

namespace memwall {

struct CalibrateOptions {
    DataKind kind = DataKind::Gpu;  // or Stack
    std::string reference;          // a name or a path
    // Key paths or their heads; empty: of a GPU all that some row feels.
    std::vector<std::string> fit;
    double hold_out = 0.2;
    std::uint64_t seed = 1;
    std::vector<std::string> data_roots;
    unsigned threads = 0;  // 0 = as many as the machine has
    std::function<void(const std::string& part, int steps, double median_error)> progress;
};

// |predicted / measured - 1|
struct FitError {
    std::size_t rows = 0;
    double median = 0;
    double mean = 0;
};

struct FittedConstant {
    std::string path;
    bool fitted = false;
    std::string reason;  // why it keeps its value
    bool at_bound = false;
    double value_before = 0;  // units as in Constant
    double value = 0;
    double low = 0;  // 95 % interval; 0, 0 where there is none
    double high = 0;
    // The same as a file says them.
    std::string before;
    std::string after;
    std::string low_text;
    std::string high_text;
    std::size_t rows_felt =
        0;  // fitted rows that change by more than 0.01 % when it changes by 1 %
};

struct FittedPart {
    std::string name;  // the heads of its constants: "gemm.bf16"
    std::vector<FittedConstant> constants;
    std::vector<std::string> tables;
    FitError fitted_before;
    FitError fitted_after;
    FitError held_out_before;
    FitError held_out_after;
};

struct Calibration {
    DataKind kind = DataKind::Gpu;
    std::string name;  // of the GPU or stack
    std::vector<FittedPart> parts;
    std::vector<FittedConstant> untold;  // asked for, and no row feels them
    std::vector<StackRates> rates;       // of a stack, as they are after the fit
    std::map<std::string, std::size_t> left_out;
    std::map<std::string, std::size_t> assumed;
    std::size_t rows = 0;   // of all tables
    std::string no_answer;  // not empty: nothing was fitted, and why
    double hold_out = 0;
    std::uint64_t seed = 0;
};

// nullopt after an error: wrong input.
[[nodiscard]] std::optional<Calibration> calibrate(const std::vector<Table>& tables,
                                                   const CalibrateOptions& options,
                                                   Files& files,
                                                   Diagnostics& diagnostics);

}  // namespace memwall
