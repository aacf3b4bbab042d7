#include "sim/validation/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <csv.h>
#include <fmt/format.h>

namespace memwall {
namespace {

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

struct Lines {
    std::vector<std::vector<std::string>> all;
    std::vector<std::string> cells;
};

bool parse_lines(std::string_view text, Lines& lines, std::string& error) {
    csv_parser parser{};
    csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI);
    const auto on_cell = [](void* cell, std::size_t size, void* to) {
        static_cast<Lines*>(to)->cells.emplace_back(
            trimmed({static_cast<const char*>(cell), size}));
    };
    const auto on_line = [](int, void* to) {
        auto* all = static_cast<Lines*>(to);
        all->all.push_back(std::move(all->cells));
        all->cells.clear();
    };
    const bool good =
        csv_parse(&parser, text.data(), text.size(), on_cell, on_line, &lines) == text.size() &&
        csv_fini(&parser, on_cell, on_line, &lines) == 0;
    if (!good) {
        error = csv_strerror(csv_error(&parser));
    }
    csv_free(&parser);
    return good;
}

RowKind kind_of(const std::vector<std::string>& columns) {
    const auto has = [&](std::string_view name) {
        return std::find(columns.begin(), columns.end(), name) != columns.end();
    };
    if (has("collective") || (has("message_bytes") && has("time_us"))) {
        return RowKind::Collective;
    }
    if (has("M") && has("N") && has("K")) {
        return RowKind::Gemm;
    }
    if ((has("q_seqlen") || has("seq_len")) && has("batch") && !has("layers")) {
        return RowKind::Attention;
    }
    if (has("step_time_s") || has("derived_step_time_s") || has("tokens_per_s_per_gpu") ||
        has("forward_ms")) {
        return RowKind::Training;
    }
    return RowKind::Unknown;
}

}  // namespace

std::string_view Row::text(std::string_view column) const {
    const auto found = std::find(table_->columns.begin(), table_->columns.end(), column);
    if (found == table_->columns.end()) {
        return {};
    }
    return table_->rows[index_][static_cast<std::size_t>(found - table_->columns.begin())];
}

std::optional<double> Row::number(std::string_view column) const {
    const std::string_view cell = text(column);
    double value = 0;
    const auto [end, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (failed != std::errc() || end != cell.data() + cell.size() || cell.empty() ||
        !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::optional<int> Row::whole(std::string_view column) const {
    const auto value = number(column);
    if (!value || *value != std::floor(*value) || std::abs(*value) > 1e9) {
        return std::nullopt;
    }
    return static_cast<int>(*value);
}

std::string Row::id() const {
    const std::string_view given = text("id");
    return given.empty() ? fmt::format("row {}", index_ + 1) : std::string(given);
}

std::optional<Table> read_table(const std::string& name,
                                std::string_view text,
                                Diagnostics& diagnostics) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) {
        text.remove_prefix(kByteOrderMark.size());
    }
    const std::size_t before = diagnostics.errors();
    const Place start{name, 1, 1};
    Lines lines;
    std::string error;
    if (!parse_lines(text, lines, error)) {
        const Place at{name, static_cast<int>(lines.all.size()) + 1, 1};
        diagnostics.error("E0701", at, fmt::format("not readable as CSV: {}", error)).hint =
            "quote cells that hold commas, double the quotes inside them";
        return std::nullopt;
    }
    if (lines.all.size() < 2) {
        diagnostics.error("E0702", start, "a table needs a header line and at least one row");
        return std::nullopt;
    }
    Table table;
    table.name = name;
    table.columns = lines.all.front();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const std::string& column = table.columns[c];
        if (std::find(table.columns.begin(),
                      table.columns.begin() + static_cast<std::ptrdiff_t>(c),
                      column) != table.columns.begin() + static_cast<std::ptrdiff_t>(c)) {
            diagnostics.error("E0703", start, fmt::format("column '{}' stands twice", column));
        }
    }
    for (std::size_t r = 1; r < lines.all.size(); ++r) {
        if (lines.all[r].size() != table.columns.size()) {
            diagnostics.error("E0704",
                              Place{name, static_cast<int>(r) + 1, 1},
                              fmt::format("row {} has {} cells, the header {}",
                                          r,
                                          lines.all[r].size(),
                                          table.columns.size()));
        } else {
            table.rows.push_back(std::move(lines.all[r]));
        }
    }
    table.kind = kind_of(table.columns);
    if (diagnostics.errors() != before) {
        return std::nullopt;
    }
    return table;
}

}  // namespace memwall
