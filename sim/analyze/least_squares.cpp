#include "sim/analyze/least_squares.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "sim/analyze/parallel_for.h"
#include "sim/core/check.h"

namespace memwall {
namespace {

constexpr double kScaleLeast = 1e-4;  // no measurement of time is better than this
constexpr double kDifference =
    1e-3;  // of a constant, for derivatives: far above the picosecond of a time
constexpr double kStepMost = 1.0;  // a factor e
constexpr int kStepsMost = 60;     // per descent
constexpr int kRescalings = 10;
constexpr int kScans = 4;

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double median_size(const std::vector<double>& residuals) {
    std::vector<double> sizes(residuals.size());
    std::transform(
        residuals.begin(), residuals.end(), sizes.begin(), [](double r) { return std::abs(r); });
    return median_of(std::move(sizes));
}

class Descent {
  public:
    explicit Descent(const LeastSquaresProblem& problem)
        : problem_(problem), threads_(problem.threads == 0 ? hardware_threads() : problem.threads) {
        x_ = problem.start;
        for (std::size_t p = 0; p < x_.size(); ++p) {
            x_[p] = std::clamp(x_[p], problem.least[p], problem.most[p]);
        }
        residuals_ = evaluate(x_);
    }

    LeastSquaresSolution run() {
        settle();
        for (int round = 0; problem_.scan && round < kScans && scan(); ++round) {
            settle();
        }
        return {x_, residuals_, jacobian(true), scale_, steps_};
    }

  private:
    // Descends until the scale of the residuals has settled.
    void settle() {
        for (int round = 0; round < kRescalings; ++round) {
            const double before = scale_;
            rescale();
            if (round > 0 && std::abs(scale_ - before) <= 0.01 * before) {
                return;
            }
            descend();
        }
    }

    void rescale() {
        constexpr double kNormal =
            1.4826;  // standard deviation over median size, of normal numbers
        scale_ = std::max(kScaleLeast, kNormal * median_size(residuals_));
    }

    void descend() {
        double damping = 1e-3;
        double cost = cost_of(residuals_);
        for (int step = 0; step < kStepsMost; ++step) {
            const double before = cost;
            const std::vector<double> slopes = jacobian();
            double moved = 0;
            while (damping < 1e10 && !try_step(slopes, damping, cost, moved)) {
                damping *= 4;
            }
            if (cost < before) {
                ++steps_;
                damping = std::max(damping / 5, 1e-9);
                if (problem_.progress) {
                    problem_.progress(steps_, median_size(residuals_));
                }
            }
            if (before - cost <= 1e-9 * before || moved < 1e-8) {
                return;
            }
        }
    }

    // Goes to the point that the damped equations name, if that is better.
    bool try_step(const std::vector<double>& slopes, double damping, double& cost, double& moved) {
        const std::vector<double> to = target(slopes, damping);
        std::vector<double> residuals = evaluate(to);
        const double there = cost_of(residuals);
        if (!(there < cost)) {
            return false;
        }
        moved = 0;
        for (std::size_t p = 0; p < to.size(); ++p) {
            moved = std::max(moved, std::abs(to[p] - x_[p]));
        }
        x_ = to;
        residuals_ = std::move(residuals);
        cost = there;
        return true;
    }

    [[nodiscard]] std::vector<double> target(const std::vector<double>& slopes,
                                             double damping) const {
        const auto n = static_cast<Eigen::Index>(x_.size());
        Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
        Eigen::VectorXd pull = Eigen::VectorXd::Zero(n);
        for (std::size_t i = 0; i < problem_.rows; ++i) {
            const Eigen::Map<const Eigen::VectorXd> row(&slopes[i * x_.size()], n);
            const double weight = 1 / std::hypot(1.0, residuals_[i] / scale_);
            normal.noalias() += weight * row * row.transpose();
            pull.noalias() += weight * residuals_[i] * row;
        }
        const double largest = std::max(normal.diagonal().maxCoeff(), 1e-300);
        for (Eigen::Index p = 0; p < n; ++p) {
            const auto at = static_cast<std::size_t>(p);
            const bool pressed = (x_[at] <= problem_.least[at] && pull[p] > 0) ||
                                 (x_[at] >= problem_.most[at] && pull[p] < 0);
            if (pressed) {
                normal.row(p).setZero();
                normal.col(p).setZero();
                pull[p] = 0;
            }
            normal(p, p) += damping * normal(p, p) + 1e-12 * largest;
        }
        const Eigen::VectorXd step = normal.ldlt().solve(-pull);
        std::vector<double> to = x_;
        for (std::size_t p = 0; p < to.size(); ++p) {
            const double by = std::clamp(step[static_cast<Eigen::Index>(p)], -kStepMost, kStepMost);
            to[p] = std::clamp(x_[p] + by, problem_.least[p], problem_.most[p]);
        }
        return to;
    }

