#pragma once
// Context parallelism: cp ranks share a sequence. Everything that is done per token is divided by cp; attention needs the
// keys and values of all ranks, and exchanges them in one of three ways (spec::ContextKind).
#include "sim/model/trace.h"
#include "sim/parallel/shard.h"
#include "sim/spec/strategy.h"

namespace memwall {

struct ContextParallel {
    int cp = 1;
    ContextKind kind = ContextKind::Ring;
    bool balanced = true;  // two pieces of the sequence per rank (StackKernels::balanced_context)
};

// One rank's share of the tokens; fused attention still covers the whole sequence.
[[nodiscard]] LayerTrace divide_tokens(const LayerTrace& layer, int cp);

// Attention becomes what a rank of the group runs: its blocks and the exchanges around them.
[[nodiscard]] RankLayer exchange_context(const RankLayer& layer, const ContextParallel& context);

}  // namespace memwall
