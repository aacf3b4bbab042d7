#pragma once
// What the framework of a row means: the stack file, and the strategy in the words of a scenario.
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/validation/table.h"
#include "sim/validation/training_row.h"

namespace memwall {

struct Framework {
    std::string stack;      // file in topologies/stacks
    std::string sharding;   // lines below `parallel:`
    std::string gradients;  // the same
    std::string precision;  // policy
    std::string recipe;     // empty = none
    std::string optimizer;
    std::string recompute;  // lines below `training:`
    std::string attention;  // empty = the stack's
    double dropout = 0;
    int vocabulary = 51200;          // when the row states none
    bool sequence_parallel = false;  // with tp, when the row does not say
    MemoryFigure memory = MemoryFigure::None;
    std::string not_yet;  // why it cannot be simulated yet
    std::vector<std::string> assumptions;
};

// gpu: its file. The error says what is not known.
[[nodiscard]] tl::expected<Framework, std::string> framework_of(const Row& row,
                                                                std::string_view gpu);

}  // namespace memwall
