#include "sim/validation/validate.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "sim/analyze/metrics.h"
#include "sim/analyze/parallel_for.h"
#include "sim/collectives/transfer.h"
#include "sim/core/rendering.h"
#include "sim/io/load.h"
#include "sim/run/simulate.h"
#include "sim/spec/supported.h"
#include "sim/validation/collective_row.h"
#include "sim/validation/kernel_row.h"
#include "sim/validation/training_row.h"

namespace memwall {
namespace {

std::string first_error(const Diagnostics& diagnostics) {
    std::string text;
    for (const Diagnostic& d : diagnostics.sorted()) {
        if (d.severity == Severity::Error) {
            text += (text.empty() ? "" : "; ") + d.text;
        }
    }
    return text;
}

class Predictor {
  public:
    Predictor(Files& files, const std::vector<std::string>& roots) : data_(files, roots) {}

    ValidatedRow predict(const Row& row) {
        ValidatedRow out;
        out.table = row.table().name;
        out.id = row.id();
        switch (row.table().kind) {
        case RowKind::Gemm:
        case RowKind::Attention:
            predict_case(kernel_case(row), out);
            break;
        case RowKind::Collective:
            predict_case(collective_case(row), out);
            break;
        case RowKind::Training:
            predict_case(training_case(row), out);
            break;
        case RowKind::Unknown:
            out.reason = "its columns are of no kind of measurement known";
            break;
        }
        return out;
    }

  private:
    template <class Case>
    void predict_case(const tl::expected<Case, NotMapped>& mapped, ValidatedRow& out) {
        if (mapped) {
            predict_mapped(*mapped, out);
        } else {
            out.status = mapped.error().not_yet ? RowStatus::NotYet : RowStatus::Unmapped;
            out.reason = mapped.error().reason;
        }
    }

    void predict_mapped(const KernelCase& c, ValidatedRow& out) {
        out.assumptions = c.assumptions;
        out.gpu = c.gpu;
        out.framework = c.group;
        out.alone = true;
        out.gpus = 1;
        out.measured_time = c.time_s;
        const Gpu* gpu = gpu_of(c.gpu, out);
        if (gpu == nullptr) {
            return;
        }
        if (std::string missing = unsupported(*gpu, c.kernel); !missing.empty()) {
            out.status = RowStatus::NotYet;
            out.reason = std::move(missing);
            return;
        }
        out.status = RowStatus::Scored;
        out.predicted_time =
            to_seconds(kernel_time_explained(*gpu, c.kernel, c.conditions).duration);
    }

    const Gpu* gpu_of(const std::string& name, ValidatedRow& out) {
        const auto [found, fresh] = gpus_.try_emplace(name);
        Diagnostics diagnostics;
        if (fresh) {
            found->second = load_gpu(name, data_, diagnostics);
        }
        if (!found->second) {
            out.status = RowStatus::Failed;
            out.reason = first_error(diagnostics);
            return nullptr;
        }
        return &*found->second;
    }

    void predict_mapped(const CollectiveCase& c, ValidatedRow& out) {
        out.assumptions = c.assumptions;
        out.gpu = c.gpu;
        out.framework = c.group;
        out.alone = true;
        out.gpus = c.gpus;
        out.measured_time = c.time_s;
        out.status = RowStatus::Failed;
        const auto [found, fresh] = machines_.try_emplace(c.scenario);
        if (fresh) {
            Diagnostics diagnostics;
            if (const auto loaded =
                    load_scenario_text(out.id, c.scenario, {}, data_, diagnostics)) {
                found->second = std::make_unique<Networked>(loaded->plan.machine);
            } else {
                out.reason = first_error(diagnostics);
            }
        }
        if (found->second == nullptr) {
            return;
        }
        const Networked& on = *found->second;
        const auto time = collective_time(on.machine, shape_of(on.fabric, c.members()), c.call);
        if (!time) {
            out.reason = time.error();
            return;
        }
        out.status = RowStatus::Scored;
        out.predicted_time = to_seconds(time->alone);
    }

