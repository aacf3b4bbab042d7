// Robust least squares on problems whose answer is known.
#include "sim/analyze/least_squares.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <doctest/doctest.h>

#include "sim/analyze/uncertainty.h"
#include "sim/core/rng.h"

using namespace memwall;

namespace {

double normal(std::uint64_t seed, std::uint64_t index) {
    const double u = 1 - draw_unit({seed, 1, index});
    const double v = draw_unit({seed, 2, index});
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// ln of exp(x0) + exp(x1) t against y: a fixed part and a rate.
struct Affine {
    std::vector<double> t;
    std::vector<double> y;

    [[nodiscard]] LeastSquaresProblem problem(std::vector<double> start) const {
        LeastSquaresProblem p;
        p.rows = t.size();
        p.start = std::move(start);
        p.least.assign(p.start.size(), -20);
        p.most.assign(p.start.size(), 20);
        p.held.assign(p.start.size(), false);
        p.threads = 1;
        p.residual = [this](std::size_t i, std::span<const double> x, unsigned) {
            return std::log((std::exp(x[0]) + std::exp(x[1]) * t[i]) / y[i]);
        };
        return p;
    }
};

// Fixed part 5, rate 2; noise: of ln y.
Affine affine(std::size_t rows, double noise, std::uint64_t seed) {
    Affine a;
    for (std::size_t i = 0; i < rows; ++i) {
        a.t.push_back(std::pow(10.0, 3.0 * static_cast<double>(i) / static_cast<double>(rows)));
        a.y.push_back((5 + 2 * a.t.back()) * std::exp(noise * normal(seed, i)));
    }
    return a;
}

}  // namespace

TEST_CASE("constants that made the rows are found from far away") {
    const Affine a = affine(60, 0, 1);
    const LeastSquaresSolution s = minimise(a.problem({-4, 6}));
    CHECK(std::exp(s.x[0]) == doctest::Approx(5).epsilon(1e-5));
    CHECK(std::exp(s.x[1]) == doctest::Approx(2).epsilon(1e-5));
}

TEST_CASE(
    "one row in eight that is ten times off does not move the answer by more than the noise") {
    Affine a = affine(80, 0.02, 3);
    const LeastSquaresSolution clean = minimise(a.problem({0, 0}));
    for (std::size_t i = 0; i < a.y.size(); i += 8) {
        a.y[i] *= 10;
    }
    const LeastSquaresSolution dirty = minimise(a.problem({0, 0}));
    CHECK(std::abs(dirty.x[0] - clean.x[0]) < 0.05);
    CHECK(std::abs(dirty.x[1] - clean.x[1]) < 0.02);
}

TEST_CASE("a 95 % interval holds the truth about 95 times in 100") {
    int inside = 0;
    constexpr int kSeeds = 300;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Affine a = affine(40, 0.05, seed);
        const LeastSquaresSolution s = minimise(a.problem({1, 1}));
        const Uncertainty u = uncertainty_of(s, {Standing::Free, Standing::Free}, {});
        inside += std::abs(s.x[0] - std::log(5)) <= student_95(u.freedom) * u.standard_error[0];
        inside += std::abs(s.x[1] - std::log(2)) <= student_95(u.freedom) * u.standard_error[1];
    }
    // 600 draws at 0.95: standard deviation 0.9 points.
    CHECK(inside > 0.92 * 2 * kSeeds);
    CHECK(inside < 0.98 * 2 * kSeeds);
}

TEST_CASE("a constant stays inside its bounds and rests there") {
    const Affine a = affine(60, 0, 1);
    LeastSquaresProblem p = a.problem({0, 0});
    p.most[1] = std::log(1.5);
    const LeastSquaresSolution s = minimise(p);
    CHECK(s.x[1] == std::log(1.5));
    CHECK(std::exp(s.x[0]) > 5);
}

TEST_CASE("a constant that is held keeps its start") {
    const Affine a = affine(60, 0, 1);
    LeastSquaresProblem p = a.problem({std::log(4.0), 0});
    p.held[0] = true;
    const LeastSquaresSolution s = minimise(p);
    CHECK(s.x[0] == std::log(4.0));
    CHECK(uncertainty_of(s, {Standing::Held, Standing::Free}, {0.01, 0}).standard_error[0] == 0);
}

