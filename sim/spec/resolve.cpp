#include "sim/spec/resolve.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/spec/degrees.h"
#include "sim/spec/law.h"
#include "sim/spec/layout.h"
#include "sim/spec/legality.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

// One job of the plan with its part of the document. Paths of derivations get `prefix`, "" or "background[0].scenario.".
struct JobPart {
    Job& job;
    const DocNode& document;
    std::string prefix;
    Derivations& derivations;

    [[nodiscard]] bool given(std::string_view path) const { return document.at(path) != nullptr; }
    void derive(std::string_view path, std::string_view from) {
        derivations[prefix + std::string(path)] = from;
    }
};

// Machine sizes that the later products rely on.
bool check_machine_sizes(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    const Cluster& cluster = plan.machine.cluster;
    const std::size_t before = diagnostics.errors();
    const auto limit = [&](const char* path, std::int64_t value, std::int64_t most) {
        if (value > most) {
            diagnostics
                .error("E0336",
                       place_at(composed, path),
                       fmt::format("{} {} is beyond what is simulated", path, value))
                .hint = fmt::format("it must be at most {}", most);
        }
    };
    limit("machine.cluster.node.gpus", cluster.node.gpus, 1024);
    limit("machine.cluster.node.nics", cluster.node.nics, 1024);
    limit(
        "machine.cluster.node.nodes_per_nvlink_domain", cluster.node.nodes_per_nvlink_domain, 4096);
    limit("machine.cluster.nodes_max", cluster.nodes_max, 1 << 20);
    limit("run.steps", plan.run.steps, 1000);
    limit("background", static_cast<std::int64_t>(plan.jobs.size()) - 1, 1000);
    for (const Job& job : plan.jobs) {
        limit("machine.nodes", std::int64_t{job.first_node} + job.nodes, 1 << 20);
    }
    return diagnostics.errors() == before;
}

void take_choices_of_stack(JobPart& part) {
    Model& model = part.job.model;
    const StackKernels& kernels = part.job.stack.kernels;
    if (model.attention == AttentionImplementation::Auto) {
        const bool known = kernels.attention != AttentionImplementation::Auto;
        model.attention = known ? kernels.attention : AttentionImplementation::Unfused;
        part.derive("workload.model.attention.implementation", kFromStack);
    }
    if (model.loss == LossImplementation::Auto) {
        const bool known = kernels.loss != LossImplementation::Auto;
        model.loss = known ? kernels.loss : LossImplementation::Unfused;
        part.derive("workload.model.loss", kFromStack);
    }
}

// The bytes of a gradient are `training.precision.gradient_bytes`, for memory and communication alike. A stack that
// accumulates in fp32 (Megatron's main_grad) decides them where the scenario names neither a policy nor the bytes.
void take_precision(JobPart& part) {
    Precision& precision = part.job.training.precision;
    const DocNode* given = part.document.at("training.precision");
    const bool policy = given != nullptr && (given->kind == DocNode::Kind::Scalar ||
                                             part.given("training.precision.name"));
    const bool of_stack = part.job.stack.memory.fp32_gradients && !policy &&
                          !part.given("training.precision.gradient_bytes");
    if (of_stack) {
        const Precision wide = *find_precision("bf16_mixed_fp32_gradients");
        precision.name = wide.name;
        precision.gradient_bytes = wide.gradient_bytes;
        part.derive("training.precision.name", kFromStack);
    }
    for (const char* key :
         {"compute", "weight_bytes", "gradient_bytes", "master_bytes", "moment_bytes"}) {
        const std::string path = fmt::format("training.precision.{}", key);
        if (!part.given(path) && (of_stack || given != nullptr)) {
            part.derive(path, of_stack ? kFromStack : kFromDerived);
        }
    }
}

// As wide as what it reduces. Narrower formats than 16 bits are not reduced in.
Dtype reduce_dtype_of(const Precision& precision) {
    if (precision.gradient_bytes >= 4) {
        return Dtype::Fp32;
    }
    return precision.compute == Dtype::Fp16 ? Dtype::Fp16 : Dtype::Bf16;
}

