#pragma once
// A row of a table of collectives, as nccl-tests measures them, as one call on one machine.
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/network/fabric.h"
#include "sim/spec/collective.h"
#include "sim/validation/not_mapped.h"
#include "sim/validation/table.h"

namespace memwall {

struct CollectiveCase {
    std::string gpu;       // file in topologies/gpus
    std::string group;     // for scores: "all_reduce 2 nodes"
    std::string scenario;  // YAML with the machine; what runs on it does not matter
    CollectiveCall call;
    int gpus = 0;
    int nodes = 1;
    int gpus_per_node = 1;  // of the machine
    double time_s = 0;      // measured
    std::vector<std::string> assumptions;

    // The group's members, the same GPUs of every node.
    [[nodiscard]] std::vector<DeviceId> members() const;
};

// Columns: gpu, n_gpus, n_nodes, gpus_per_node, inter_node, collective, message_bytes, time_us. The size is that of
// nccl-tests: of the buffer for all-reduce and broadcast, of all ranks together for the others.
[[nodiscard]] tl::expected<CollectiveCase, NotMapped> collective_case(const Row& row);

}  // namespace memwall
