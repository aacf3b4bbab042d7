#include "sim/parallel/optimizer_traffic.h"

namespace memwall {
namespace {

constexpr double kFp32 = 4;

// pytorch torch/optim/adam.py, _single_tensor_adam: lerp_ (m: 2, g), mul_ (v: 2), addcmul_ (v: 2, g), sqrt (v, temporary),
// div (two temporaries), add_ (temporary: 2), addcdiv_ (p: 2, m, temporary). m is accessed 3 times, v 5 times, each half of
// the moments. AdamW multiplies the parameter by the decay first (mul_, p: 2).
constexpr UpdateAccesses kAdam = {
    .gradient = 2, .parameter = 2, .moments = (3 + 5) / 2.0, .temporaries = 6, .kernels = 7};
constexpr UpdateAccesses kAdamW = {
    .gradient = 2, .parameter = 4, .moments = (3 + 5) / 2.0, .temporaries = 6, .kernels = 8};
// torch/optim/sgd.py, _single_tensor_sgd with momentum: mul_ (b: 2), add_ (b: 2, g), add_ (p: 2, b).
constexpr UpdateAccesses kSgd = {
    .gradient = 1, .parameter = 2, .moments = 5, .temporaries = 0, .kernels = 3};
constexpr UpdateAccesses kFused = {
    .gradient = 1, .parameter = 2, .moments = 2, .temporaries = 0, .kernels = 1};

}  // namespace

bool is_fused(OptimizerKind kind, const StackKernels& kernels) {
    return kernels.fused_optimizer || kind == OptimizerKind::AdamWFused;
}

UpdateAccesses update_accesses(OptimizerKind kind, bool fused) {
    if (fused) {
        return kFused;
    }
    switch (kind) {
    case OptimizerKind::Adam:
        return kAdam;
    case OptimizerKind::AdamW:
        return kAdamW;
    case OptimizerKind::AdamWFused:
        return kFused;
    case OptimizerKind::Sgd:
        return kSgd;
    }
    return kFused;
}

double optimizer_bytes_per_parameter(const Training& training, const StackKernels& kernels) {
    const Precision& p = training.precision;
    const OptimizerPasses& passes = kernels.optimizer;
    const bool copies = passes.gradients_to_fp32 && p.gradient_bytes < kFp32;
    const double gradient = copies ? kFp32 : p.gradient_bytes;
    const double updated = p.master_bytes > 0 ? p.master_bytes : p.weight_bytes;
    const UpdateAccesses a =
        update_accesses(training.optimizer, is_fused(training.optimizer, kernels));
    double bytes = a.gradient * gradient + a.parameter * updated + a.moments * p.moment_bytes +
                   a.temporaries * updated;
    bytes += copies ? p.gradient_bytes + kFp32 : 0;
    bytes += passes.unscale && p.compute == Dtype::Fp16 ? 2 * gradient : 0;
    bytes += passes.clip ? 2 * gradient : 0;
    if (p.master_bytes > 0) {
        bytes += p.weight_bytes + (passes.weights_apart ? p.master_bytes : 0);
    }
    return bytes;
}

}  // namespace memwall
