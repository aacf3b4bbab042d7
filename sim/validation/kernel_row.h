#pragma once
// A row of a table of matrix products or fused attention as one kernel on one GPU.
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/hardware/kernel_time.h"
#include "sim/spec/kernel.h"
#include "sim/validation/not_mapped.h"
#include "sim/validation/table.h"

namespace memwall {

struct KernelCase {
    std::string gpu;    // file in topologies/gpus
    std::string group;  // for scores: "gemm bf16", "attention bf16 backward"
    Kernel kernel;
    KernelConditions conditions;
    double time_s = 0;  // measured
    std::vector<std::string> assumptions;
};

// Columns of matrix products: M, N, K, dtype, time_us, and where given B (batch or groups), layout (TN forward, NN input
// gradient, NT weight gradient), accumulate, out_dtype. Of attention: batch, q_seqlen or seq_len, heads, kv_heads, head_dim,
// window, mask, pass, time_ms or time_us. `clock`: burst or sustained; where it is missing, rows that state a layout or
// long warm-up are sustained, bare sweeps burst.
[[nodiscard]] tl::expected<KernelCase, NotMapped> kernel_case(const Row& row);

}  // namespace memwall
