// Full recomputation keeps the layer's input and replays the whole forward pass, collectives included (Chen et al.,
// arXiv:1604.06174; Megatron-LM megatron/core/tensor_parallel/random.py, CheckpointFunction). Selective recomputation
// replays named modules only (Korthikanti et al., arXiv:2205.05198, section 5). By operators, the whole forward pass is
// replayed but for fused attention and matrix products 1, 3, 5, ..., whose results are kept (pytorch/torchtitan
// torchtitan/parallelisms/parallelize_llama.py, selective_ac_option "op"); that its list keeps reduce-scatters too is
// neglected.
#include "sim/parallel/recompute.h"

#include <algorithm>
#include <limits>

#include "sim/core/check.h"

namespace memwall {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

TraceModule trace_module(RecomputeModule module) {
    switch (module) {
    case RecomputeModule::AttentionCore:
        return TraceModule::AttentionCore;
    case RecomputeModule::Mlp:
        return TraceModule::Mlp;
    case RecomputeModule::Norm:
        return TraceModule::Norm;
    }
    return TraceModule::Other;
}

// Consecutive forward ops [begin, end) that are replayed together before backward op `before`.
struct Replay {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t before = 0;
};

class PassBuilder {
  public:
    PassBuilder(const RankLayer& layer, const RecomputePolicy& policy)
        : layer_(layer),
          policy_(policy),
          dropped_(layer.tensors.size(), false),
          kept_op_(layer.forward.size(), false),
          kept_result_(layer.tensors.size(), false),
          live_class_(layer.tensors.size(), TensorClass::Activations) {
        find_kept();
        for (std::size_t i = 0; i < layer.tensors.size(); ++i) {
            const RankTensor& tensor = layer.tensors[i];
            dropped_[i] = tensor.saved && !tensor.input && !tensor.persistent && !kept_result_[i] &&
                          replayed(tensor.module);
            live_class_[i] = tensor.memory;
        }
    }

    LayerPasses run() {
        LayerPasses result;
        build_forward(result.forward);
        build_backward(result.backward);
        return result;
    }

  private:
    [[nodiscard]] bool replayed(TraceModule module) const {
        switch (policy_.kind) {
        case RecomputeKind::None:
            return false;
        case RecomputeKind::Full:
        case RecomputeKind::Operators:
            return true;
        case RecomputeKind::Selective:
            return std::any_of(policy_.modules.begin(),
                               policy_.modules.end(),
                               [&](RecomputeModule m) { return trace_module(m) == module; });
        }
        return false;
    }

    [[nodiscard]] bool whole_layer() const {
        return policy_.kind == RecomputeKind::Full || policy_.kind == RecomputeKind::Operators;
    }

    void find_kept() {
        if (policy_.kind != RecomputeKind::Operators) {
            return;
        }
        const auto fused = [](const RankOp& op) {
            return !op.collective && std::holds_alternative<Attention>(op.kernel);
        };
        const bool fused_core = std::any_of(layer_.forward.begin(), layer_.forward.end(), fused);
        int products = 0;
        for (std::size_t i = 0; i < layer_.forward.size(); ++i) {
            const RankOp& op = layer_.forward[i];
            const bool product = !op.collective && std::holds_alternative<Gemm>(op.kernel);
            // With context parallelism the parts of attention and the exchanges between them are one operator.
            kept_op_[i] = (fused_core && op.module == TraceModule::AttentionCore) ||
                          (product && ++products % 2 == 1);
            for (const std::uint16_t tensor : op.allocates) {
                kept_result_[tensor] = kept_op_[i];
            }
        }
    }

    // Replaying a whole layer holds its input, and the results that are kept, until then, even where forward alone would let
    // them go.
    [[nodiscard]] bool held(std::size_t tensor) const {
        return whole_layer() && (layer_.tensors[tensor].input || results_held(tensor));
    }
    // Results of products that backward itself does not need are there for the replay of what follows them.
    [[nodiscard]] bool results_held(std::size_t tensor) const {
        return kept_result_[tensor] && !layer_.tensors[tensor].saved &&
               layer_.tensors[tensor].module != TraceModule::AttentionCore;
    }

    void allocate(LayerPass& pass, std::size_t tensor, std::size_t before_op, bool replay) {
        const RankTensor& t = layer_.tensors[tensor];
        if (t.persistent || t.bytes == 0) {
            return;
        }
        const bool remade = replay && t.memory == TensorClass::Activations;
        live_class_[tensor] = remade ? TensorClass::Recompute : t.memory;
        push(pass, tensor, t.bytes, before_op);
    }

    void free(LayerPass& pass, std::size_t tensor, std::size_t before_op) {
        const RankTensor& t = layer_.tensors[tensor];
        if (!t.persistent && t.bytes != 0) {
            push(pass, tensor, -t.bytes, before_op);
        }
    }

    void push(LayerPass& pass,
              std::size_t tensor,
              std::int64_t bytes,
              std::size_t before_op) const {
        pass.memory.push_back({.memory = live_class_[tensor],
                               .bytes = bytes,
                               .tensor = static_cast<std::uint32_t>(tensor),
                               .before_op = static_cast<std::uint32_t>(before_op)});
    }