TEST_CASE(
    "doubt about a constant that is held is in what trades off against it, and in nothing else") {
    // Only x1 + x2 is told: with x2 known to 0.3, x1 is known to sqrt(0.3^2 + its own share).
    LeastSquaresProblem p = affine(30, 0, 1).problem({0, 0, 0});
    const Affine a = affine(30, 0.01, 2);
    p.held[2] = true;
    p.residual = [&a](std::size_t i, std::span<const double> x, unsigned) {
        return std::log((std::exp(x[0]) + std::exp(x[1] + x[2]) * a.t[i]) / a.y[i]);
    };
    const LeastSquaresSolution s = minimise(p);
    const std::vector<Standing> standing = {Standing::Free, Standing::Free, Standing::Held};
    const Uncertainty sure = uncertainty_of(s, standing, {0, 0});
    const Uncertainty doubted = uncertainty_of(s, standing, {0, 0.3});
    CHECK(sure.standard_error[1] < 0.01);
    CHECK(doubted.standard_error[1] ==
          doctest::Approx(std::hypot(0.3, sure.standard_error[1])).epsilon(1e-3));
    CHECK(doubted.standard_error[0] == doctest::Approx(sure.standard_error[0]).epsilon(1e-3));
}

TEST_CASE("two constants that only act together are told as such") {
    LeastSquaresProblem p = affine(30, 0, 1).problem({0, 0, 0});
    const Affine a = affine(30, 0.01, 2);
    p.residual = [&a](std::size_t i, std::span<const double> x, unsigned) {
        return std::log((std::exp(x[0]) + std::exp(x[1] + x[2]) * a.t[i]) / a.y[i]);
    };
    const Uncertainty u =
        uncertainty_of(minimise(p), {Standing::Free, Standing::Free, Standing::Free}, {0.01, 0});
    CHECK(u.worst >= 1);
    REQUIRE(u.partners.size() == 1);
    CHECK(u.partners[0] == 3 - u.worst);
    CHECK(u.at_noise[u.worst] > 100);
    CHECK(u.at_noise[0] < 0.1);
}

TEST_CASE("a constant that no row feels has no standard error") {
    LeastSquaresProblem p = affine(30, 0, 1).problem({0, 0, 0});
    const Affine a = affine(30, 0.01, 2);
    p.residual = [&a](std::size_t i, std::span<const double> x, unsigned) {
        return std::log((std::exp(x[0]) + std::exp(x[1]) * a.t[i]) / a.y[i]);
    };
    const Uncertainty u =
        uncertainty_of(minimise(p), {Standing::Free, Standing::Free, Standing::Free}, {0.01, 0});
    CHECK(u.worst == 2);
    CHECK(std::isinf(u.standard_error[2]));
    CHECK(u.standard_error[0] < 0.1);
}

TEST_CASE("a limit that does not bind at the start is found by the scan") {
    // min(exp(x0) t, exp(x1)): the cap is 100; at 20,000 no row feels it.
    const std::vector<double> t = {1, 3, 10, 30, 100, 300, 1000};
    LeastSquaresProblem p;
    p.rows = t.size();
    p.start = {0, std::log(2e4)};
    p.least = {-20, -20};
    p.most = {20, 20};
    p.held = {false, false};
    p.threads = 1;
    p.scan = true;
    p.residual = [&t](std::size_t i, std::span<const double> x, unsigned) {
        return std::log(std::min(std::exp(x[0]) * t[i], std::exp(x[1])) /
                        std::min(2 * t[i], 100.0));
    };
    const LeastSquaresSolution s = minimise(p);
    CHECK(std::exp(s.x[0]) == doctest::Approx(2).epsilon(1e-4));
    CHECK(std::exp(s.x[1]) == doctest::Approx(100).epsilon(1e-4));
}

TEST_CASE("the answer is the same bits on any number of threads") {
    const Affine a = affine(200, 0.05, 7);
    LeastSquaresProblem p = a.problem({0, 0});
    p.scan = true;
    const LeastSquaresSolution one = minimise(p);
    for (const unsigned threads : {2U, 5U}) {
        p.threads = threads;
        const LeastSquaresSolution many = minimise(p);
        CHECK(many.x == one.x);
        CHECK(many.jacobian == one.jacobian);
    }
}

TEST_CASE("Student's t at 95 % is that of the tables") {
    CHECK(student_95(1) == doctest::Approx(12.706).epsilon(1e-3));
    CHECK(student_95(3) == doctest::Approx(3.182).epsilon(0.01));
    CHECK(student_95(10) == doctest::Approx(2.228).epsilon(1e-3));
    CHECK(student_95(1000) == doctest::Approx(1.962).epsilon(1e-3));
}
