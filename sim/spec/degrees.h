#pragma once
// The parallel degrees of a job: what is `auto` is worked out, the product must be the number of GPUs.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/legality.h"

namespace memwall {

// After an error (E0310, E0311, E0319) the degrees that were given are known all the same, so that the rules they must obey
// are checked at once; the others are 1.
struct FoundDegrees {
    Degrees degrees;
    bool tp = false;
    bool pp = false;
    bool cp = false;
    bool dp = false;
    bool sound = false;  // all known, and their product is the number of GPUs
};

// `derived`: keys that were auto.
[[nodiscard]] FoundDegrees find_degrees(const JobCheck& check, std::vector<std::string>& derived);
// m = global / (micro x dp); nullopt after an error (E0320).
[[nodiscard]] std::optional<std::int64_t> find_micro_batches(const JobCheck& check);

}  // namespace memwall
