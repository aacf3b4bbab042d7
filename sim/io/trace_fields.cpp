#include "sim/io/trace_fields.h"

#include <limits>
#include <utility>

#include "sim/model/names.h"

namespace memwall {
namespace {

constexpr double kLaunchesMax = 100'000;  // kernels behind one op; each costs the host time only
constexpr double kCallsMax = 1'000;       // each is an op of its own
constexpr double kKernelFlopsMax = 1e21;  // the largest card takes a week for it

// A key that is written only when the value is not the usual one.
template <class T>
void unless(Fields& f,
            std::string_view key,
            T& value,
            const std::type_identity_t<T>& usual,
            Rules rules = {}) {
    if (f.has(key, value != usual)) {
        f.leaf(key, value, rules);
    }
}

template <class K>
void one_kernel(Fields& f, std::string_view key, Kernel& kernel, int& found) {
    const bool holds = std::holds_alternative<K>(kernel);
    if (!f.has(key, holds)) {
        return;
    }
    K value = holds ? std::get<K>(kernel) : K{};
    f.map(key, value);
    kernel = value;
    ++found;
}

void describe_op(Fields& f, TraceOp& op, TraceItemFile& v) {
    f.leaf("op", op.name, kRequired);
    unless(f, "pass", op.pass, Pass::Forward);
    one_kernel<Gemm>(f, "gemm", op.kernel, v.kernels);
    one_kernel<Attention>(f, "attention", op.kernel, v.kernels);
    one_kernel<MemoryBound>(f, "memory", op.kernel, v.kernels);
    one_kernel<Copy>(f, "copy", op.kernel, v.kernels);
    one_kernel<Measured>(f, "time", op.kernel, v.kernels);
    if (f.has("split", op.split != KernelSplit{})) {
        f.map("split", op.split);
    }
    unless(f, "module", op.module, TraceModule::Other);
    unless(f, "launches", op.launches, 1, at_most(kLaunchesMax));
    unless(f, "per_token", op.per_token, true);
    if (f.has("condition", op.condition.has_value())) {
        ShardCondition condition = op.condition.value_or(ShardCondition{});
        f.map("condition", condition);
        op.condition = condition;
    }
    if (f.has("allocates", !v.allocates.empty())) {
        f.list("allocates", v.allocates);
    }
    if (f.has("frees", !v.frees.empty())) {
        f.list("frees", v.frees);
    }
    if (f.has("measured", op.measured.has_value())) {
        Duration measured = op.measured.value_or(Duration{});
        f.leaf("measured", measured, kNonNegative);
        op.measured = measured;
    }
    unless(f, "measured_on", op.measured_gpu, "");
}

void describe_boundary(Fields& f, TraceBoundary& b) {
    f.leaf("boundary", b.kind, kRequired);
    unless(f, "pass", b.pass, Pass::Forward);
    f.leaf("bytes", b.bytes, kRequired | kNonNegative);
    unless(f, "calls", b.calls, 1, between(1, kCallsMax));
    unless(f, "module", b.module, TraceModule::Other);
}

}  // namespace

EnumNames enum_names(Pass) {
    return {kPassNames};
}
EnumNames enum_names(Split) {
    return {kSplitNames};
}
EnumNames enum_names(TraceModule) {
    return {kTraceModuleNames};
}
EnumNames enum_names(BoundaryKind) {
    return {kBoundaryKindNames};
}
EnumNames enum_names(GemmRole) {
    return {kGemmRoleNames};
}
EnumNames enum_names(AttentionKind) {
    return {kAttentionKindNames};
}
EnumNames enum_names(TensorClass) {
    return {kTensorClassNames};
}

void describe(Fields& f, Gemm& v) {
    f.leaf("m", v.m, kRequired | kPositive);
    f.leaf("n", v.n, kRequired | kPositive);
    f.leaf("k", v.k, kRequired | kPositive);
    unless(f, "batch", v.batch, 1, kPositive);
    unless(f, "dtype", v.dtype, Dtype::Bf16);
    unless(f, "role", v.role, GemmRole::Forward);
    unless(f, "output_bytes", v.output_bytes, 2, between(1, 8));
}

void describe(Fields& f, Attention& v) {
    f.leaf("batch", v.batch, kRequired | kPositive);
    f.leaf("heads", v.heads, kRequired | kPositive);
    f.leaf("kv_heads", v.kv_heads, kRequired | kPositive);
    f.leaf("queries", v.queries, kRequired | kPositive);
    f.leaf("keys", v.keys, kRequired | kPositive);
    f.leaf("head_dim_qk", v.head_dim_qk, kRequired | kPositive);
    f.leaf("head_dim_v", v.head_dim_v, kRequired | kPositive);
    unless(f, "window", v.window, 0, kNonNegative);
    unless(f, "causal", v.causal, true);
    unless(f, "backward", v.backward, false);
    f.leaf("kind", v.kind, kRequired);
    unless(f, "dtype", v.dtype, Dtype::Bf16);
}

void describe(Fields& f, MemoryBound& v) {
    f.leaf("kind", v.kind, kRequired);
    f.leaf("bytes", v.bytes, kRequired | kPositive);
}

void describe(Fields& f, Copy& v) {
    f.leaf("bytes", v.bytes, kRequired | kPositive);
    unless(f, "to_device", v.to_device, true);
}

void describe(Fields& f, Measured& v) {
    f.leaf("duration", v.duration, kRequired | kNonNegative);
    unless(f, "flops", v.flops.value, 0, at_most(kKernelFlopsMax));
}

void describe(Fields& f, KernelSplit& v) {
    unless(f, "m", v.m, Split::None);
    unless(f, "n", v.n, Split::None);
    unless(f, "k", v.k, Split::None);
    unless(f, "batch", v.batch, Split::None);
    unless(f, "bytes", v.bytes, Split::None);
}

void describe(Fields& f, ShardCondition& v) {
    f.leaf("whole", v.whole, kRequired | kPositive);
    f.leaf("multiple", v.multiple, kRequired | kPositive);
    f.leaf("holds", v.holds, kRequired);
}

void describe(Fields& f, TraceTensor& v) {
    f.leaf("name", v.name, kRequired);
    f.leaf("bytes", v.bytes, kRequired | kNonNegative);
    unless(f, "split", v.split, Split::None);
    unless(f, "memory", v.memory, TensorClass::Activations);
    unless(f, "saved", v.saved, false);
    unless(f, "module", v.module, TraceModule::Other);
    unless(f, "input", v.input, false);
    unless(f, "only_sequence_parallel", v.only_sequence_parallel, false);
    unless(f, "persistent", v.persistent, false);
    unless(f, "per_token", v.per_token, true);
    if (f.has("last_forward_item", v.last_forward_item >= 0)) {
        std::int64_t item = v.last_forward_item;
        f.leaf("last_forward_item", item, at_most(std::numeric_limits<std::int32_t>::max()));
        v.last_forward_item = static_cast<std::int32_t>(item);
    }
}

void describe(Fields& f, ParameterTensor& v) {
    f.leaf("name", v.name, kRequired);
    f.leaf("rows", v.rows, kRequired | kPositive);
    unless(f, "columns", v.columns, 1, kPositive);
    unless(f, "copies", v.copies, 1, kPositive);
    unless(f, "split", v.split, Split::None);
    unless(f, "expert", v.expert, false);
    unless(f, "matmul", v.matmul, false);
    unless(f, "tied", v.tied, false);
    unless(f, "trained", v.trained, true);
}

void describe(Fields& f, TraceItemFile& v) {
    if (f.has("boundary", v.item.boundary.has_value())) {
        TraceBoundary boundary = v.item.boundary.value_or(TraceBoundary{});
        describe_boundary(f, boundary);
        v.item.boundary = boundary;
        return;
    }
    TraceOp op = v.item.op.value_or(TraceOp{});
    describe_op(f, op, v);
    v.item.op = std::move(op);
}

void describe(Fields& f, TraceKindFile& v) {
    f.leaf("kind", v.layer.kind, kRequired);
    unless(f, "active_expert_share", v.layer.active_expert_share, 1, kShare);
    f.list("parameters", v.layer.parameters);
    f.list("tensors", v.layer.tensors);
    f.list("forward", v.forward, kRequired);
    f.list("backward", v.backward, kRequired);
}

void describe(Fields& f, LayerRun& v) {
    f.leaf("kind", v.kind, kRequired);
    unless(f, "layers", v.layers, 1, kPositive);
}

void describe(Fields& f, TraceFile& v) {
    f.leaf("name", v.trace.name, kRequired);
    unless(f, "source", v.trace.source, "");
    f.leaf("tokens", v.trace.tokens, kRequired | kPositive);
    f.leaf("sequence", v.trace.sequence, kRequired | kPositive);
    f.leaf("boundary_bytes", v.trace.boundary_bytes, kRequired | kNonNegative);
    f.leaf("parameters", v.trace.parameters, kRequired | kNonNegative);
    f.leaf("active_parameters", v.trace.active_parameters, kNonNegative);
    f.leaf("matmul_parameters", v.trace.matmul_parameters, kRequired | kNonNegative);
    f.leaf("attention_flops_factor", v.trace.attention_flops_factor, kNonNegative);
    unless(f, "window", v.trace.window, 0, kNonNegative);
    unless(f, "tied_embeddings", v.trace.tied_embeddings, false);
    f.leaf("embedding", v.embedding, kRequired);
    f.leaf("head", v.head, kRequired);
    f.list("layers", v.layers, kRequired);
    f.list("kinds", v.kinds, kRequired);
}

}  // namespace memwall
