// Kernels and collectives of one GPU.
#include <algorithm>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "sim/calibration/experiment.h"
#include "sim/calibration/family.h"
#include "sim/collectives/transfer.h"
#include "sim/hardware/kernel_time.h"
#include "sim/io/load.h"
#include "sim/validation/collective_row.h"
#include "sim/validation/kernel_row.h"
#include "sim/validation/words.h"

namespace memwall {
namespace {

// Products with a narrower side run other kernels, which the law leaves aside.
constexpr std::int64_t kNarrow = 128;

struct CollectiveOnMachine {
    std::size_t machine = 0;
    GroupShape shape;
    CollectiveCall call;
};

class GpuExperiment : public Experiment {
  public:
    GpuExperiment(const ExperimentRequest& request, Files& files, Diagnostics& diagnostics)
        : request_(request), data_(files, request.data_roots), diagnostics_(diagnostics) {}

    bool prepare() {
        const std::size_t before = diagnostics_.errors();
        const std::optional<Gpu> gpu = load_gpu(request_.reference, data_, diagnostics_);
        if (!gpu) {
            return false;
        }
        gpu_ = *gpu;
        name = gpu_.name;
        family_ = family_of(DataKind::Gpu, request_.reference, data_, diagnostics_);
        constants = constants_of(gpu_);
        chosen = select_constants(constants, request_.fit, diagnostics_);
        for (std::size_t t = 0; t < request_.tables.size(); ++t) {
            add_table(t);
        }
        if (diagnostics_.errors() != before) {
            return false;
        }
        workers_.resize(std::max(1U, request_.threads));
        for (Worker& worker : workers_) {
            worker.gpu = gpu_;
            worker.machines = machines_;
            const std::vector<Constant> all = constants_of(worker.gpu);
            for (const std::size_t c : chosen) {
                worker.constants.push_back(all[c]);
            }
        }
        return true;
    }

    double seconds(std::size_t row, std::span<const double> values, unsigned number) override {
        Worker& worker = workers_[number];
        for (std::size_t c = 0; c < values.size(); ++c) {
            worker.constants[c].set(values[c]);
        }
        if (const auto* kernel = std::get_if<KernelCase>(&cases_[row])) {
            return to_seconds(
                kernel_time_explained(worker.gpu, kernel->kernel, kernel->conditions).duration);
        }
        const auto& collective = std::get<CollectiveOnMachine>(cases_[row]);
        Machine& machine = worker.machines[collective.machine];
        machine.cluster.node.gpu.nccl = worker.gpu.nccl;
        return to_seconds(collective_time(machine, collective.shape, collective.call)->alone);
    }

  private:
    struct Worker {
        Gpu gpu;
        std::vector<Constant> constants;
        std::vector<Machine> machines;
    };

    void leave_out(std::string reason) { ++left_out[std::move(reason)]; }

    void add_table(std::size_t t) {
        const Table& table = request_.tables[t];
        switch (table.kind) {
        case RowKind::Gemm:
        case RowKind::Attention:
        case RowKind::Collective:
            break;
        case RowKind::Training:
            left_out["a training step: fit a stack to it (--stack)"] += table.rows.size();
            return;
        case RowKind::Unknown:
            left_out[fmt::format("{}: columns of no known kind", table.name)] += table.rows.size();
            return;
        }
        const Table named = with_gpu(table);
        for (std::size_t r = 0; r < named.rows.size(); ++r) {
            add_row(t, r, Row(named, r));
        }
    }

    // What the row mappers know this GPU as: its own name, else that of the nearest base that they know.
    [[nodiscard]] std::string known_as() const {
        const auto found = std::find_if(family_.begin(), family_.end(), [](const std::string& n) {
            return known_gpu(n).has_value();
        });
        return found == family_.end() ? std::string() : *found;
    }

    // True when the cell means the GPU that is fitted. Tables of one's own machine name none.
    [[nodiscard]] bool is_ours(std::string_view cell) const {
        const auto known = known_gpu(cell);
        return cell.empty() || std::any_of(family_.begin(), family_.end(), [&](const auto& n) {
                   return plain_word(n) == plain_word(cell) || (known && known->file == n);
               });
    }

    // The rows with our GPU's name where they mean it, and `not ours` otherwise.
    [[nodiscard]] Table with_gpu(const Table& table) const {
        Table out = table;
        std::size_t column = 0;
        for (; column < out.columns.size() && out.columns[column] != "gpu"; ++column) {
        }
        if (column == out.columns.size()) {
            out.columns.emplace_back("gpu");
            for (auto& cells : out.rows) {
                cells.emplace_back();
            }
        }
        const std::string ours = known_as();
        for (auto& cells : out.rows) {
            cells[column] = is_ours(cells[column]) ? ours : std::string(kOther);
        }
        return out;
    }