    // True when some constant is better elsewhere, the others staying. One that no row feels, a limit that does not bind, is
    // tried in small steps, since it may begin to bind anywhere.
    bool scan() {
        constexpr int kCoarse = 4;
        constexpr double kCoarseStep = 0.6;
        constexpr int kFine = 46;  // together a factor of a thousand
        constexpr double kFineStep = 0.15;
        const std::vector<double> slopes = jacobian();
        bool better = false;
        for (std::size_t p = 0; p < x_.size(); ++p) {
            bool felt = false;
            for (std::size_t i = 0; i < problem_.rows; ++i) {
                felt = felt || slopes[i * x_.size() + p] != 0;
            }
            const double from = x_[p];
            for (int k = 1; !problem_.held[p] && k <= (felt ? kCoarse : kFine); ++k) {
                const double by = k * (felt ? kCoarseStep : kFineStep);
                better = try_at(p, from - by) || better;
                better = try_at(p, from + by) || better;
            }
        }
        return better;
    }

    bool try_at(std::size_t p, double value) {
        std::vector<double> to = x_;
        to[p] = std::clamp(value, problem_.least[p], problem_.most[p]);
        std::vector<double> residuals = evaluate(to);
        if (!(cost_of(residuals) < 0.999 * cost_of(residuals_))) {
            return false;
        }
        x_ = std::move(to);
        residuals_ = std::move(residuals);
        return true;
    }

    [[nodiscard]] double cost_of(const std::vector<double>& residuals) const {
        double sum = 0;
        for (const double r : residuals) {
            const double u = r / scale_;
            // 2 s^2 (sqrt(1 + u^2) - 1) without cancellation.
            sum += 2 * r * r / (1 + std::hypot(1.0, u));
        }
        return sum;
    }

    void over_rows(const std::function<void(std::size_t row, unsigned worker)>& work) const {
        const std::size_t size =
            std::max<std::size_t>(1, problem_.rows / (std::size_t{threads_} * 16));
        const std::size_t parts = (problem_.rows + size - 1) / size;
        parallel_for(parts, threads_, [&](std::size_t part, unsigned worker) {
            for (std::size_t i = part * size; i < std::min(problem_.rows, (part + 1) * size); ++i) {
                work(i, worker);
            }
        });
    }

    [[nodiscard]] std::vector<double> evaluate(const std::vector<double>& x) const {
        std::vector<double> out(problem_.rows);
        over_rows(
            [&](std::size_t i, unsigned worker) { out[i] = problem_.residual(i, x, worker); });
        return out;
    }

    // Rows of constants held are zero, unless `all`.
    [[nodiscard]] std::vector<double> jacobian(bool all = false) const {
        std::vector<double> slopes(problem_.rows * x_.size());
        over_rows([&](std::size_t i, unsigned worker) {
            std::vector<double> x = x_;
            for (std::size_t p = 0; p < x.size(); ++p) {
                if (all || !problem_.held[p]) {
                    slopes[i * x.size() + p] = slope(i, x, p, worker);
                }
            }
        });
        return slopes;
    }

    // Differences never leave the bounds.
    [[nodiscard]] double slope(std::size_t row,
                               std::vector<double>& x,
                               std::size_t p,
                               unsigned worker) const {
        const double at = x[p];
        const double above = std::min(at + kDifference, problem_.most[p]);
        const bool one_side = !problem_.central && above > at;
        const double below = one_side ? at : std::max(at - kDifference, problem_.least[p]);
        if (!(above > below)) {
            return 0;
        }
        const auto value = [&](double of) {
            if (of == at) {
                return residuals_[row];
            }
            x[p] = of;
            return problem_.residual(row, x, worker);
        };
        const double rise = value(above) - value(below);
        x[p] = at;
        return rise / (above - below);
    }

    const LeastSquaresProblem& problem_;
    unsigned threads_;
    std::vector<double> x_;
    std::vector<double> residuals_;
    double scale_ = 0;
    int steps_ = 0;
};

}  // namespace

LeastSquaresSolution minimise(const LeastSquaresProblem& problem) {
    MW_CHECK(problem.rows > 0, "a fit needs rows");
    MW_CHECK(problem.least.size() == problem.start.size(), "a bound per constant");
    MW_CHECK(problem.most.size() == problem.start.size(), "a bound per constant");
    MW_CHECK(problem.held.size() == problem.start.size(), "held or not, per constant");
    return Descent(problem).run();
}

}  // namespace memwall
