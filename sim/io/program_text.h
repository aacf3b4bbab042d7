#pragma once
// What one rank runs, as text or JSON: one line for each op in the order in which its host issues it. limit: lines at the
// most; 0 = all.
#include <cstddef>
#include <string>

#include "sim/parallel/program.h"

namespace memwall {

[[nodiscard]] std::string program_text(const ProgramSet& set,
                                       const Program& program,
                                       std::size_t limit);
[[nodiscard]] std::string program_json(const ProgramSet& set,
                                       const Program& program,
                                       std::size_t limit);

}  // namespace memwall
