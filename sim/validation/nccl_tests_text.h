#pragma once
// The output of nccl-tests (all_reduce_perf and its sisters) as a table of collectives. Columns are found by the header
// line that the program prints, `#  size  count  type  redop  root  time  algbw  busbw  #wrong`, so that every version since
// 2.0 can be read; the first time of a line counts, out of place. GPUs and nodes come from the lines `#  Rank  0 ... on HOST
// device  0 [0x..] NVIDIA H100 ...`. Source of the format: NVIDIA/nccl-tests src/common.cu.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/diagnostics.h"
#include "sim/validation/table.h"

namespace memwall {

// The programs that can be read, without their `_perf`.
inline constexpr std::array<std::string_view, 5> kNcclTests = {
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast"};

// What the text may leave open. 0 and empty: as the text says.
struct NcclTestsHints {
    int gpus = 0;  // of all nodes
    int nodes = 0;
    std::string collective;  // of kNcclTests
};

// True when the text looks like the output of nccl-tests rather than CSV.
[[nodiscard]] bool is_nccl_tests(std::string_view text);

// Rows have the columns n_gpus, n_nodes, collective, message_bytes, time_us, dtype, device, and id ("line N"). Messages of no bytes are
// skipped. The collective is taken from the hints, the program's name in the text, the name of the file, or, for lack of
// those, from busbw over algbw where that tells. nullopt: an error was reported (E0602, E0603, E0604).
[[nodiscard]] std::optional<Table> read_nccl_tests(const std::string& name,
                                                   std::string_view text,
                                                   const NcclTestsHints& hints,
                                                   Diagnostics& diagnostics);

}  // namespace memwall
