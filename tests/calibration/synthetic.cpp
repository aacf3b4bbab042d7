#include "synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/collectives/transfer.h"
#include "sim/core/rng.h"
#include "sim/hardware/kernel_time.h"
#include "sim/io/load.h"
#include "sim/validation/collective_row.h"

namespace memwall::testing {
namespace {

Table table_of(const std::string& name, const std::string& text) {
    Diagnostics diagnostics;
    const auto table = read_table(name, text, diagnostics);
    REQUIRE(table.has_value());
    return *table;
}

Table collective_table(const Gpu& truth, const std::string& word, const std::vector<int>& gpus) {
    std::string text = "gpu,n_gpus,gpus_per_node,collective,message_bytes,time_us\n";
    std::vector<std::string> lines;
    for (const int n : gpus) {
        for (int power = 10; power <= 30; ++power) {
            lines.push_back(
                fmt::format("h100-80g-sxm,{},8,{},{}", n, word, std::int64_t{1} << power));
            text += lines.back() + ",1\n";
        }
    }
    Table table = table_of(word + ".csv", text);
    DiskFiles files;
    DataSource data(files, {MEMWALL_SOURCE_DIR});
    for (std::size_t r = 0; r < lines.size(); ++r) {
        const auto mapped = collective_case(Row(table, r));
        REQUIRE(mapped.has_value());
        Diagnostics diagnostics;
        auto loaded = load_scenario_text("row", mapped->scenario, {}, data, diagnostics);
        REQUIRE(loaded.has_value());
        loaded->plan.machine.cluster.node.gpu = truth;
        const Fabric fabric(loaded->plan.machine);
        const auto time = collective_time(
            loaded->plan.machine, shape_of(fabric, mapped->members()), mapped->call);
        REQUIRE(time.has_value());
        table.rows[r][5] = fmt::format("{}", to_seconds(time->alone) * 1e6);
    }
    return table;
}

}  // namespace

FileContent LayeredFiles::read(const std::string& path, std::size_t bytes_max) {
    FileContent content = front.read(path, bytes_max);
    return content.status == FileStatus::Missing ? disk_.read(path, bytes_max) : content;
}
std::vector<std::string> LayeredFiles::list(const std::string& directory) {
    return disk_.list(directory);
}
FileStatus LayeredFiles::status(const std::string& path) {
    const FileStatus status = front.status(path);
    return status == FileStatus::Missing ? disk_.status(path) : status;
}

Gpu true_gpu() {
    DiskFiles files;
    DataSource data(files, {MEMWALL_SOURCE_DIR});
    Diagnostics diagnostics;
    auto gpu = load_gpu("h100-80g-sxm", data, diagnostics);
    REQUIRE(gpu.has_value());
    gpu->gemm[Dtype::Bf16] = {.burst = FlopRate(700e12),
                              .sustained = FlopRate(610e12),
                              .prologue_k = 240,
                              .memory = Bandwidth(2200e9),
                              .fixed = Duration(4'000'000),
                              .clock_drop = 0.12,
                              .long_run = 1,
                              .reaction = Duration(1'000'000'000)};
    gpu->nccl.ring = Bandwidth(300e9);
    gpu->nccl.base_ll = Duration(6'000'000);
    gpu->nccl.nvls = Bandwidth(260e9);
    gpu->nccl.nvls_loop = Duration(15'000'000);
    return *gpu;
}

Table gemm_table(const Gpu& truth, const Noise& noise) {
    std::string text = "gpu,M,N,K,dtype,time_us\n";
    std::size_t row = 0;
    for (const std::int64_t m : {256, 1024, 4096, 16384, 32768}) {
        for (const std::int64_t n : {256, 1024, 4096, 16384}) {
            for (const std::int64_t k : {128, 512, 2048, 8192, 16384}) {
                Gemm gemm;
                gemm.m = m;
                gemm.n = n;
                gemm.k = k;
                gemm.dtype = Dtype::Bf16;
                gemm.output_bytes = 2;
                KernelConditions conditions;
                conditions.clock = ClockState::Burst;
                const double us =
                    to_seconds(kernel_time_explained(truth, gemm, conditions).duration) * 1e6;
                text += fmt::format(
                    "h100-80g-sxm,{},{},{},bfloat16,{}\n", m, n, k, us * (noise ? noise(row) : 1));
                ++row;
            }
        }
    }
    return table_of("gemm.csv", text);
}

Table all_gather_table(const Gpu& truth, const std::vector<int>& gpus) {
    return collective_table(truth, "all_gather", gpus);
}
Table all_reduce_table(const Gpu& truth, const std::vector<int>& gpus) {
    return collective_table(truth, "all_reduce", gpus);
}

Noise lognormal(double size, std::uint64_t seed) {
    return [=](std::size_t index) {
        const double u = 1 - draw_unit({seed, 1, index});
        const double v = draw_unit({seed, 2, index});
        return std::exp(size * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
    };
}

CalibrateOptions options_for(const std::string& gpu, std::vector<std::string> fit) {
    CalibrateOptions options;
    options.reference = gpu;
    options.fit = std::move(fit);
    options.data_roots = {MEMWALL_SOURCE_DIR};
    options.threads = 2;
    return options;
}

Calibration calibrated(const std::vector<Table>& tables, const CalibrateOptions& options) {
    DiskFiles files;
    Diagnostics diagnostics;
    const auto calibration = calibrate(tables, options, files, diagnostics);
    for (const Diagnostic& d : diagnostics.sorted()) {
        MESSAGE(d.text);
    }
    REQUIRE(calibration.has_value());
    return *calibration;
}

const FittedConstant& constant(const Calibration& calibration, const std::string& path) {
    for (const FittedPart& part : calibration.parts) {
        for (const FittedConstant& c : part.constants) {
            if (c.path == path) {
                return c;
            }
        }
    }
    const auto found = std::find_if(calibration.untold.begin(),
                                    calibration.untold.end(),
                                    [&](const FittedConstant& c) { return c.path == path; });
    REQUIRE(found != calibration.untold.end());
    return *found;
}

}  // namespace memwall::testing
