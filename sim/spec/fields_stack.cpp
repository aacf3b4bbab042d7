#include "sim/spec/fields_work.h"

namespace memwall {
namespace {

// What training keeps of a rate measured alone. Much more than all of it would be beyond the data sheet.
constexpr Rules kKept = between(0.05, 1.5);

constexpr Rules kBrief = at_most(1e12);  // a second: the size of a group multiplies it

}  // namespace

void describe(Fields& f, StackHost& v) {
    f.leaf("kernel_launch", v.kernel_launch, kRequired | kNonNegative);
    f.leaf("recompute_launch", v.recompute_launch, kNonNegative);
    f.leaf("backward_launch", v.backward_launch, kNonNegative);
    f.leaf("collective_launch", v.collective_launch, kNonNegative);
    f.leaf("collective_member", v.collective_member, kBrief);
    f.leaf("collective_skew", v.collective_skew, kBrief);
    f.leaf("head", v.head, kNonNegative);
    f.leaf("micro_batch", v.micro_batch, kNonNegative);
    f.leaf("step", v.step, kNonNegative);
    f.leaf("drain_each_micro_batch", v.drain_each_micro_batch);
}

void describe(Fields& f, OptimizerPasses& v) {
    f.leaf("gradients_to_fp32", v.gradients_to_fp32);
    f.leaf("unscale", v.unscale);
    f.leaf("clip", v.clip);
    f.leaf("weights_apart", v.weights_apart);
}

void describe(Fields& f, StackKernels& v) {
    f.leaf("attention", v.attention);
    f.leaf("loss", v.loss);
    f.leaf("fused_softmax", v.fused_softmax);
    f.leaf("fused_bias_activation", v.fused_bias_activation);
    f.leaf("fused_bias_dropout_add", v.fused_bias_dropout_add);
    f.leaf("fused_norm", v.fused_norm);
    f.leaf("fused_rotary", v.fused_rotary);
    f.leaf("fused_optimizer", v.fused_optimizer);
    f.leaf("fused_projections", v.fused_projections);
    f.leaf("loss_in_place", v.loss_in_place);
    f.leaf("loss_gradient_bytes", v.loss_gradient_bytes, zero_or(0.125, 16));
    f.leaf("keeps_quantised", v.keeps_quantised);
    f.leaf("fused_amax", v.fused_amax);
    f.leaf("quantised_gather", v.quantised_gather);
    f.leaf("balanced_context", v.balanced_context);
    f.leaf("fused_gradient_accumulation", v.fused_gradient_accumulation);
    f.map("optimizer", v.optimizer);
    f.leaf("cross_entropy_forward_bytes", v.cross_entropy_forward_bytes, zero_or(0.125, 1000));
    f.leaf("cross_entropy_backward_bytes", v.cross_entropy_backward_bytes, zero_or(0.125, 1000));
}

void describe(Fields& f, StackBucket& v) {
    f.leaf("bytes", v.bytes, kNonNegative);
    f.leaf("elements", v.elements, at_most(1e12));
    f.leaf("elements_per_rank", v.elements_per_rank, at_most(1e9));
}

void describe(Fields& f, StackOverlap& v) {
    f.leaf("tp_backward_all_reduce", v.tp_backward_all_reduce);
    f.leaf("tp_pipelined", v.tp_pipelined);
    f.leaf("gradient_reduce", v.gradient_reduce);
    f.map("gradient_bucket", v.gradient_bucket);
    f.leaf("parameter_gather", v.parameter_gather);
    f.leaf("p2p", v.p2p);
    f.leaf("p2p_scatter_gather", v.p2p_scatter_gather);
}

void describe(Fields& f, StackInterference& v) {
    f.leaf("enabled", v.enabled);
    f.leaf("cross_node_share", v.cross_node_share, kShare);
}

void describe(Fields& f, StackRates& v) {
    f.leaf("architecture", v.architecture, kRequired);
    f.leaf("gemm", v.gemm, kKept);
    f.leaf("attention_forward", v.attention_forward, kKept);
    f.leaf("attention_backward", v.attention_backward, kKept);
    f.leaf("memory", v.memory, kKept);
    f.leaf("batched_unaligned", v.batched_unaligned, between(1, 100));
    f.leaf("batched_off_64", v.batched_off_64, between(1, 100));
}

void describe(Fields& f, StackMemory& v) {
    f.leaf("workspaces", v.workspaces, kNonNegative);
    f.leaf("context", v.context, kNonNegative);
    f.leaf("nccl_per_communicator", v.nccl_per_communicator, kNonNegative);
    f.leaf("dummy_weight_gradients", v.dummy_weight_gradients);
    f.leaf("fp32_gradients", v.fp32_gradients);
    f.leaf("reserved_over_dynamic", v.reserved_over_dynamic, at_most(10));
}

void describe(Fields& f, Stack& v) {
    f.leaf("name", v.name, kRequired);
    f.keep("about");
    f.leaf("framework", v.framework);
    f.map("host", v.host, kRequired);
    f.map("kernels", v.kernels);
    f.map("overlap", v.overlap);
    f.map("interference", v.interference);
    f.list("rates", v.rates);
    f.map("memory", v.memory);
    f.leaf("vocabulary_multiple", v.vocabulary_multiple, kPositive);
    f.leaf("nccl_version", v.nccl_version);
    f.leaf("ragged_interleaving", v.ragged_interleaving);
    f.keep("sources");
}

}  // namespace memwall