// What follows from another value of the same scenario when it is not given.
void take_dependent_defaults(JobPart& part) {
    Job& job = part.job;
    if (!part.given("parallel.schedule") && job.parallel.vpp > 1) {
        job.parallel.schedule = Schedule::Interleaved;
        part.derive("parallel.schedule", kFromDerived);
    }
    Precision& precision = job.training.precision;
    take_precision(part);
    if (job.training.optimizer == OptimizerKind::Sgd &&
        !part.given("training.precision.moment_bytes")) {
        precision.moment_bytes =
            precision.master_bytes > 0
                ? 4
                : precision.weight_bytes;  // one momentum, as wide as the master copy
        part.derive("training.precision.moment_bytes", kFromDerived);
    }
    if (!part.given("parallel.gradients.reduce_dtype")) {
        job.parallel.gradients.reduce_dtype = reduce_dtype_of(precision);
        part.derive("parallel.gradients.reduce_dtype", kFromDerived);
    }
    if (job.training.recompute == RecomputeKind::Selective &&
        job.training.recompute_modules.empty()) {
        job.training.recompute_modules = {RecomputeModule::AttentionCore};
        part.derive("training.recompute_modules", kFromDerived);
        part.derive("training.recompute_modules[0]", kFromDerived);
    }
}

// FSDP and ZeRO-3 reduce unit by unit, whatever the bucket.
void take_bucket(JobPart& part) {
    Job& job = part.job;
    const ShardingKind sharding = job.parallel.sharding.kind;
    const bool by_unit = sharding == ShardingKind::Fsdp || sharding == ShardingKind::Hsdp ||
                         sharding == ShardingKind::Zero3;
    if (!job.stack.overlap.gradient_reduce || by_unit || part.given("parallel.gradients.bucket")) {
        return;
    }
    const StackBucket& bucket = job.stack.overlap.gradient_bucket;
    const std::int64_t elements =
        std::max(bucket.elements,
                 product(bucket.elements_per_rank, product(job.degrees.dp, job.degrees.cp)));
    const double bytes =
        static_cast<double>(elements) * bytes_per_element(job.parallel.gradients.reduce_dtype);
    job.parallel.gradients.bucket = std::max(bucket.bytes, Bytes(static_cast<std::int64_t>(bytes)));
    if (job.parallel.gradients.bucket.value == 0) {
        return;
    }
    part.derive("parallel.gradients.bucket", kFromStack);
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

void derive_model(JobPart& part, const Model& before) {
    if (before.kv_heads != part.job.model.kv_heads) {
        part.derive("workload.model.kv_heads", kFromDerived);
    }
    if (before.head_dim != part.job.model.head_dim) {
        part.derive("workload.model.head_dim", kFromDerived);
    }
}

FoundDegrees resolve_degrees(JobPart& part, const JobCheck& check) {
    Job& job = part.job;
    std::vector<std::string> derived;
    const FoundDegrees found = find_degrees(check, derived);
    job.degrees = found.degrees;
    if (!found.sound) {
        return found;
    }
    job.parallel.tp = job.degrees.tp;
    job.parallel.pp = job.degrees.pp;
    job.parallel.cp = job.degrees.cp;
    job.parallel.dp = job.degrees.dp;
    if (job.parallel.sharding.kind != ShardingKind::None) {
        job.parallel.sharding.shard = job.degrees.shard;
        job.parallel.sharding.replicate = job.degrees.replicate;
    }
    for (const std::string& path : derived) {
        part.derive(path, kFromDerived);
    }
    return found;
}

void require_sequence(const JobCheck& check) {
    if (check.job.sequence == 0) {
        check.error("E0202", "workload", "key 'sequence' is missing in 'workload'").hint =
            "the tokens of a sequence, such as `sequence: 4096`";
    }
}

void check_positions(const JobCheck& check) {
    const Model& model = check.job.model;
    if (model.position == PositionKind::Learned && model.positions > 0 &&
        check.job.sequence > model.positions) {
        Diagnostic& error =
            check.error("E0335",
                        "workload.sequence",
                        fmt::format("sequence {} exceeds the {} rows of the learned position table",
                                    check.job.sequence,
                                    model.positions));
        error.notes.push_back({check.at("workload.model.positions"), "positions is given here"});
        error.hint =
            fmt::format("a longer table: `workload.with: {{positions: {}}}`", check.job.sequence);
    }
    if (model.position == PositionKind::Rotary && model.positions > 0 &&
        check.job.sequence > model.positions) {
        Diagnostic& warning = check.diagnostics.warning(
            "W0335",
            check.at("workload.sequence"),
            fmt::format("sequence {} exceeds the {} positions that the model states",
                        check.job.sequence,
                        model.positions));
        warning.notes.push_back({check.at("workload.model.positions"), "positions is given here"});
        warning.hint = "rotary positions have no table: it is simulated as it stands";
    }
}

// The rules of the strategy, each as far as the degrees it speaks of are known. Widths and heads of a workload trace are
// known only to its ops (io/trace_split.h).
void check_strategy(const JobCheck& check, const FoundDegrees& found, bool trace) {
    const bool model = check.model_known && !trace;
    if (model) {
        check_positions(check);
        check_experts(check);
    }
    if (found.tp && model) {
        check_tensor_parallel(check);
    }
    if (found.tp && check.machine_known) {
        warn_beyond_nvlink(check);
    }
    if (found.tp && found.cp && model) {
        check_context_parallel(check);
    }
    if (found.sound && (model || trace)) {
        check_expert_ranks(check);
    }
    if (found.pp) {
        check_schedule(check);
    }
    if (found.pp && check.job.micro_batches > 0) {
        check_rounds(check);
    }
}

// The degrees came with the file. Expert groups divide the data-parallel ranks; the ranks of one position in them share
// their experts.
void resolve_executed_job(JobPart& part, const JobCheck& check) {
    if (!resolve_degrees(part, check).sound) {
        return;
    }
    Degrees& d = part.job.degrees;
    if (d.dp % d.ep != 0) {
        Diagnostic& error = check.error(
            "E0325", "parallel.ep", fmt::format("ep {} does not divide dp {}", d.ep, d.dp));
        error.notes.push_back({check.at("machine.nodes"),
                               fmt::format("dp is the GPUs / (tp {} x pp {})", d.tp, d.pp)});
        error.hint = fmt::format("divisors of {}: {}", d.dp, divisors_of(d.dp, d.dp));
        return;
    }
    d.shard = d.ep;
    d.replicate = d.dp / d.ep;
    part.job.micro_batches = 1;
}

void resolve_job(JobPart& part, const JobCheck& check) {
    Job& job = part.job;
    const std::size_t before = check.diagnostics.errors();
    check_sizes(check);
    if (check.diagnostics.errors() != before) {
        return;  // later products might not fit
    }
    if (job.is_executed()) {
        resolve_executed_job(part, check);
        return;
    }
    const bool trace = !job.trace_file.empty();
    if (trace && !part.given("workload.sequence")) {
        part.derive("workload.sequence", kFromDerived);
    }
    if (!trace && check.model_known) {
        require_sequence(check);
        const Model model = job.model;
        const DocNode* document = part.document.at("workload.model");
        complete_model(
            job.model, document == nullptr ? part.document : *document, check.diagnostics);
        derive_model(part, model);
        take_choices_of_stack(part);
    }
    take_dependent_defaults(part);
    const FoundDegrees found = resolve_degrees(part, check);
    if (found.dp) {
        job.micro_batches = find_micro_batches(check).value_or(0);
    }
    if (found.dp && check.stack_known) {
        take_bucket(part);
    }
    check_strategy(check, found, trace);
    if (found.pp && check.model_known) {
        job.stages = lay_out_stages(check);
    }
    check_recompute(check);
    if (!trace) {
        check_recipe(check);
    }
    if (check.diagnostics.errors() != before || !found.sound) {
        return;
    }
    if (!trace) {
        job.padded_vocabulary =
            round_up(job.model.vocabulary, product(job.stack.vocabulary_multiple, job.degrees.tp));
        check_buckets(check, stage_gradients(job));
        warn_shapes(check);
    }
}

}  // namespace

