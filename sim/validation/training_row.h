#pragma once
// A row of a table of training runs as a scenario. What the row leaves open takes a documented default, which is listed.
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/validation/not_mapped.h"
#include "sim/validation/table.h"

namespace memwall {

enum class MemoryFigure { None, Allocated, Reserved, Device };

struct TrainingCase {
    std::string scenario;  // YAML, memwall/scenario/1
    std::vector<std::string> assumptions;
    double step_time_s = 0;  // measured; 0 = none
    double peak_bytes = 0;   // measured; 0 = none
    MemoryFigure memory = MemoryFigure::None;
    bool out_of_memory = false;  // the run failed for lack of memory
    // For groups.
    std::string gpu;
    std::string framework;
    std::string stack;
    std::string model;
    int gpus = 0;
};

[[nodiscard]] tl::expected<TrainingCase, NotMapped> training_case(const Row& row);

}  // namespace memwall
