#include "sim/analyze/fit.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace memwall {
namespace {

TensorClass largest_class(const TensorBytes& bytes) {
    const auto most = std::max_element(bytes.begin(), bytes.end());
    return static_cast<TensorClass>(most - bytes.begin());
}

void levers_for_states(const Job& job, std::vector<std::string>& levers) {
    const ShardingKind kind = job.parallel.sharding.kind;
    const int replicas = job.degrees.dp * job.degrees.cp;
    if (replicas > 1 && kind == ShardingKind::None) {
        levers.push_back(
            fmt::format("shard the optimizer states over the {} data-parallel ranks "
                        "(parallel.sharding.kind: zero1), or all states (zero3, fsdp)",
                        replicas));
    } else if (replicas > 1 && (kind == ShardingKind::Zero1 || kind == ShardingKind::Zero2)) {
        levers.emplace_back(
            "shard weights and gradients as well (parallel.sharding.kind: zero3 or fsdp)");
    }
    levers.push_back(fmt::format(
        "more tensor or pipeline parallelism (tp {}, pp {}): every state divides by tp x pp",
        job.degrees.tp,
        job.degrees.pp));
}

void levers_for_activations(const Job& job, std::vector<std::string>& levers) {
    if (job.training.recompute != RecomputeKind::Full) {
        levers.emplace_back(job.training.recompute == RecomputeKind::None
                                ? "recompute activations (training.recompute: selective, then full)"
                                : "recompute whole layers (training.recompute: full)");
    }
    if (job.degrees.tp > 1 && !job.parallel.sequence_parallel) {
        levers.emplace_back("split norms and residuals over tp (parallel.sequence_parallel: true)");
    }
    if (job.batch.micro > 1) {
        levers.push_back(
            fmt::format("a smaller micro-batch (batch.micro: {})", job.batch.micro / 2));
    }
    if (job.parallel.schedule == Schedule::GPipe) {
        levers.emplace_back("keep fewer micro-batches in flight (parallel.schedule: 1f1b)");
    }
}

std::vector<std::string> levers_for(const Plan& plan, TensorClass tipped) {
    const Job& job = plan.jobs.front();
    std::vector<std::string> levers;
    switch (tipped) {
    case TensorClass::Parameters:
    case TensorClass::MasterWeights:
    case TensorClass::Gradients:
    case TensorClass::OptimizerStates:
        levers_for_states(job, levers);
        break;
    case TensorClass::Activations:
    case TensorClass::Recompute:
        levers_for_activations(job, levers);
        break;
    case TensorClass::LogitsLoss:
        if (job.model.loss != LossImplementation::Fused) {
            levers.emplace_back("a fused loss (workload.with: loss: fused)");
        }
        levers.push_back(
            fmt::format("more tensor parallelism (tp {}): logits divide by tp", job.degrees.tp));
        break;
    case TensorClass::GatheredShards:
        levers.emplace_back(
            "gather fewer units at a time (parallel.sharding.prefetch, reshard_after_forward: "
            "true)");
        break;
    case TensorClass::GradientBuckets:
        levers.emplace_back("smaller gradient buckets (parallel.gradients.bucket)");
        break;
    case TensorClass::CommunicationBuffers:
    case TensorClass::Workspaces:
    case TensorClass::Context:
        break;
    }
    levers.push_back(fmt::format("a larger card than {} (machine.with: node.gpu)",
                                 plan.machine.cluster.node.gpu.name));
    return levers;
}

}  // namespace

std::vector<StageMemory> stage_memory(const Plan& plan, const RunResult& result) {
    const Gpu& gpu = plan.machine.cluster.node.gpu;
    std::vector<StageMemory> stages;
    for (std::size_t stage = 0; stage < result.memory.size(); ++stage) {
        const MemoryPeak& peak = result.memory[stage];
        stages.push_back({static_cast<int>(stage),
                          peak,
                          gpu.usable.value,
                          gpu.memory.value,
                          gpu.usable.value - peak.device});
    }
    return stages;
}

FitVerdict fit_verdict(const Plan& plan, const std::vector<StageMemory>& stages, Bytes host_bytes) {
    MW_CHECK(!stages.empty(), "a verdict needs stages");
    const auto fullest = std::min_element(
        stages.begin(), stages.end(), [](const StageMemory& a, const StageMemory& b) {
            return a.margin < b.margin;
        });
    const Node& node = plan.machine.cluster.node;
    FitVerdict verdict;
    verdict.stage = fullest->stage;
    verdict.margin = fullest->margin;
    verdict.where = fullest->peak.where;
    const TensorClass tipped = largest_class(fullest->peak.composition);
    verdict.tensor_class = kTensorClassNames.at(static_cast<std::size_t>(tipped));
    verdict.class_bytes = fullest->peak.composition.at(static_cast<std::size_t>(tipped));
    verdict.host_needed = host_bytes.value * node.gpus;
    verdict.host_capacity = node.host_memory.value;
    const bool host_fits = verdict.host_needed == 0 || verdict.host_needed <= verdict.host_capacity;
    verdict.fits = verdict.margin >= 0 && host_fits;
    if (!verdict.fits) {
        verdict.levers = levers_for(plan, tipped);
    }
    return verdict;
}

}  // namespace memwall