bool complete_model(Model& model, const DocNode& document, Diagnostics& diagnostics) {
    const std::size_t before = diagnostics.errors();
    const auto error = [&](const char* code, const char* path, std::string text, std::string hint) {
        diagnostics.error(code, place_at(document, path), std::move(text)).hint = std::move(hint);
    };
    if (model.kv_heads == 0) {
        model.kv_heads = model.heads;
    }
    if (model.heads % model.kv_heads != 0) {
        error("E0501",
              "kv_heads",
              fmt::format("{} kv heads do not divide {} heads", model.kv_heads, model.heads),
              "each kv head serves an equal number of heads");
    }
    if (model.head_dim == 0 && model.mla.kv_rank > 0) {
        model.head_dim = model.mla.nope_dim + model.mla.rope_dim;
    } else if (model.head_dim == 0 && model.hidden % model.heads == 0) {
        model.head_dim = model.hidden / model.heads;
    } else if (model.head_dim == 0) {
        error("E0502",
              "heads",
              fmt::format("{} heads do not divide hidden {}", model.heads, model.hidden),
              "give head_dim if it is not hidden / heads");
    }
    if (model.mla.kv_rank > 0 && (model.mla.nope_dim == 0 || model.mla.v_dim == 0)) {
        error("E0503",
              "mla",
              "mla with kv_rank needs nope_dim and v_dim",
              "as in DeepSeek-V3: nope_dim 128, rope_dim 64, v_dim 128");
    }
    const Moe& moe = model.moe;
    if (moe.experts > 0 && (moe.top_k == 0 || moe.ffn == 0)) {
        error("E0504",
              "moe",
              "experts need top_k and ffn",
              "top_k: experts per token; ffn: width of one expert");
    }
    if (moe.experts > 0 && moe.top_k > moe.experts) {
        error("E0504",
              "moe.top_k",
              fmt::format("top_k {} exceeds {} experts", moe.top_k, moe.experts),
              "");
    }
    if (!moe.layers.empty() && static_cast<std::int64_t>(moe.layers.size()) != model.layers) {
        error("E0504",
              "moe.layers",
              fmt::format(
                  "moe.layers lists {} layers, the model has {}", moe.layers.size(), model.layers),
              "one true or false per layer");
    }
    if (moe.experts == 0 && model.ffn == 0) {
        error("E0505",
              "ffn",
              "ffn is 0 in a model without experts",
              "ffn is the width of the feed-forward layer");
    }
    return diagnostics.errors() == before;
}