    void predict_mapped(const TrainingCase& c, ValidatedRow& out) {
        out.assumptions = c.assumptions;
        out.scenario = c.scenario;
        out.gpu = c.gpu;
        out.framework = c.framework;
        out.model = c.model;
        out.gpus = c.gpus;
        out.measured_time = c.step_time_s;
        out.measured_fits = !c.out_of_memory;
        const std::vector<std::string> stacks = data_.names(DataKind::Stack);
        if (std::find(stacks.begin(), stacks.end(), c.stack) == stacks.end()) {
            out.status = RowStatus::NotYet;
            out.reason = "no stack file yet for " + c.framework;
            return;
        }
        run(c, out);
    }

    void run(const TrainingCase& c, ValidatedRow& out) {
        out.status = RowStatus::Failed;
        Diagnostics diagnostics;
        const auto loaded = load_scenario_text(out.id, c.scenario, {}, data_, diagnostics);
        if (!loaded || !check_supported(loaded->plan, loaded->composed, diagnostics)) {
            out.reason = first_error(diagnostics);
            return;
        }
        SimulationParts parts;
        const RunResult result = simulate(loaded->plan, {}, &parts);
        if (!result.refused.empty() || !result.deadlock.empty()) {
            out.reason = result.refused.empty() ? "deadlock" : result.refused;
            return;
        }
        const Fabric fabric(loaded->plan.machine);
        const Metrics metrics =
            measure({loaded->plan, parts.traces.front(), parts.programs.front(), fabric, result});
        for (const SelfCheck& check : metrics.checks) {
            if (!check.holds) {
                out.reason = "self-check: " + check.what + ": " + check.detail;
                return;
            }
        }
        out.status = RowStatus::Scored;
        out.predicted_time = to_seconds(metrics.step_time);
        out.predicted_fits = metrics.fit.fits;
        score_memory(c, metrics, out);
    }

    static void score_memory(const TrainingCase& c, const Metrics& metrics, ValidatedRow& out) {
        if (c.memory == MemoryFigure::None) {
            return;
        }
        out.measured_memory = c.peak_bytes;
        out.memory_figure = c.memory == MemoryFigure::Allocated  ? "allocated"
                            : c.memory == MemoryFigure::Reserved ? "reserved"
                                                                 : "device";
        out.predicted_memory =
            static_cast<double>(c.memory == MemoryFigure::Allocated  ? metrics.peak_memory_bytes
                                : c.memory == MemoryFigure::Reserved ? metrics.peak_reserved_bytes
                                                                     : metrics.peak_device_bytes);
    }

    struct Networked {
        explicit Networked(const Machine& of) : machine(of), fabric(machine) {}
        Machine machine;
        Fabric fabric;
    };

    DataSource data_;
    std::map<std::string, std::optional<Gpu>> gpus_;              // by file
    std::map<std::string, std::unique_ptr<Networked>> machines_;  // by scenario
};

}  // namespace

std::vector<ValidatedRow> validate(const std::vector<Table>& tables,
                                   Files& files,
                                   const ValidateOptions& options) {
    std::vector<Row> rows;
    for (const Table& table : tables) {
        for (std::size_t r = 0; r < table.rows.size(); ++r) {
            rows.emplace_back(table, r);
        }
    }
    const unsigned threads = options.threads == 0 ? hardware_threads() : options.threads;
    std::vector<std::unique_ptr<Predictor>> predictors;
    for (unsigned t = 0; t < threads; ++t) {
        predictors.push_back(std::make_unique<Predictor>(files, options.data_roots));
    }
    std::vector<ValidatedRow> out(rows.size());
    const auto predict = [&](std::size_t i, unsigned worker) {
        out[i] = predictors[worker]->predict(rows[i]);
    };
    const auto finished = [&](std::size_t done) { options.progress(done, rows.size()); };
    if (options.progress) {
        parallel_for(rows.size(), threads, predict, finished);
    } else {
        parallel_for(rows.size(), threads, predict);
    }
    return out;
}

}  // namespace memwall
