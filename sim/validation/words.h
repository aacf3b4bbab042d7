#pragma once
// What tables call things, and the data files that are meant: GPUs, machines, networks, frameworks.
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace memwall {

// Lower case, without blanks: "A100-80G SXM" and "a100-80g-sxm" are the same word.
[[nodiscard]] std::string plain_word(std::string_view text);
// True when `text` holds `word`, letters of either case.
[[nodiscard]] bool mentions(std::string_view text, std::string_view word);

// A GPU as its file in topologies/gpus and the machine that it mostly sits in; nullopt: not known.
struct KnownGpu {
    std::string_view file;
    std::string_view node;
    std::string_view fabric;      // of several nodes, unless the row says otherwise
    std::string_view assumption;  // what the row leaves open; empty = nothing
};
[[nodiscard]] std::optional<KnownGpu> known_gpu(std::string_view name);

// What a row says of the network between nodes, in words such as "8x200Gb/s HDR IB" or "800 Gb/s per node".
struct StatedNetwork {
    int nics = 0;             // per node; 0 = not stated
    Bandwidth nic_rate;       // of one
    Bandwidth node_rate;      // of a node, when only that is stated
    Bandwidth gpu_rate;       // of a GPU
    std::string_view fabric;  // file in topologies/fabrics; empty = not stated
};
[[nodiscard]] StatedNetwork stated_network(std::string_view text);

}  // namespace memwall
