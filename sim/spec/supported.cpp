#include "sim/spec/supported.h"

#include <fmt/format.h>

#include "sim/spec/legality.h"
#include "sim/spec/names.h"

namespace memwall {
namespace {

void check_job(const JobCheck& check) {
    const Job& job = check.job;
    const auto refuse = [&](std::string_view path, std::string text, std::string hint) {
        check.error("E0390", path, std::move(text) + " is not simulated in this release").hint =
            std::move(hint);
    };
    if (job.degrees.cp > 1) {
        refuse("parallel.cp",
               fmt::format("context parallelism (cp {})", job.degrees.cp),
               "say `cp: 1`; sequence_parallel with tp shares the sequence too");
    }
    if (job.degrees.ep > 1 && !job.is_executed()) {
        refuse("parallel.ep",
               fmt::format("expert parallelism (ep {})", job.degrees.ep),
               "say `ep: 1` and a model without experts");
    }
    if (job.model.moe.experts > 0) {
        refuse("workload.model.moe.experts",
               fmt::format("a step of a model with {} experts", job.model.moe.experts),
               "`memwall trace` shows its layers; dense models run");
    }
    if (job.parallel.sharding.kind != ShardingKind::None && job.parallel.sharding.unit != "block") {
        refuse("parallel.sharding.unit",
               fmt::format("sharding unit '{}'", job.parallel.sharding.unit),
               "say `unit: block`");
    }
}

// Half and single precision follow the bf16 constants (sim/hardware); narrower formats need their own.
template <class T>
bool covers(const std::map<Dtype, T>& rates, Dtype dtype) {
    const bool follows = dtype == Dtype::Fp16 || dtype == Dtype::Fp32 || dtype == Dtype::Tf32;
    return rates.contains(dtype) || (follows && rates.contains(Dtype::Bf16));
}

void check_constants(const JobCheck& check) {
    const Gpu& gpu = check.machine.cluster.node.gpu;
    const Dtype dtype = check.job.training.precision.compute;
    const auto lacks = [&](const char* table) {
        Diagnostic& error =
            check.error("E0401",
                        "machine.cluster.node.gpu",
                        fmt::format("gpu '{}' has no {} for {}", gpu.name, table, name_of(dtype)));
        error.notes.push_back({check.at("training.precision"),
                               fmt::format("the precision computes in {}", name_of(dtype))});
        error.hint = "choose another precision, or add the constants to the gpu file";
    };
    if (!covers(gpu.gemm, dtype)) {
        lacks("gemm rates");
    }
    if (!gpu.peak.contains(dtype)) {
        lacks("peak rate");
    }
    const AttentionImplementation attention = check.job.model.attention;
    const bool fused =
        attention != AttentionImplementation::Unfused && attention != AttentionImplementation::Auto;
    const bool has = covers(gpu.attention_forward, dtype) && covers(gpu.attention_backward, dtype);
    const bool has_flash2 = covers(gpu.flash2_forward, dtype) && covers(gpu.flash2_backward, dtype);
    if (fused && check.job.trace_file.empty() && !has &&
        !(attention == AttentionImplementation::Flash2 && has_flash2)) {
        lacks("rates of fused attention");
    }
}

}  // namespace

bool check_supported(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    const std::size_t before = diagnostics.errors();
    const auto refuse = [&](std::string_view path, std::string text, std::string hint) {
        diagnostics
            .error("E0390",
                   place_at(composed, path),
                   std::move(text) + " is not simulated in this release")
            .hint = std::move(hint);
    };
    if (plan.machine.routing == Routing::Ecmp) {
        refuse("machine.network.routing", "routing by hashed flows (ecmp)", "say `routing: even`");
    }
    const std::vector<RankAxis> order = {RankAxis::Tp, RankAxis::Cp, RankAxis::Dp, RankAxis::Pp};
    if (plan.machine.rank_order != order) {
        refuse("machine.placement.order", "this order of ranks", "say `order: [tp, cp, dp, pp]`");
    }
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
        const DocNode* document =
            j == 0 ? &composed : composed.find("background")->items[j - 1].find("scenario");
        const JobCheck check{plan.jobs[j], plan.machine, *document, diagnostics};
        check_job(check);
        if (!plan.jobs[j].is_executed()) {  // its kernels need no constants
            check_constants(check);
        }
    }
    return diagnostics.errors() == before;
}

}  // namespace memwall
