#pragma once
// The repository's data files in memory, so that a run reads nothing but its input.
#include "sim/io/data_source.h"

namespace memwall::testing {

[[nodiscard]] MemoryFiles read_data();

}  // namespace memwall::testing