    void add_row(std::size_t t, std::size_t r, const Row& row) {
        if (row.text("gpu") == kOther) {
            leave_out("another GPU");
            return;
        }
        if (!check_time(t, r, row, "time_us") || !check_time(t, r, row, "time_ms")) {
            return;
        }
        const std::size_t before = rows.size();
        if (row.table().kind == RowKind::Collective) {
            add_collective(row);
        } else {
            add_kernel(row);
        }
        if (rows.size() > before) {
            rows.back().table = t;
            rows.back().row = r;
        }
    }

    // A time that is there must be a positive number.
    bool check_time(std::size_t t, std::size_t r, const Row& row, std::string_view column) {
        const auto time = row.number(column);
        if (!row.has(column) || (time && *time > 0)) {
            return true;
        }
        const Place place{request_.tables[t].name, static_cast<int>(r) + 2, 1};
        diagnostics_.error("E0602",
                           place,
                           fmt::format("{} '{}' is not a positive time", column, row.text(column)));
        return false;
    }

    void add_kernel(const Row& row) {
        tl::expected<KernelCase, NotMapped> mapped = kernel_case(row);
        if (!mapped) {
            return leave_out(mapped.error().reason);
        }
        if (const auto* gemm = std::get_if<Gemm>(&mapped->kernel);
            gemm != nullptr && (gemm->n < kNarrow || gemm->k < kNarrow)) {
            return leave_out("a matrix narrower than 128: other kernels");
        }
        if (std::string missing = unsupported(gpu_, mapped->kernel); !missing.empty()) {
            return leave_out(std::move(missing));
        }
        for (const std::string& assumption : mapped->assumptions) {
            ++assumed[assumption];
        }
        rows.push_back({0, 0, mapped->time_s});
        cases_.emplace_back(std::move(*mapped));
    }

    void add_collective(const Row& row) {
        tl::expected<CollectiveCase, NotMapped> mapped = collective_case(row);
        if (!mapped) {
            return leave_out(mapped.error().reason);
        }
        if (mapped->nodes > 1) {
            return leave_out("a collective across nodes: constants of the fabric, not of the GPU");
        }
        if (mentions(row.text("dtype"), "int8") || mentions(row.text("notes"), "int8")) {
            return leave_out("8-bit integers: NCCL treats them apart");
        }
        const auto [found, fresh] = machine_of_.try_emplace(mapped->scenario, machines_.size());
        if (fresh && !add_machine(mapped->scenario, row)) {
            machine_of_.erase(found);
            return;
        }
        const std::size_t m = found->second;
        const Fabric fabric(machines_[m]);
        CollectiveOnMachine on{m, shape_of(fabric, mapped->members()), mapped->call};
        if (const auto time = collective_time(machines_[m], on.shape, on.call); !time) {
            return leave_out(time.error());
        }
        if (row.has("device")) {
            ++assumed[fmt::format(
                "GPUs that call themselves '{}' are {}", row.text("device"), name)];
        }
        rows.push_back({0, 0, mapped->time_s});
        cases_.emplace_back(on);
    }

    bool add_machine(const std::string& scenario, const Row& row) {
        Diagnostics diagnostics;
        const auto loaded = load_scenario_text(row.id(), scenario, {}, data_, diagnostics);
        if (!loaded) {
            leave_out(diagnostics.sorted().front().text);
            return false;
        }
        machines_.push_back(loaded->plan.machine);
        machines_.back().cluster.node.gpu = gpu_;
        return true;
    }

    static constexpr std::string_view kOther = "another";

    const ExperimentRequest& request_;
    DataSource data_;
    Diagnostics& diagnostics_;
    Gpu gpu_;
    std::vector<std::string> family_;
    std::vector<std::variant<KernelCase, CollectiveOnMachine>> cases_;
    std::vector<Machine> machines_;
    std::map<std::string, std::size_t> machine_of_;  // by scenario
    std::vector<Worker> workers_;
};

}  // namespace

std::unique_ptr<Experiment> gpu_experiment(const ExperimentRequest& request,
                                           Files& files,
                                           Diagnostics& diagnostics) {
    auto experiment = std::make_unique<GpuExperiment>(request, files, diagnostics);
    return experiment->prepare() ? std::move(experiment) : nullptr;
}

}  // namespace memwall
