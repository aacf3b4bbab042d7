#pragma once
// What each pipeline stage holds: layers as one rank runs them, with their recomputation, in chunks.
#include <deque>

#include "sim/parallel/chunk.h"
#include "sim/parallel/context.h"

namespace memwall {

class StageFactory {
  public:
    // Both must outlive the factory, and the factory the stages that it makes.
    StageFactory(const Job& job, const WorkloadTrace& trace);

    [[nodiscard]] Stage stage(int index) const;

  private:
    // A layer kind on one rank, with and without recomputation.
    struct RankKind {
        RankLayer layer;
        RankParameters parameters;
        std::int64_t quantised = 0;
        LayerPasses kept;
        LayerPasses recomputed;
    };

    [[nodiscard]] Chunk chunk(int stage, int index) const;
    [[nodiscard]] Unit unit(std::uint32_t kind, bool recompute) const;

    const Job& job_;
    const WorkloadTrace& trace_;
    std::deque<RankKind> kinds_;
};

[[nodiscard]] TensorParallel tensor_parallel(const Job& job);
[[nodiscard]] ContextParallel context_parallel(const Job& job);

}  // namespace memwall
