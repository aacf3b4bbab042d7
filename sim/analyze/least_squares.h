#pragma once
// Robust non-linear least squares, for fitting constants to measurements.
//   minimise  F(x) = sum_i 2 s^2 (sqrt(1 + (r_i/s)^2) - 1)       soft L1: quadratic below s, linear above, so that an
//                                                                outlier pulls as strongly as a row at s, not more
//   s = 1.48 median |r_i| at the last minimum, until it settles  (the standard deviation, were r normal)
//   step: (J'WJ + l diag(J'WJ)) d = -J'W r,  w_i = 1 / sqrt(1 + (r_i/s)^2)      Levenberg-Marquardt, J numeric
// Constants that press against a bound rest there for a step. Laws made of max() and min() have valleys apart: with
// `scan`, each constant is also tried at multiples of its value, and the descent goes on from a better place.
// Source: Marquardt, SIAM J. Appl. Math. 11 (1963); soft L1: Triggs et al., "Bundle Adjustment" (2000), section 3.2.
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace memwall {

struct LeastSquaresProblem {
    std::size_t rows = 0;
    // Per constant: start and bounds, in the coordinates of the fit (logarithms of positive constants).
    std::vector<double> start;
    std::vector<double> least;
    std::vector<double> most;
    std::vector<bool> held;  // keeps its start
    // r_i(x). Called from several threads, each with its own worker number.
    std::function<double(std::size_t row, std::span<const double> x, unsigned worker)> residual;
    unsigned threads = 0;  // 0 = as many as the machine has
    bool scan = false;
    bool central = true;  // differences on both sides; else one, at half the cost
    // After each step that was taken.
    std::function<void(int steps, double median_residual)> progress;
};

struct LeastSquaresSolution {
    std::vector<double> x;
    std::vector<double> residuals;
    std::vector<double> jacobian;  // rows x constants, row by row
    double scale = 0;              // s
    int steps = 0;
};

[[nodiscard]] LeastSquaresSolution minimise(const LeastSquaresProblem& problem);

}  // namespace memwall
