#pragma once
// Memory that a rank of a stage holds from the first step on: model states, workspaces, persistent library buffers, and
// outside the allocator the CUDA context and the communicators' buffers.
#include "sim/parallel/chunk.h"
#include "sim/parallel/program.h"

namespace memwall {

void describe_resident(Lowering& lowering, const Stage& stage, Program& program);

[[nodiscard]] bool holds_embedding(const Job& job, int stage);
[[nodiscard]] bool holds_head(const Job& job, int stage);

// Process groups of more than one rank that a rank of this stage is in, pairs for send/recv counted once.
[[nodiscard]] int communicators(const Job& job, const Stage& stage);

}  // namespace memwall
