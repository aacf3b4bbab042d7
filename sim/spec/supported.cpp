#include "sim/spec/supported.h"

#include <fmt/format.h>

#include "sim/spec/constants.h"
#include "sim/spec/legality.h"
#include "sim/spec/names.h"

namespace memwall {
namespace {

// Context parallelism divides fused attention over full, causal or not, keys.
template <class Refuse>
void check_context(const Job& job, const Refuse& refuse) {
    const int cp = job.degrees.cp;
    const AttentionImplementation attention = job.model.attention != AttentionImplementation::Auto
                                                  ? job.model.attention
                                                  : job.stack.kernels.attention;
    if (!job.trace_file.empty() || job.is_executed()) {
        refuse("parallel.cp",
               fmt::format("context parallelism (cp {}) of a workload that is not a model", cp),
               "say `cp: 1`, or describe the model");
    } else if (attention == AttentionImplementation::Unfused) {
        refuse("parallel.cp",
               fmt::format("context parallelism (cp {}) with unfused attention", cp),
               "say `workload.model.attention: flash2`, or `cp: 1`");
    } else if (job.model.window > 0 && job.model.window < job.sequence) {
        refuse(
            "parallel.cp",
            fmt::format(
                "context parallelism (cp {}) with an attention window of {}", cp, job.model.window),
            "say `cp: 1`");
    }
}

void check_job(const JobCheck& check) {
    const Job& job = check.job;
    const auto refuse = [&](std::string_view path, std::string text, std::string hint) {
        check.error("E0390", path, std::move(text) + " is not simulated in this release").hint =
            std::move(hint);
    };
    if (job.degrees.cp > 1) {
        check_context(job, refuse);
    }
    if (job.training.recipe != Recipe::None && !job.trace_file.empty()) {
        refuse("training.recipe",
               fmt::format("recipe {} of a workload trace", name_of(job.training.recipe)),
               "the trace says in which format its products compute");
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
    // The host would wait for its own sends before it posts the receive that a peer waits for in the same way.
    if (job.degrees.pp > 1 && job.stack.host.drain_each_micro_batch &&
        job.stack.overlap.p2p == P2pKind::Overlapped) {
        refuse("stack",
               "a host that waits for the GPU at each micro-batch (host.drain_each_micro_batch) "
               "beside "
               "messages that overlap (overlap.p2p)",
               "say `host.drain_each_micro_batch: false`, or `overlap.p2p: batched`");
    }
    if (job.parallel.sharding.kind != ShardingKind::None && job.parallel.sharding.unit != "block") {
        refuse("parallel.sharding.unit",
               fmt::format("sharding unit '{}'", job.parallel.sharding.unit),
               "say `unit: block`");
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
    }
    check_constants(plan, composed, diagnostics);
    return diagnostics.errors() == before;
}

}  // namespace memwall
