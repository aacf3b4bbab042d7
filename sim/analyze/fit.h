#pragma once
// Does it fit? An answer, not an error: which class tipped it, at which instant, on which stage, by how much, and what helps.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/run/result.h"
#include "sim/spec/plan.h"

namespace memwall {

struct StageMemory {
    int stage = 0;
    MemoryPeak peak;
    std::int64_t usable = 0;   // bytes that one process can get
    std::int64_t nominal = 0;  // datasheet capacity
    std::int64_t margin = 0;   // usable - device peak; negative: does not fit
};

struct FitVerdict {
    bool fits = true;
    int stage = 0;             // the fullest
    std::int64_t margin = 0;   // bytes, of its ranks
    std::string tensor_class;  // that tipped it: the largest class at the peak
    std::int64_t class_bytes = 0;
    std::string where;             // the instant
    std::int64_t host_needed = 0;  // bytes per node
    std::int64_t host_capacity = 0;
    std::vector<std::string> levers;  // that this configuration does not use yet, nearest first
};

[[nodiscard]] std::vector<StageMemory> stage_memory(const Plan& plan, const RunResult& result);

// host_bytes: host memory of one rank, the largest over stages.
[[nodiscard]] FitVerdict fit_verdict(const Plan& plan,
                                     const std::vector<StageMemory>& stages,
                                     Bytes host_bytes);

}  // namespace memwall
