#pragma once
// Tables of measurements named on the command line.
#include <optional>
#include <vector>

#include "sim/io/files.h"
#include "sim/validation/nccl_tests_text.h"
#include "sim/validation/table.h"
#include "tools/commands/commands.h"

namespace memwall::cli {

// CSV, and with hints also what nccl-tests prints; "-" is standard input. nullopt: what is wrong has been said, all of it
// at once.
[[nodiscard]] std::optional<std::vector<Table>> read_tables(Session& session,
                                                            Files& files,
                                                            const NcclTestsHints* hints = nullptr);

}  // namespace memwall::cli
