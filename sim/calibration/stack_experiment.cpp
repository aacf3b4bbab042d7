// Whole training steps of one software stack.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/calibration/experiment.h"
#include "sim/calibration/family.h"
#include "sim/core/check.h"
#include "sim/io/load.h"
#include "sim/run/simulate.h"
#include "sim/spec/supported.h"
#include "sim/validation/training_row.h"

namespace memwall {
namespace {

class StackExperiment : public Experiment {
  public:
    StackExperiment(const ExperimentRequest& request, Files& files, Diagnostics& diagnostics)
        : request_(request), data_(files, request.data_roots), diagnostics_(diagnostics) {
        costly = true;
    }

    bool prepare() {
        const std::size_t before = diagnostics_.errors();
        const std::optional<Stack> stack = load_stack(request_.reference, data_, diagnostics_);
        if (!stack) {
            return false;
        }
        stack_ = *stack;
        name = stack_.name;
        family_ = family_of(DataKind::Stack, request_.reference, data_, diagnostics_);
        constants = constants_of(stack_);
        chosen = select_constants(constants, request_.fit, diagnostics_);
        for (std::size_t t = 0; t < request_.tables.size(); ++t) {
            const Table& table = request_.tables[t];
            if (table.kind != RowKind::Training) {
                left_out["a kernel or collective: fit a GPU to it (--gpu)"] += table.rows.size();
                continue;
            }
            for (std::size_t r = 0; r < table.rows.size(); ++r) {
                add_row(t, r);
            }
        }
        return diagnostics_.errors() == before;
    }

    double seconds(std::size_t row, std::span<const double> values, unsigned /*worker*/) override {
        Plan plan = plans_[row];
        const std::vector<Constant> all = constants_of(plan.jobs.front().stack);
        for (std::size_t c = 0; c < values.size(); ++c) {
            all[chosen[c]].set(values[c]);
        }
        return step_seconds(simulate(plan));
    }

    std::vector<StackRates> rates_with(std::span<const double> values) override {
        Stack stack = stack_;
        const std::vector<Constant> all = constants_of(stack);
        for (std::size_t c = 0; c < values.size(); ++c) {
            all[chosen[c]].set(values[c]);
        }
        return stack.rates;
    }

  private:
    void leave_out(std::string reason) { ++left_out[std::move(reason)]; }

    static double step_seconds(const RunResult& result) {
        const std::size_t last = result.step_ends.size() - 1;
        const Duration step = last == 0 ? result.step_ends.front().time_since_epoch()
                                        : result.step_ends[last] - result.step_ends[last - 1];
        return to_seconds(step);
    }

    void add_row(std::size_t t, std::size_t r) {
        const Row row(request_.tables[t], r);
        constexpr std::string_view kTime = "step_time_s";
        if (const auto time = row.number(kTime); row.has(kTime) && !(time && *time > 0)) {
            const Place place{request_.tables[t].name, static_cast<int>(r) + 2, 1};
            diagnostics_.error(
                "E0602",
                place,
                fmt::format("{} '{}' is not a positive time", kTime, row.text(kTime)));
            return;
        }
        const auto mapped = training_case(row);
        if (!mapped) {
            return leave_out(mapped.error().reason);
        }
        if (std::find(family_.begin(), family_.end(), mapped->stack) == family_.end()) {
            return leave_out(fmt::format("framework of stack {}", mapped->stack));
        }
        if (!(mapped->step_time_s > 0)) {
            return leave_out("it states no step time");
        }
        Diagnostics diagnostics;
        const auto loaded = load_scenario_text(
            row.id(), mapped->scenario, {"stack=" + request_.reference}, data_, diagnostics);
        if (!loaded || !check_supported(loaded->plan, loaded->composed, diagnostics)) {
            return leave_out(diagnostics.sorted().front().text);
        }
        if (const RunResult result = simulate(loaded->plan);
            !result.refused.empty() || !result.deadlock.empty()) {
            return leave_out(result.refused.empty() ? "deadlock" : result.refused);
        }
        for (const std::string& assumption : mapped->assumptions) {
            ++assumed[assumption];
        }
        rows.push_back({t, r, mapped->step_time_s});
        plans_.push_back(loaded->plan);
    }

    const ExperimentRequest& request_;
    DataSource data_;
    Diagnostics& diagnostics_;
    Stack stack_;
    std::vector<std::string> family_;
    std::vector<Plan> plans_;
};

}  // namespace

std::unique_ptr<Experiment> stack_experiment(const ExperimentRequest& request,
                                             Files& files,
                                             Diagnostics& diagnostics) {
    auto experiment = std::make_unique<StackExperiment>(request, files, diagnostics);
    return experiment->prepare() ? std::move(experiment) : nullptr;
}

}  // namespace memwall
