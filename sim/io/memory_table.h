#pragma once
// Peak memory of the stages as a table: what it is made of down, stages across, as many as the width holds.
#include <string>

#include "sim/analyze/metrics.h"
#include "sim/io/text_style.h"

namespace memwall {

// Neighbouring stages with the same figures share a column. When there are more columns than the width holds, the first,
// the last and the fullest stage stand among those shown; `all_stages` shows the others too, block by block.
[[nodiscard]] std::string memory_table(const Metrics& metrics,
                                       const TextStyle& style,
                                       bool all_stages);

}  // namespace memwall
