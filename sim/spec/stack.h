#pragma once
// A software stack: one framework generation. Decides kernels fused or not, host launch times, what overlaps, NCCL, and
// workspaces. One file each in topologies/stacks. Overlap is a property of the stack, not of the strategy.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/spec/model.h"

namespace memwall {

enum class P2pKind : std::uint8_t {
    Blocking,    // on the compute stream, rendezvous
    Batched,     // send and receive posted together, the compute stream waits for both
    Overlapped,  // own streams, events
};

struct StackHost {
    Duration kernel_launch{};  // host time of one kernel launch, framework included
    // The same in recomputation and in backward, which runs without the interpreter; 0 = as kernel_launch.
    Duration recompute_launch{};
    Duration backward_launch{};
    Duration collective_launch{};
    // More for each member of a tensor-parallel group beyond the first.
    Duration collective_member{};
    // What a step adds to a collective measured alone, per doubling of its group: members do not come at one instant, and
    // of more members the last comes later.
    Duration collective_skew{};
    Duration head{};         // extra per micro-batch on the stage that has the head and the loss
    Duration micro_batch{};  // extra per micro-batch (data loading share, schedule code)
    Duration step{};         // extra per step (data loading, logging, optimizer bookkeeping)
    bool drain_each_micro_batch = false;  // the host waits for the GPU once per micro-batch
};

// Passes of the optimizer over the states beside the update itself, each a kernel of its own.
struct OptimizerPasses {
    bool gradients_to_fp32 = false;  // 16-bit gradients are copied to fp32 first
    bool unscale =
        false;          // fp16 gradients are divided by the loss scale and checked for infinities
    bool clip = false;  // gradients are multiplied by the clipping factor
    bool weights_apart = false;  // the master copy is read again to be cast to weights
};

struct StackKernels {
    AttentionImplementation attention = AttentionImplementation::Unfused;
    LossImplementation loss = LossImplementation::Unfused;
    bool fused_softmax = true;  // scale + mask + softmax in one kernel
    bool fused_bias_activation = true;
    bool fused_bias_dropout_add = true;
    bool fused_norm = true;
    bool fused_rotary = true;
    bool fused_optimizer = true;
    bool fused_projections = true;  // q, k, v in one product, gate and up in one
    // Unfused loss: one fp32 copy of the logits worked on in place (Megatron); else log-softmax and both of its gradients
    // are tensors of their own (PyTorch).
    bool loss_in_place = true;
    double loss_gradient_bytes =
        0;  // fused loss: per logit, of a separate gradient; 0 = it overwrites the logits
    // Low-precision linear layers keep the quantised input for backward; else the 16-bit one, quantised again.
    bool keeps_quantised = true;
    bool fused_amax = false;        // the kernel that makes a tensor finds its largest value too
    bool quantised_gather = false;  // FSDP gathers weights as quantised by their shards
    // Context parallelism gives each rank two pieces of the sequence, one from each end, so that all have the same share of
    // causal attention; else one piece, and the rank with the last one works longest.
    bool balanced_context = true;
    bool fused_gradient_accumulation =
        true;  // weight gradient accumulates into the fp32/fp16 buffer inside the GEMM
    OptimizerPasses optimizer;
    double cross_entropy_forward_bytes = 0;  // per logit; 0 = derived from the loss implementation
    double cross_entropy_backward_bytes = 0;
};

// The bucket that the framework collects gradients in where it reduces them behind backward and the scenario names none.
// The largest of the three counts.
struct StackBucket {
    Bytes bytes;
    std::int64_t elements = 0;           // gradients
    std::int64_t elements_per_rank = 0;  // of the data-parallel group
};

struct StackOverlap {
    bool tp_backward_all_reduce =
        false;  // input-gradient all-reduce behind the weight-gradient GEMM
    // Sequence parallelism: gathers and reduce-scatters go in tp parts, each beside a part of the product that needs or
    // makes it; one part is not hidden.
    bool tp_pipelined = false;
    bool gradient_reduce = false;  // buckets behind backward
    StackBucket gradient_bucket;
    bool parameter_gather = false;  // ZeRO/FSDP gathers ahead of use
    P2pKind p2p = P2pKind::Batched;
    bool p2p_scatter_gather = false;  // each tp rank sends 1/tp, all-gather in the node
};

struct StackInterference {
    bool enabled = true;  // communication blocks take SMs from compute
    double cross_node_share =
        1;  // share of a transfer's blocks that are busy when it crosses nodes
};

// What whole steps of this framework keep of the rates of kernels measured alone, on GPUs of one architecture: the clock of
// hours of load with the data of training, and the quality of the framework's kernels. 1 = the kernel laws as they are.
struct StackRates {
    std::string architecture;  // sm80, sm90, ...
    double gemm = 1;
    double attention_forward = 1;  // fused
    double attention_backward = 1;
    double memory = 1;  // memory-bound kernels
    // Slow-down by alignment with the library of this stack, beyond the card's own (GemmTiling).
    double batched_unaligned = 1;
    double batched_off_64 = 1;
};

struct StackMemory {
    Bytes workspaces;  // library workspaces inside the allocator
    Bytes context;     // CUDA context and driver, outside the allocator
    Bytes nccl_per_communicator;
    bool dummy_weight_gradients = false;  // TE keeps one dummy per distinct weight shape
    bool fp32_gradients = false;  // accumulates in fp32 unless training.precision says otherwise
    double reserved_over_dynamic = 0;  // reserved - allocated as a share of the dynamic part
};

struct Stack {
    std::string name;
    std::string framework;
    StackHost host;
    StackKernels kernels;
    StackOverlap overlap;
    StackInterference interference;
    std::vector<StackRates> rates;  // each architecture once
    StackMemory memory;
    std::int64_t vocabulary_multiple = 128;  // padded to a multiple of this x tp; 1 = not padded
    std::string nccl_version;
    bool ragged_interleaving = false;  // interleaved schedules with m mod p != 0
};

}  // namespace memwall