void resolve(Plan& plan,
             const DocNode& composed,
             Derivations& derivations,
             Diagnostics& diagnostics) {
    if (plan.name.empty()) {
        plan.name = "scenario";
        derivations["name"] = kFromDerived;
    }
    plan.jobs.front().name = plan.name;
    if (!check_machine_sizes(plan, composed, diagnostics)) {
        return;
    }
    take_law(plan.machine, composed, derivations, diagnostics);
    plan.machine.nodes = 0;
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
        Job& job = plan.jobs[j];
        plan.machine.nodes = std::max(plan.machine.nodes, job.first_node + job.nodes);
        const DocNode* document = &composed;
        std::string prefix;
        if (j > 0) {
            document = composed.find("background")->items[j - 1].find("scenario");
            prefix = fmt::format("background[{}].scenario.", j - 1);
        }
        if (document->unresolved) {
            continue;
        }
        JobCheck check{job, plan.machine, *document, diagnostics};
        check.machine_known =
            is_known(composed, "machine.cluster") && is_known(composed, "machine.cluster.node");
        check.model_known = is_known(*document, "workload.model");
        check.stack_known = is_known(*document, "stack");
        JobPart part{job, *document, std::move(prefix), derivations};
        resolve_job(part, check);
    }
    check_placement(plan, composed, diagnostics);
}

}  // namespace memwall
