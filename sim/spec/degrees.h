#pragma once
// The parallel degrees of a job: what is `auto` is worked out, the product must be the number of GPUs.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/legality.h"

namespace memwall {

// `derived`: keys that were auto. nullopt after an error (E0310, E0311, E0319).
[[nodiscard]] std::optional<Degrees> find_degrees(const JobCheck& check,
                                                  std::vector<std::string>& derived);
// m = global / (micro x dp); nullopt after an error (E0320).
[[nodiscard]] std::optional<std::int64_t> find_micro_batches(const JobCheck& check);

}  // namespace memwall
