#include "sim/analyze/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

namespace memwall {
namespace {

constexpr double kVarianceLeast = 1e-8;  // a fit through all its rows still leaves 0.01 % of doubt

// K of the header.
double variance_factor(const LeastSquaresSolution& s, std::size_t freedom) {
    double squares = 0;
    double slopes = 0;
    for (const double r : s.residuals) {
        const double u = std::hypot(1.0, r / s.scale);
        squares += r * r / (u * u);
        slopes += 1 / (u * u * u);
    }
    const double mean_slope = slopes / static_cast<double>(s.residuals.size());
    return squares / static_cast<double>(freedom) / (mean_slope * mean_slope);
}

Eigen::MatrixXd normal_matrix(const LeastSquaresSolution& s) {
    const auto n = static_cast<Eigen::Index>(s.x.size());
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
    for (std::size_t i = 0; i < s.residuals.size(); ++i) {
        const Eigen::Map<const Eigen::VectorXd> row(&s.jacobian[i * s.x.size()], n);
        normal.noalias() += row * row.transpose();
    }
    return normal;
}

// Of the constants that are free and felt, with the doubt about those that are held.
void add_standard_errors(const Eigen::MatrixXd& normal,
                         const std::vector<Standing>& standing,
                         const Doubt& doubt,
                         double factor,
                         Uncertainty& out) {
    std::vector<Eigen::Index> open;
    for (std::size_t p = 0; p < standing.size(); ++p) {
        const auto at = static_cast<Eigen::Index>(p);
        const bool doubted = standing[p] == Standing::Held && doubt.held > 0;
        if (normal(at, at) > 0 && (standing[p] == Standing::Free || doubted)) {
            open.push_back(at);
        }
    }
    // In units in which the diagonal is one.
    Eigen::MatrixXd information = normal(open, open) / std::max(factor, kVarianceLeast);
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (standing[static_cast<std::size_t>(open[i])] == Standing::Held) {
            const auto at = static_cast<Eigen::Index>(i);
            information(at, at) += 1 / (doubt.held * doubt.held);
        }
    }
    const Eigen::VectorXd scale = information.diagonal().cwiseSqrt().cwiseInverse();
    const Eigen::MatrixXd covariance =
        (scale.asDiagonal() * information * scale.asDiagonal())
            .ldlt()
            .solve(Eigen::MatrixXd::Identity(information.rows(), information.cols()));
    for (std::size_t i = 0; i < open.size(); ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        const auto p = static_cast<std::size_t>(open[i]);
        if (standing[p] == Standing::Free) {
            out.standard_error[p] = scale[at] * std::sqrt(std::max(0.0, covariance(at, at)));
        }
    }
}

}  // namespace

Uncertainty uncertainty_of(const LeastSquaresSolution& solution,
                           const std::vector<Standing>& standing,
                           const Doubt& doubt) {
    const std::size_t all = solution.x.size();
    const std::size_t rows = solution.residuals.size();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Uncertainty out;
    out.standard_error.assign(all, 0);
    out.at_noise.assign(all, 0);
    const Eigen::MatrixXd normal = normal_matrix(solution);
    std::vector<Eigen::Index> free;  // and felt
    bool unfelt = false;
    for (std::size_t p = 0; p < all; ++p) {
        const auto at = static_cast<Eigen::Index>(p);
        if (standing[p] == Standing::Free && normal(at, at) > 0) {
            free.push_back(at);
        } else if (standing[p] == Standing::Free) {
            out.standard_error[p] = out.at_noise[p] = kInfinity;
            out.worst = p;
            unfelt = true;
        }
    }
    out.freedom = rows > free.size() ? rows - free.size() : 0;
    if (free.empty()) {
        return out;
    }
    const double factor = variance_factor(solution, std::max<std::size_t>(1, out.freedom));
    // J'J with unit columns: its small eigenvalues are directions that the rows do not tell apart.
    const Eigen::VectorXd sizes = normal(free, free).diagonal().cwiseSqrt();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts(
        sizes.cwiseInverse().asDiagonal() * normal(free, free) * sizes.cwiseInverse().asDiagonal());
    constexpr double kSingular = 1e-13;
    const Eigen::ArrayXd values = parts.eigenvalues().array().max(kSingular);
    const auto shares = [&](Eigen::Index p) -> Eigen::ArrayXd {
        return parts.eigenvectors().row(p).transpose().array().square() / values;
    };
    const double noise = std::sqrt(std::max(factor, doubt.noise * doubt.noise));
    const auto count = static_cast<Eigen::Index>(free.size());
    Eigen::Index worst = 0;
    for (Eigen::Index p = 0; p < count; ++p) {
        const auto at = static_cast<std::size_t>(free[static_cast<std::size_t>(p)]);
        out.at_noise[at] = noise * std::sqrt(shares(p).sum()) / sizes[p];
        const auto before = static_cast<std::size_t>(free[static_cast<std::size_t>(worst)]);
        worst = out.at_noise[at] > out.at_noise[before] ? p : worst;
    }
    add_standard_errors(normal, standing, doubt, factor, out);
    if (unfelt) {
        return out;
    }
    out.worst = static_cast<std::size_t>(free[static_cast<std::size_t>(worst)]);
    Eigen::Index direction = 0;
    shares(worst).maxCoeff(&direction);
    const Eigen::VectorXd part = parts.eigenvectors().col(direction).cwiseAbs();
    for (Eigen::Index p = 0; p < count; ++p) {
        constexpr double kLarge = 0.35;
        if (p != worst && part[p] >= kLarge * part.maxCoeff()) {
            out.partners.push_back(static_cast<std::size_t>(free[static_cast<std::size_t>(p)]));
        }
    }
    return out;
}

double student_95(std::size_t freedom) {
    // Exact for one and two; the Cornish-Fisher expansion (Abramowitz & Stegun 26.7.5) from there, to 1 % at three.
    constexpr double kNormal = 1.959964;
    if (freedom <= 2) {
        return freedom == 2 ? 4.302653 : 12.706205;
    }
    const double n = static_cast<double>(freedom);
    const double z = kNormal;
    const double z3 = z * z * z;
    const double z5 = z3 * z * z;
    const double z7 = z5 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

}  // namespace memwall
