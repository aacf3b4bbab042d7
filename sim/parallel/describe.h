#pragma once
// A program as a listing that people read: values only, the writer (tools, io) lays them out.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/parallel/program.h"

namespace memwall {

struct ProgramLine {
    std::int32_t micro_batch = -1;  // -1 = the step as a whole
    std::int32_t chunk = -1;
    std::string segment;  // name of the segment it stands in; empty = an item of its own
    std::string stream;   // empty for host work
    std::string label;    // "L0 qkv"
    std::string work;  // "gemm 2048 x 4608 x 12288 fp16", "all-reduce tp 48 MiB", "to stage 3: ..."
    std::string waits;  // slots, comma-separated
    std::string records;
    Duration host{};  // of a collapsed segment: of all its ops
    std::int64_t memory =
        0;  // bytes allocated minus freed at its issue; of a collapsed segment: over all of it
};

// Items of one program in issue order. expand: each op of a segment is a line of its own, else a segment is one line.
[[nodiscard]] std::vector<ProgramLine> list_program(const ProgramSet& set,
                                                    std::size_t program,
                                                    bool expand);

[[nodiscard]] std::string_view stream_name(Stream stream);
[[nodiscard]] std::string_view role_name(GroupRole role);
[[nodiscard]] std::string_view collective_name(CollectiveKind kind);
[[nodiscard]] std::string describe_kernel(const Kernel& kernel);
[[nodiscard]] std::string describe_collective(const CollectiveCall& call);
[[nodiscard]] std::string describe_exchange(const Exchange& exchange);

}  // namespace memwall
