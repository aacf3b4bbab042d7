#pragma once
// Which layers each pipeline chunk holds. Virtual stage = chunk x stages + stage; layers follow the virtual stages.
#include <vector>

#include "sim/spec/legality.h"

namespace memwall {

// [stage][chunk]; empty after an error (E0330 to E0332).
[[nodiscard]] std::vector<std::vector<ChunkLayout>> lay_out_stages(const JobCheck& check);

}  // namespace memwall
