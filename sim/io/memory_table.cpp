#include "sim/io/memory_table.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace memwall {
namespace {

constexpr int kNameWidth = 23;

struct Row {
    std::string_view name;
    std::function<std::int64_t(const StageMemory&)> bytes;
};

// Tensors at the instant of the allocated peak, then what comes on top of them, then what there is.
std::vector<Row> rows_of(const Metrics& m) {
    const auto of_class = [](std::size_t c) {
        return [c](const StageMemory& s) { return s.peak.composition.at(c); };
    };
    std::vector<Row> rows;
    for (std::size_t c = 0; c < static_cast<std::size_t>(kTensorClasses); ++c) {
        const bool used = std::any_of(m.stages.begin(), m.stages.end(), [&](const StageMemory& s) {
            return s.peak.composition.at(c) != 0;
        });
        if (used && is_allocated(static_cast<TensorClass>(c))) {
            rows.push_back({kTensorClassNames.at(c), of_class(c)});
        }
    }
    rows.push_back({"allocated", [](const StageMemory& s) { return s.peak.allocated; }});
    rows.push_back({"reserved", [](const StageMemory& s) { return s.peak.reserved; }});
    rows.push_back({"context", [](const StageMemory& s) { return context_bytes(s.peak); }});
    rows.push_back({"device", [](const StageMemory& s) { return s.peak.device; }});
    rows.push_back({"usable", [](const StageMemory& s) { return s.usable; }});
    rows.push_back({"margin", [](const StageMemory& s) { return s.margin; }});
    return rows;
}

// Stages first..last, which have the same figures.
struct Column {
    int first = 0;
    int last = 0;
    std::vector<std::string> cells;  // by row

    [[nodiscard]] std::string title() const {
        return first == last ? std::to_string(first) : fmt::format("{}..{}", first, last);
    }
    [[nodiscard]] std::size_t width() const {
        std::size_t most = title().size();
        for (const std::string& cell : cells) {
            most = std::max(most, cell.size());
        }
        return most + 2;
    }
};

std::vector<Column> columns_of(const Metrics& m, const std::vector<Row>& rows) {
    std::vector<Column> columns;
    for (const StageMemory& stage : m.stages) {
        std::vector<std::string> cells;
        for (const Row& row : rows) {
            cells.push_back(
                fmt::format("{:.2f}", static_cast<double>(row.bytes(stage)) / 1073741824.0));
        }
        if (!columns.empty() && columns.back().cells == cells) {
            columns.back().last = stage.stage;
        } else {
            columns.push_back({stage.stage, stage.stage, std::move(cells)});
        }
    }
    return columns;
}

// `count` of the columns, evenly spread from the first to the last, the fullest among them.
std::vector<Column> chosen(const std::vector<Column>& columns, std::size_t count, int fullest) {
    if (columns.size() <= count) {
        return columns;
    }
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < count; ++i) {
        indices.push_back(i * (columns.size() - 1) / (count - 1));
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const bool here = columns[c].first <= fullest && fullest <= columns[c].last;
        if (here && std::find(indices.begin(), indices.end(), c) == indices.end()) {
            *std::upper_bound(indices.begin() + 1, indices.end() - 2, c) = c;
        }
    }
    std::sort(indices.begin(), indices.end());
    std::vector<Column> some;
    for (const std::size_t index : indices) {
        some.push_back(columns[index]);
    }
    return some;
}

std::string block(const std::vector<Row>& rows,
                  std::span<const Column> columns,
                  std::size_t width) {
    std::string text = fmt::format("  {:<{}}", "stage", kNameWidth - 2);
    for (const Column& column : columns) {
        text += fmt::format("{:>{}}", column.title(), width);
    }
    text += "\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
        text += fmt::format("  {:<{}}", rows[r].name, kNameWidth - 2);
        for (const Column& column : columns) {
            text += fmt::format("{:>{}}", column.cells[r], width);
        }
        text += "\n";
    }
    return text;
}

}  // namespace

std::string memory_table(const Metrics& metrics, const TextStyle& style, bool all_stages) {
    const std::vector<Row> rows = rows_of(metrics);
    const std::vector<Column> all = columns_of(metrics, rows);
    std::size_t width = 0;
    for (const Column& column : all) {
        width = std::max(width, column.width());
    }
    constexpr std::size_t kLeast = 4;
    const auto room = static_cast<std::size_t>(std::max(0, style.width - kNameWidth));
    const std::size_t across = std::max(kLeast, room / width);
    const std::vector<Column> shown = all_stages ? all : chosen(all, across, metrics.fit.stage);
    std::string text;
    for (std::size_t i = 0; i < shown.size(); i += across) {
        const std::span<const Column> rest = std::span(shown).subspan(i);
        text += (i > 0 ? "\n" : "") + block(rows, rest.first(std::min(across, rest.size())), width);
    }
    if (shown.size() < all.size()) {
        text += fmt::format("  stages between these are left out; --all-stages shows all {}\n",
                            metrics.stages.size());
    }
    return text;
}

}  // namespace memwall
