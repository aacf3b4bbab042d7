#include "tests/accuracy/published.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/analyze/metrics.h"
#include "sim/core/rendering.h"
#include "sim/io/load.h"
#include "sim/io/report.h"
#include "sim/run/simulate.h"

namespace memwall {
namespace {

std::vector<Comparison> comparisons_of(const std::string& path, DataSource& data) {
    Diagnostics diagnostics;
    const auto loaded = load_scenario(path, {}, data, diagnostics);
    if (!loaded) {
        throw std::runtime_error(render(diagnostics, nullptr));
    }
    SimulationParts parts;
    const RunResult result = simulate(loaded->plan, {}, &parts);
    const Fabric fabric(loaded->plan.machine);
    const Metrics metrics =
        measure({loaded->plan, parts.traces.front(), parts.programs.front(), fabric, result});
    for (const SelfCheck& check : metrics.checks) {
        if (!check.holds) {
            throw std::runtime_error(path + ": " + check.what + ": " + check.detail);
        }
    }
    return compare_with_published(loaded->plan, metrics);
}

// Seconds to 4 digits, bytes as GiB.
std::string figure_text(const std::string& figure, double value) {
    return figure.ends_with("_bytes") ? fmt::format("{:.2f} GiB", value / 1073741824.0)
                                      : fmt::format("{:.4g} s", value);
}

}  // namespace

std::vector<PublishedRow> predict_published(const std::string& folder,
                                            const std::string& data_root) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".yaml") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    DiskFiles disk;
    DataSource data(disk, {data_root});
    std::vector<PublishedRow> rows;
    for (const auto& file : files) {
        for (const Comparison& c : comparisons_of(file.string(), data)) {
            // The TFLOP/s of a row are its step time once more.
            if (c.same_configuration && !c.figure.starts_with("tflops")) {
                rows.push_back({file.stem().string(), c.figure, c.published, c.predicted});
            }
        }
    }
    return rows;
}

ErrorSummary summarise_errors(const std::vector<PublishedRow>& rows, const std::string& figure) {
    ErrorSummary s;
    for (const PublishedRow& row : rows) {
        if (row.figure == figure) {
            ++s.rows;
            s.mape += std::fabs(row.error());
            s.bias += row.error();
            s.worst = std::max(s.worst, std::fabs(row.error()));
        }
    }
    if (s.rows > 0) {
        s.mape /= s.rows;
        s.bias /= s.rows;
    }
    return s;
}

std::string published_table(const std::vector<PublishedRow>& rows) {
    std::string text =
        "| scenario | figure | published | predicted | error |\n|---|---|---|---|---|\n";
    std::vector<std::string> figures;
    for (const PublishedRow& row : rows) {
        text += fmt::format("| {} | {} | {} | {} | {:+.1f} % |\n",
                            row.scenario,
                            row.figure,
                            figure_text(row.figure, row.published),
                            figure_text(row.figure, row.predicted),
                            100 * row.error());
        if (std::find(figures.begin(), figures.end(), row.figure) == figures.end()) {
            figures.push_back(row.figure);
        }
    }
    for (const std::string& figure : figures) {
        const ErrorSummary s = summarise_errors(rows, figure);
        text += fmt::format("\n{}: {} rows, MAPE {:.2f} %, worst {:.1f} %, bias {:+.2f} %\n",
                            figure,
                            s.rows,
                            100 * s.mape,
                            100 * s.worst,
                            100 * s.bias);
    }
    return text;
}

}  // namespace memwall