    void build_forward(LayerPass& pass) {
        // Where each dropped tensor goes: after its last forward use, at the earliest after its allocation.
        std::vector<std::size_t> drop_after(layer_.tensors.size(), kNever);
        const std::size_t count = layer_.forward.size();
        for (std::size_t i = 0; i < count; ++i) {
            for (const std::uint16_t tensor : layer_.forward[i].allocates) {
                const RankTensor& t = layer_.tensors[tensor];
                if (dropped_[tensor]) {
                    const std::size_t last = t.last_forward_op < 0
                                                 ? count - 1
                                                 : static_cast<std::size_t>(t.last_forward_op);
                    drop_after[tensor] = std::max(i, last);
                }
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            const RankOp& op = layer_.forward[i];
            for (const std::uint16_t tensor : op.allocates) {
                allocate(pass, tensor, i, false);
            }
            pass.ops.push_back(
                {.op = static_cast<std::uint32_t>(i), .forward_list = true, .replay = false});
            for (const std::uint16_t tensor : op.frees) {
                if (!held(tensor)) {
                    free(pass, tensor, i + 1);
                }
            }
            for (std::size_t tensor = 0; tensor < drop_after.size(); ++tensor) {
                if (drop_after[tensor] == i) {
                    free(pass, tensor, i + 1);
                }
            }
        }
    }

    void build_backward(LayerPass& pass) {
        const std::vector<Replay> replays = find_replays();
        for (std::size_t i = 0; i < layer_.backward.size(); ++i) {
            for (const Replay& replay : replays) {
                if (replay.before == i) {
                    append_replay(pass, replay);
                }
            }
            const RankOp& op = layer_.backward[i];
            for (const std::uint16_t tensor : op.allocates) {
                allocate(pass, tensor, pass.ops.size(), false);
            }
            pass.ops.push_back(
                {.op = static_cast<std::uint32_t>(i), .forward_list = false, .replay = false});
            for (const std::uint16_t tensor : op.frees) {
                free(pass, tensor, pass.ops.size());
            }
        }
    }

    [[nodiscard]] std::vector<Replay> find_replays() const {
        std::vector<Replay> replays;
        if (whole_layer()) {
            if (!layer_.forward.empty() && !layer_.backward.empty()) {
                replays.push_back({.begin = 0, .end = layer_.forward.size(), .before = 0});
            }
            return replays;
        }
        for (std::size_t i = 0; i < layer_.forward.size();) {
            const TraceModule module = layer_.forward[i].module;
            std::size_t end = i + 1;
            while (end < layer_.forward.size() && layer_.forward[end].module == module) {
                ++end;
            }
            if (replayed(module)) {
                const std::size_t before = first_need(i, end);
                if (before != kNever) {
                    replays.push_back({.begin = i, .end = end, .before = before});
                }
            }
            i = end;
        }
        return replays;
    }

    // The first backward op that frees a tensor which forward ops [begin, end) made and dropped; or the first backward op
    // of that module, when the module is one run of ops (the two norms of a layer are two runs).
    [[nodiscard]] std::size_t first_need(std::size_t begin, std::size_t end) const {
        std::vector<bool> made(layer_.tensors.size(), false);
        for (std::size_t i = begin; i < end; ++i) {
            for (const std::uint16_t tensor : layer_.forward[i].allocates) {
                made[tensor] = dropped_[tensor];
            }
        }
        const TraceModule module = layer_.forward[begin].module;
        const bool one_run =
            std::all_of(layer_.forward.begin(), layer_.forward.end(), [&](const RankOp& op) {
                const auto i = static_cast<std::size_t>(&op - layer_.forward.data());
                return op.module != module || (i >= begin && i < end);
            });
        if (std::none_of(made.begin(), made.end(), [](bool m) { return m; })) {
            return kNever;  // nothing was dropped, nothing to remake
        }
        for (std::size_t i = 0; i < layer_.backward.size(); ++i) {
            const RankOp& op = layer_.backward[i];
            const bool frees = std::any_of(
                op.frees.begin(), op.frees.end(), [&](std::uint16_t t) { return made[t]; });
            if (frees || (one_run && op.module == module)) {
                return i;
            }
        }
        bug(__FILE__,
            __LINE__,
            "a saved tensor that backward never frees in layer kind " + layer_.kind);
    }

    void append_replay(LayerPass& pass, const Replay& replay) {
        std::vector<bool> live(layer_.tensors.size(), false);
        for (std::size_t i = replay.begin; i < replay.end; ++i) {
            const RankOp& op = layer_.forward[i];
            for (const std::uint16_t tensor : op.allocates) {
                if (kept_op_[i]) {
                    break;
                }
                // Saved tensors that were kept are still there.
                if (dropped_[tensor] || (!layer_.tensors[tensor].saved && !held(tensor))) {
                    allocate(pass, tensor, pass.ops.size(), true);
                    live[tensor] = true;
                }
            }
            if (!kept_op_[i]) {
                pass.ops.push_back(
                    {.op = static_cast<std::uint32_t>(i), .forward_list = true, .replay = true});
            }
            for (const std::uint16_t tensor : op.frees) {
                if (live[tensor] || held(tensor)) {
                    free(pass, tensor, pass.ops.size());
                    live[tensor] = false;
                }
            }
        }
        // What later forward ops would have consumed goes at the end of the replay; remade tensors stay for backward.
        for (std::size_t tensor = 0; tensor < live.size(); ++tensor) {
            if (live[tensor] && !dropped_[tensor]) {
                free(pass, tensor, pass.ops.size());
            }
        }
    }

    const RankLayer& layer_;
    const RecomputePolicy& policy_;
    std::vector<bool> dropped_;
    std::vector<bool> kept_op_;      // forward ops that are not replayed
    std::vector<bool> kept_result_;  // tensors that they make
    std::vector<TensorClass> live_class_;
};

}  // namespace

LayerPasses layer_passes(const RankLayer& layer, const RecomputePolicy& policy) {
    return PassBuilder(layer, policy).run();
}

}  // namespace memwall
