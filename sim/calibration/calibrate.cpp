#include "sim/calibration/calibrate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/analyze/least_squares.h"
#include "sim/analyze/parallel_for.h"
#include "sim/analyze/uncertainty.h"
#include "sim/calibration/hold_out.h"
#include "sim/calibration/parts.h"
#include "sim/io/load.h"

namespace memwall {
namespace {

// Rows are never better than this, however well the law fits them: what is told only by less is not told.
constexpr double kNoise = 0.01;
// A constant that is known to less than a factor of two is not known.
const double kWidest = std::log(2.0);
// How far from its start a constant may go. One that gets there is not held by the rows.
constexpr double kReach = 1000;
constexpr double kFelt = 0.01;  // d ln t / d ln constant

// Values that files state are short: four digits, inside any interval that rows can give.
double rounded(double value) {
    const std::string text = fmt::format("{:.3e}", value);
    double out = value;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

FitError error_of(const std::vector<double>& ratios) {
    FitError error;
    error.rows = ratios.size();
    if (ratios.empty()) {
        return error;
    }
    std::vector<double> sizes;
    for (const double ratio : ratios) {
        sizes.push_back(std::abs(ratio - 1));
        error.mean += sizes.back() / static_cast<double>(ratios.size());
    }
    std::sort(sizes.begin(), sizes.end());
    const std::size_t n = sizes.size();
    error.median = (sizes[(n - 1) / 2] + sizes[n / 2]) / 2;
    return error;
}

// "gemm.bf16" of gemm.bf16.burst, "nccl" of nccl.ring.
std::string head_of(std::string_view path) {
    return std::string(path.substr(0, path.rfind('.')));
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

bool rests(const LeastSquaresProblem& problem,
           const LeastSquaresSolution& solution,
           std::size_t p) {
    return solution.x[p] <= problem.least[p] || solution.x[p] >= problem.most[p];
}

std::size_t rows_felt(const LeastSquaresSolution& solution, std::size_t p, std::size_t constants) {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < solution.residuals.size(); ++i) {
        rows += std::abs(solution.jacobian[i * constants + p]) > kFelt ? 1U : 0U;
    }
    return rows;
}

std::string while_others(const std::string& reason) {
    return "with what the others became, " + reason;
}

class Calibrator {
  public:
    Calibrator(Experiment& experiment, const CalibrateOptions& options, unsigned threads)
        : experiment_(experiment), options_(options), threads_(threads) {
        for (const std::size_t c : experiment_.chosen) {
            const Constant& constant = experiment_.constants[c];
            const double start = constant.value();
            reach_.start.push_back(start);
            reach_.least.push_back(std::max(constant.least, start / kReach));
            reach_.most.push_back(std::min(constant.most, start * kReach));
        }
        values_ = reach_.start;
    }

    std::vector<Part> parts() { return parts_of(experiment_, reach_, threads_); }

    [[nodiscard]] const Constant& constant(std::size_t c) const {
        return experiment_.constants[experiment_.chosen[c]];
    }

    FittedConstant unfitted(std::size_t c, std::string reason) const {
        FittedConstant out;
        out.path = constant(c).path;
        out.reason = std::move(reason);
        out.value_before = out.value = reach_.start[c];
        out.before = out.after = constant(c).text();
        return out;
    }

    [[nodiscard]] std::string nobody_feels(std::size_t c) const {
        const std::string_view told = told_by(constant(c).path);
        return told.empty() ? "no row depends on it"
                            : fmt::format("no row depends on it; it takes {}", told);
    }

    // After the fits, of the constants chosen.
    [[nodiscard]] const std::vector<double>& values() const { return values_; }

    FittedPart fit(const Part& part) {
        const std::vector<std::size_t> aside =
            draw_held_out(part.rows, experiment_.rows, options_.hold_out, options_.seed);
        std::vector<std::size_t> fitted;
        std::set_difference(part.rows.begin(),
                            part.rows.end(),
                            aside.begin(),
                            aside.end(),
                            std::back_inserter(fitted));
        FittedPart out;
        std::set<std::string> heads;
        for (const std::size_t c : part.constants) {
            heads.insert(head_of(constant(c).path));
            out.constants.push_back(unfitted(c, ""));
        }
        out.name = joined({heads.begin(), heads.end()});
        out.fitted_before = error_of(ratios(fitted, reach_.start));
        out.held_out_before = error_of(ratios(aside, reach_.start));
        const std::vector<double> values = solve(part, fitted, out);
        for (const std::size_t c : part.constants) {
            values_[c] = values[c];
        }
        out.fitted_after = error_of(ratios(fitted, values));
        out.held_out_after = error_of(ratios(aside, values));
        return out;
    }

  private:
    [[nodiscard]] std::vector<double> ratios(const std::vector<std::size_t>& rows,
                                             const std::vector<double>& values) {
        std::vector<double> out(rows.size());
        parallel_for(rows.size(), threads_, [&](std::size_t i, unsigned worker) {
            out[i] =
                experiment_.seconds(rows[i], values, worker) / experiment_.rows[rows[i]].time_s;
        });
        return out;
    }

    // Fits, takes out what is not told, fits again. All values, and the answers into `out`.
    std::vector<double> solve(const Part& part,
                              const std::vector<std::size_t>& rows,
                              FittedPart& out) {
        const std::size_t n = part.constants.size();
        LeastSquaresProblem problem = problem_of(part, rows, out.name);
        std::vector<double> values = reach_.start;
        for (;;) {
            if (rows.empty() ||
                std::all_of(problem.held.begin(), problem.held.end(), [](bool h) { return h; })) {
                break;
            }
            const LeastSquaresSolution solution = minimise(problem);
            std::vector<Standing> standing(n, Standing::Free);
            for (std::size_t p = 0; p < n; ++p) {
                if (problem.held[p]) {
                    standing[p] = Standing::Held;
                } else if (rests(problem, solution, p)) {
                    standing[p] = Standing::Known;
                }
            }
            const Uncertainty told = uncertainty_of(solution, standing, {kNoise, kWidest / 2});
            if (const std::size_t bad = untold(part, problem, solution, told, out); bad < n) {
                problem.held[bad] = true;
                problem.start = solution.x;
                problem.start[bad] = std::log(reach_.start[part.constants[bad]]);
                continue;
            }
            for (std::size_t p = 0; p < n; ++p) {
                if (!problem.held[p]) {
                    values[part.constants[p]] =
                        answer(part, p, solution, told, standing[p], out.constants[p]);
                }
            }
            break;
        }
        return values;
    }

    LeastSquaresProblem problem_of(const Part& part,
                                   const std::vector<std::size_t>& rows,
                                   const std::string& name) {
        LeastSquaresProblem problem;
        problem.rows = rows.size();
        problem.threads = threads_;
        problem.scan = !experiment_.costly;
        problem.central = !experiment_.costly;
        for (const std::size_t c : part.constants) {
            problem.start.push_back(std::log(reach_.start[c]));
            problem.least.push_back(std::log(reach_.least[c]));
            problem.most.push_back(std::log(reach_.most[c]));
            problem.held.push_back(false);
        }
        problem.residual = [this, &part, rows](
                               std::size_t i, std::span<const double> x, unsigned worker) {
            std::vector<double> values = reach_.start;
            for (std::size_t p = 0; p < x.size(); ++p) {
                values[part.constants[p]] = std::exp(x[p]);
            }
            return std::log(experiment_.seconds(rows[i], values, worker) /
                            experiment_.rows[rows[i]].time_s);
        };
        if (options_.progress) {
            problem.progress = [this, name](int steps, double median) {
                options_.progress(name, steps, median);
            };
        }
        return problem;
    }

    // The constant that the rows tell least, with the reason written down; beyond the end when all are told.
    std::size_t untold(const Part& part,
                       const LeastSquaresProblem& problem,
                       const LeastSquaresSolution& solution,
                       const Uncertainty& told,
                       FittedPart& out) const {
        const std::size_t n = part.constants.size();
        for (std::size_t p = 0; p < n; ++p) {
            const std::size_t c = part.constants[p];
            const bool ran_low =
                solution.x[p] <= problem.least[p] && reach_.least[c] > constant(c).least;
            const bool ran_high =
                solution.x[p] >= problem.most[p] && reach_.most[c] < constant(c).most;
            if (!problem.held[p] && (ran_low || ran_high)) {
                out.constants[p].reason = fmt::format("the rows ask for {} of it, without end",
                                                      ran_low ? "ever less" : "ever more");
                return p;
            }
        }
        for (std::size_t p = 0; p < n; ++p) {
            if (!problem.held[p] && rests(problem, solution, p) && rows_felt(solution, p, n) == 0) {
                out.constants[p].reason = while_others(nobody_feels(part.constants[p]));
                return p;
            }
        }
        const std::size_t worst = told.worst;
        const double reach = student_95(told.freedom) * told.at_noise[worst];
        if (problem.held[worst] || reach <= kWidest) {
            return untold_beside_held(problem, told, out);
        }
        FittedConstant& constant = out.constants[worst];
        if (std::isinf(told.at_noise[worst])) {
            constant.reason = while_others(nobody_feels(part.constants[worst]));
        } else if (told.partners.empty()) {
            constant.reason =
                fmt::format("the rows hardly depend on it (95 %: a factor of {:.3g} either way)",
                            std::exp(std::min(reach, 20.0)));
        } else {
            std::vector<std::string> others;
            for (const std::size_t p : told.partners) {
                others.push_back(out.constants[p].path);
            }
            constant.reason =
                fmt::format("the rows cannot tell it from {}: it is held while they are fitted",
                            joined(others));
        }
        if (const std::string_view takes = told_by(constant.path);
            !takes.empty() && !std::isinf(told.at_noise[worst])) {
            constant.reason += fmt::format("; it takes {}", takes);
        }
        return worst;
    }

    // Told if those held were right, which they need not be.
    std::size_t untold_beside_held(const LeastSquaresProblem& problem,
                                   const Uncertainty& told,
                                   FittedPart& out) const {
        const auto widest =
            std::max_element(told.standard_error.begin(), told.standard_error.end());
        if (student_95(told.freedom) * *widest <= kWidest) {
            return told.standard_error.size();
        }
        std::vector<std::string> held;
        for (std::size_t p = 0; p < problem.held.size(); ++p) {
            if (problem.held[p]) {
                held.push_back(out.constants[p].path);
            }
        }
        const auto at = static_cast<std::size_t>(widest - told.standard_error.begin());
        out.constants[at].reason =
            fmt::format("the rows tell it only if they told {} as well", joined(held));
        return at;
    }

    double answer(const Part& part,
                  std::size_t p,
                  const LeastSquaresSolution& solution,
                  const Uncertainty& told,
                  Standing standing,
                  FittedConstant& out) const {
        const bool resting = standing == Standing::Known;
        const Constant& c = constant(part.constants[p]);
        const double exact = std::exp(solution.x[p]);
        const double reach = student_95(told.freedom) * told.standard_error[p];
        const double bound = exact >= std::sqrt(c.least * c.most) ? c.most : c.least;
        const double value = resting ? bound : std::clamp(rounded(exact), c.least, c.most);
        out.fitted = true;
        out.value = value;
        out.after = c.text(value);
        out.at_bound = resting;
        if (!resting) {
            out.low = rounded(exact * std::exp(-reach));
            out.high = rounded(exact * std::exp(reach));
            out.low_text = c.text(out.low);
            out.high_text = c.text(out.high);
        }
        out.rows_felt = rows_felt(solution, p, part.constants.size());
        return value;
    }

    Experiment& experiment_;
    const CalibrateOptions& options_;
    unsigned threads_;
    Reach reach_;  // of the constants chosen
    std::vector<double> values_;
};

// What a GPU is fitted for when nothing is asked: one entry for each head that the file has constants under.
std::vector<std::string> everything(const std::string& reference,
                                    const CalibrateOptions& options,
                                    Files& files) {
    DataSource data(files, options.data_roots);
    Diagnostics ignored;
    std::optional<Gpu> gpu = load_gpu(reference, data, ignored);
    std::set<std::string> heads;
    if (gpu) {
        for (const Constant& c : constants_of(*gpu)) {
            const std::string head = head_of(c.path);
            // What all cards of a class share is fitted on demand only.
            if (head != "gemm_tiling" && head != "gemm_roles" && c.value() > 0) {
                heads.insert(head);
            }
        }
    }
    return {heads.begin(), heads.end()};
}

std::string why_nothing(const Calibration& calibration) {
    std::string text = fmt::format("none of {} rows says anything about these constants of {}",
                                   calibration.rows,
                                   calibration.name);
    for (const auto& [reason, rows] : calibration.left_out) {
        text += fmt::format("; {} rows left out: {}", rows, reason);
    }
    return text;
}

}  // namespace

std::optional<Calibration> calibrate(const std::vector<Table>& tables,
                                     const CalibrateOptions& options,
                                     Files& files,
                                     Diagnostics& diagnostics) {
    const unsigned threads = options.threads == 0 ? hardware_threads() : options.threads;
    const bool of_gpu = options.kind == DataKind::Gpu;
    const ExperimentRequest request{
        options.reference,
        options.fit.empty() ? everything(options.reference, options, files) : options.fit,
        tables,
        options.data_roots,
        threads};
    const std::unique_ptr<Experiment> experiment =
        of_gpu ? gpu_experiment(request, files, diagnostics)
               : stack_experiment(request, files, diagnostics);
    if (experiment == nullptr) {
        return std::nullopt;
    }
    Calibration out;
    out.kind = options.kind;
    out.name = experiment->name;
    out.left_out = experiment->left_out;
    out.assumed = experiment->assumed;
    out.hold_out = options.hold_out;
    out.seed = options.seed;
    for (const Table& table : tables) {
        out.rows += table.rows.size();
    }
    Calibrator calibrator(*experiment, options, threads);
    std::set<std::size_t> in_parts;
    std::size_t used = 0;
    for (const Part& part : calibrator.parts()) {
        in_parts.insert(part.constants.begin(), part.constants.end());
        used += part.rows.size();
        out.parts.push_back(calibrator.fit(part));
        std::set<std::string> names;
        for (const std::size_t row : part.rows) {
            names.insert(tables[experiment->rows[row].table].name);
        }
        out.parts.back().tables.assign(names.begin(), names.end());
    }
    for (std::size_t c = 0; !options.fit.empty() && c < experiment->chosen.size(); ++c) {
        if (!in_parts.contains(c)) {
            out.untold.push_back(calibrator.unfitted(c, calibrator.nobody_feels(c)));
        }
    }
    if (used < experiment->rows.size()) {
        out.left_out["of none of these constants"] += experiment->rows.size() - used;
    }
    out.rates = experiment->rates_with(calibrator.values());
    if (out.parts.empty()) {
        out.no_answer = why_nothing(out);
    }
    return out;
}

}  // namespace memwall
