#pragma once
// A data file and what it is based on.
#include <string>
#include <vector>

#include "sim/io/data_source.h"

namespace memwall {

// Names, the file's own first: rows that name any of them are its rows.
[[nodiscard]] std::vector<std::string> family_of(DataKind kind,
                                                 const std::string& reference,
                                                 DataSource& source,
                                                 Diagnostics& diagnostics);

}  // namespace memwall
