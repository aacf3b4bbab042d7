#pragma once
// A table of measurements: CSV with a header line, columns by name. RFC 4180: quoted cells may hold commas and quotes.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"

namespace memwall {

enum class RowKind { Training, Gemm, Attention, Collective, Unknown };

struct Table {
    std::string name;                 // as given: a path
    RowKind kind = RowKind::Unknown;  // by its columns
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;  // as many cells as columns
};

// One line of a table. Cells are trimmed; a missing column reads as an empty cell.
class Row {
  public:
    Row(const Table& table, std::size_t index) : table_(&table), index_(index) {}
    [[nodiscard]] std::string_view text(std::string_view column) const;
    [[nodiscard]] bool has(std::string_view column) const { return !text(column).empty(); }
    // nullopt when empty or not a number.
    [[nodiscard]] std::optional<double> number(std::string_view column) const;
    [[nodiscard]] std::optional<int> whole(std::string_view column) const;
    // The id column, or "row N".
    [[nodiscard]] std::string id() const;
    [[nodiscard]] const Table& table() const { return *table_; }

  private:
    const Table* table_;
    std::size_t index_;
};

// `name` stands in places. nullopt: an error was reported (no header, a duplicate column, a row with other than the header's
// number of cells, unbalanced quotes). Columns of no known kind are not an error: the table then has RowKind::Unknown.
[[nodiscard]] std::optional<Table> read_table(const std::string& name,
                                              std::string_view text,
                                              Diagnostics& diagnostics);

}  // namespace memwall
