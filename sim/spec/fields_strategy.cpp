#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/diagnostics.h"
#include "sim/spec/fields_work.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

// The name of a policy brings its bytes with it; keys that follow override them.
struct PrecisionName : TextForm {
    explicit PrecisionName(Precision& target) : precision(target) {}
    Problem read(const std::string& text) override {
        const std::optional<Precision> policy = find_precision(text);
        if (policy) {
            precision = *policy;
            return {};
        }
        const std::string_view near = nearest(text, precision_names());
        return {fmt::format("'{}' is not a precision policy", text),
                (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) + wanted()};
    }
    [[nodiscard]] std::string write() const override { return precision.name; }
    [[nodiscard]] std::string wanted() const override {
        return fmt::format("policies: {}", fmt::join(precision_names(), ", "));
    }
    Precision& precision;
};

}  // namespace

void describe(Fields& f, Batch& v) {
    f.leaf("global", v.global, kRequired | kPositive);
    f.leaf("micro", v.micro, kPositive);
}

void describe(Fields& f, Sharding& v) {
    f.leaf("kind", v.kind, kRequired);
    f.leaf("shard", OptionalLeaf{&v.shard, "auto"}, kPositive);
    f.leaf("replicate", OptionalLeaf{&v.replicate, "auto"}, kPositive);
    f.leaf("unit", v.unit);
    f.leaf("prefetch", v.prefetch, kNonNegative);
    f.leaf("reshard_after_forward", v.reshard_after_forward);
    f.leaf("sync_every_micro_batch", v.sync_every_micro_batch);
}

void describe(Fields& f, Gradients& v) {
    f.leaf("bucket", v.bucket, kNonNegative);
    f.leaf("reduce_dtype", v.reduce_dtype);
}

void describe(Fields& f, Parallel& v) {
    f.leaf("tp", OptionalLeaf{&v.tp, "auto"}, kPositive);
    f.leaf("pp", OptionalLeaf{&v.pp, "auto"}, kPositive);
    f.leaf("vpp", v.vpp, kPositive);
    f.leaf("cp", OptionalLeaf{&v.cp, "auto"}, kPositive);
    f.leaf("cp_kind", v.cp_kind);
    f.leaf("ep", v.ep, kPositive);
    f.leaf("etp", v.etp, kPositive);
    f.leaf("dp", OptionalLeaf{&v.dp, "auto"}, kPositive);
    f.leaf("sequence_parallel", v.sequence_parallel);
    f.leaf("schedule", v.schedule);
    const Shape layout =
        v.stage_layout.kind == StageLayoutKind::Explicit ? Shape::List : Shape::Scalar;
    if (f.shape("stage_layout", layout) == Shape::List) {
        v.stage_layout.kind = StageLayoutKind::Explicit;
        f.list("stage_layout", v.stage_layout.layers, kNonNegative);
    } else {
        f.leaf("stage_layout", v.stage_layout.kind);
    }
    f.map("sharding", v.sharding, {}, "kind");
    f.map("gradients", v.gradients);
}

void describe(Fields& f, Precision& v) {
    PrecisionName name(v);
    f.leaf("name", name);
    f.leaf("compute", v.compute);
    f.leaf("weight_bytes", v.weight_bytes, between(0.125, 16));
    f.leaf("gradient_bytes", v.gradient_bytes, between(0.125, 16));
    f.leaf("master_bytes", v.master_bytes, zero_or(0.125, 16));
    f.leaf("moment_bytes", v.moment_bytes, zero_or(0.125, 64));
}

void describe(Fields& f, Training& v) {
    f.map("precision", v.precision, {}, "name");
    f.leaf("recipe", v.recipe);
    f.leaf("recipe_skips_first", v.recipe_skips_first, kNonNegative);
    f.leaf("recipe_skips_last", v.recipe_skips_last, kNonNegative);
    f.leaf("optimizer", v.optimizer);
    f.leaf("recompute", v.recompute);
    f.list("recompute_modules", v.recompute_modules);
    f.leaf("recompute_layers", OptionalLeaf{&v.recompute_layers, "all"}, kNonNegative);
}

}  // namespace memwall
