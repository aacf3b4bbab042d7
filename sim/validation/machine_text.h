#pragma once
// The machine of a row as the `machine:` section of a scenario.
#include <string>
#include <vector>

#include "sim/validation/table.h"
#include "sim/validation/words.h"

namespace memwall {

struct RowMachine {
    std::string text;  // YAML
    int nodes = 1;
    int gpus_per_node = 1;
};

// `gpus`: of the whole row. What it assumes is added to `assumptions`.
[[nodiscard]] RowMachine machine_of(const Row& row,
                                    const KnownGpu& gpu,
                                    int gpus,
                                    int gpus_per_node,
                                    std::vector<std::string>& assumptions);

}  // namespace memwall
