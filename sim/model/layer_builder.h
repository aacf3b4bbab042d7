#pragma once
// Assembles a LayerTrace from ops that say which tensors they use and make, and derives each tensor's life from that:
// allocated by its maker, freed by its last user over forward then backward, saved when that user is in backward.
#include <string>
#include <vector>

#include "sim/model/trace.h"

namespace memwall {

using TensorIndex = std::uint16_t;

struct OpDraft {
    std::string name = {};
    Pass pass = Pass::Forward;
    Kernel kernel = MemoryBound{};
    KernelSplit split = {};
    TraceModule module = TraceModule::Other;
    bool per_token = true;
    std::optional<ShardCondition> condition = {};
    std::vector<TensorIndex> uses = {};
    std::vector<TensorIndex> makes = {};
};

class LayerBuilder {
  public:
    explicit LayerBuilder(std::string kind) { layer_.kind = std::move(kind); }

    TensorIndex tensor(TraceTensor t);
    // The next op makes `t` before anything else: it comes from the neighbour layer.
    void starts_with(TensorIndex t) { pending_.push_back(t); }
    void op(const OpDraft& draft);
    void boundary(TraceBoundary b);
    void parameters(std::vector<ParameterTensor> list) { layer_.parameters = std::move(list); }
    void active_expert_share(double share) { layer_.active_expert_share = share; }

    [[nodiscard]] LayerTrace finish() &&;

  private:
    struct Touch {
        std::vector<TensorIndex> uses;
        std::vector<TensorIndex> makes;
    };

    void derive_lives(bool condition_holds);

    LayerTrace layer_;
    std::vector<TensorIndex> pending_;
    std::vector<Touch> forward_;   // beside layer_.forward; boundaries touch nothing
    std::vector<Touch> backward_;  // beside layer_.backward
};

}  // namespace memwall
