#pragma once
// Validated rows for a terminal, for a script, for a spreadsheet.
#include <string>
#include <vector>

#include "sim/validation/validate.h"

namespace memwall {

// with_rows: one line per row, else the summary and the list of rows that are not scored.
[[nodiscard]] std::string validation_text(const std::vector<ValidatedRow>& rows, bool with_rows);
[[nodiscard]] std::string validation_json(const std::vector<ValidatedRow>& rows);
[[nodiscard]] std::string validation_csv(const std::vector<ValidatedRow>& rows);

}  // namespace memwall
