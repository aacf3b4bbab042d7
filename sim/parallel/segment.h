#pragma once
// Turns passes of layers into segments: streams, events, host times, labels and memory. One segment, unless exchanges of
// context parallelism meet the outside in between.
// Kernels run on Compute, tensor-parallel collectives on Tp. A collective waits for the kernel before it; the kernel after
// it waits for the collective, unless the stack overlaps the two (see SegmentPolicy).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/parallel/builder.h"
#include "sim/parallel/recompute.h"

namespace memwall {

struct SegmentPolicy {
    Duration kernel_launch{};
    Duration recompute_launch{};
    Duration backward_launch{};
    Duration collective_launch{};
    Duration exchange_launch{};    // of context parallelism
    Duration head{};               // more for each forward pass of the head
    bool tensor_parallel = false;  // tp > 1
    // Backward: the reduction of the input gradient runs behind the weight-gradient product, and with sequence parallelism
    // the second gather of the input behind the input-gradient product.
    // Source: Megatron-LM megatron/core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication.
    bool overlap_input_gradient = false;
    // Gathers before products and reduce-scatters behind them go in so many parts; 1 = whole. The first part of a gather is
    // waited for, the rest runs beside the product; of a reduce-scatter all but the last part runs beside the product.
    //   t = max(product, (n-1)/n transfer) + transfer / n
    // Source: NVIDIA/TransformerEngine userbuffers (tp-comm-overlap), ring exchange and pipelined reduce-scatter.
    int pipelined_parts = 1;
};

class SegmentBuilder {
  public:
    // entry: slots recorded outside that the first op waits for.
    SegmentBuilder(ProgramBuilder& programs,
                   const SegmentPolicy& policy,
                   std::span<const std::uint16_t> entry);

    // owner names the layer's tensors and prefixes its labels ("L3", "embedding", "head").
    void add(const RankLayer& layer, const LayerPass& pass, const std::string& owner, int position);
    // A collective of the tensor-parallel group that belongs to no layer.
    void add_collective(const CollectiveCall& call, const std::string& name);
    // Memory that moves before the next op to be added.
    void add_memory(const MemoryEvent& event);
    [[nodiscard]] bool empty() const { return parts_.empty() && segment_.ops.empty(); }

    // Marks the last kernel as recorded, so that what follows outside can wait for it.
    [[nodiscard]] std::vector<Item> finish(const std::string& name, bool backward);

  private:
    void add_op(const RankOp& op, const PassOp& pass_op, const std::string& owner);
    void push_collective(Op op, bool gather_again, bool reduce_input);
    // Both true: done in parts.
    bool push_gather_in_parts(Op op, const CollectiveCall& call);
    bool push_scatter_in_parts(Op op, const CollectiveCall& call);
    void push_kernel(Op op, Pass pass);
    void push_exchange(Op op, const RankOp& exchange);
    void close_segment();

    // A segment, or an exchange with the memory that moves at its issue.
    struct Part {
        Segment segment;
        std::optional<Op> exchange;
    };

    ProgramBuilder& programs_;
    SegmentPolicy policy_;
    std::vector<std::uint16_t> entry_;
    std::vector<Part> parts_;
    Segment segment_;
    std::ptrdiff_t last_kernel_ = -1;
    std::optional<Op> rest_;    // of a gather: runs beside the next kernel
    bool wait_tp_ = false;      // the next kernel waits for the Tp stream
    bool wait_reduce_ = false;  // ... unless it computes weight gradients
    bool wait_gather_ =
        false;  // the next kernel that computes weight gradients waits for the second gather
};

}  // namespace memwall
