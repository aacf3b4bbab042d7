#include "sim/io/executed.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/analyze/metrics.h"
#include "sim/spec/legality.h"

namespace memwall {
namespace {

bool uses(const AstraWorkload& workload, GroupRole role) {
    const auto has = [role](const AstraPass& pass) {
        return pass.collective && pass.collective->role == role;
    };
    return std::any_of(
        workload.layers.begin(), workload.layers.end(), [&](const AstraLayer& layer) {
            return has(layer.forward) || has(layer.input_gradient) || has(layer.weight_gradient);
        });
}

bool is_hybrid(AstraKeyword keyword) {
    switch (keyword) {
    case AstraKeyword::Micro:
    case AstraKeyword::Data:
    case AstraKeyword::Model:
        return false;
    case AstraKeyword::HybridDataModel:
    case AstraKeyword::HybridModelData:
    case AstraKeyword::HybridTransformer:
    case AstraKeyword::HybridTransformerForwardInBackward:
        return true;
    }
    return false;
}

// Ranks of one axis as the file has them, and the words of the file that say so.
struct Stated {
    std::optional<std::int64_t> degree;
    std::string by;
};

class Completer {
  public:
    Completer(Job& job,
              const JobCheck& check,
              const AstraWorkload& workload,
              std::string prefix,
              Derivations& derivations)
        : job_(job),
          check_(check),
          workload_(workload),
          header_(workload.header),
          keyword_(name_of(workload.header.keyword)),
          prefix_(std::move(prefix)),
          derivations_(derivations),
          gpus_(product(job.nodes, check.machine.cluster.node.gpus)) {}

    void run() {
        check_gpus();
        Parallel& p = job_.parallel;
        p.cp = 1;
        take("tp", p.tp, tensor_parallel());
        take("pp", p.pp, pipeline());
        std::optional<int> ep = p.ep;
        take("ep", ep, experts());
        p.ep = ep.value_or(1);
        if (!given("dp")) {
            derive("dp");
        }
    }

  private:
    [[nodiscard]] bool given(std::string_view axis) const {
        return check_.document.at(fmt::format("parallel.{}", axis)) != nullptr;
    }
    void derive(std::string_view axis) {
        derivations_[fmt::format("{}parallel.{}", prefix_, axis)] = kFromDerived;
    }

    void check_gpus() {
        if (header_.gpus == 0 || header_.gpus == gpus_) {
            return;
        }
        const int per_node = check_.machine.cluster.node.gpus;
        Diagnostic& error =
            check_.error("E0338",
                         "machine.nodes",
                         fmt::format("{} nodes x {} GPUs, but '{}' is of {} GPUs (all_gpus)",
                                     job_.nodes,
                                     per_node,
                                     job_.astra_file,
                                     header_.gpus));
        error.hint = header_.gpus % per_node == 0
                         ? fmt::format("say `nodes: {}`", header_.gpus / per_node)
                         : "the strategy of an executed workload cannot change";
    }

    [[nodiscard]] Stated tensor_parallel() const {
        if (header_.keyword == AstraKeyword::Model) {
            return {gpus_, fmt::format("{} divides every layer over all {} GPUs", keyword_, gpus_)};
        }
        if (!is_hybrid(header_.keyword)) {
            return {1, fmt::format("{} divides no layer", keyword_)};
        }
        if (header_.model_parallel > 0) {
            return {header_.model_parallel,
                    fmt::format("model_parallel_NPU_group is {}", header_.model_parallel)};
        }
        return {std::nullopt,
                fmt::format("{} does not say how many GPUs share a layer "
                            "(model_parallel_NPU_group)",
                            keyword_)};
    }

    [[nodiscard]] Stated pipeline() const {
        return header_.pp > 0 ? Stated{header_.pp, fmt::format("pp is {}", header_.pp)}
                              : Stated{1, "it states no pp"};
    }

    [[nodiscard]] Stated experts() const {
        if (header_.ep > 0) {
            return {header_.ep, fmt::format("ep is {}", header_.ep)};
        }
        if (uses(workload_, GroupRole::Ep) || uses(workload_, GroupRole::Replicate)) {
            return {std::nullopt, "it has collectives of expert groups (_EP), and states no ep"};
        }
        return {1, "it has no collectives of expert groups (_EP)"};
    }

    void take(std::string_view axis, std::optional<int>& degree, const Stated& stated) {
        const std::string path = fmt::format("parallel.{}", axis);
        if (!stated.degree && !given(axis)) {
            check_
                .error(
                    "E0338", "workload.astra", fmt::format("'{}': {}", job_.astra_file, stated.by))
                .hint =
                fmt::format("say how many in the scenario, such as `parallel: {{{}: 8}}`", axis);
            return;
        }
        if (!stated.degree) {
            return;
        }
        if (*stated.degree > gpus_ || (given(axis) && degree && *degree != *stated.degree)) {
            check_
                .error("E0338",
                       given(axis) ? path : "workload.astra",
                       fmt::format("{} {} does not fit '{}': {}",
                                   axis,
                                   given(axis) && degree ? *degree : *stated.degree,
                                   job_.astra_file,
                                   stated.by))
                .hint = fmt::format(
                "leave {} out: the strategy of an executed workload cannot change", axis);
            return;
        }
        degree = static_cast<int>(*stated.degree);
        if (!given(axis)) {
            derive(axis);
        }
    }

    Job& job_;
    const JobCheck& check_;
    const AstraWorkload& workload_;
    const AstraHeader& header_;
    std::string_view keyword_;
    std::string prefix_;
    Derivations& derivations_;
    std::int64_t gpus_;
};

std::string stem_of(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    return dot == 0 || dot == std::string::npos ? name : name.substr(0, dot);
}

}  // namespace

bool check_keys_beside_executed(const DocNode& document, Diagnostics& diagnostics) {
    if (document.at("workload.astra") == nullptr) {
        return true;
    }
    const std::size_t before = diagnostics.errors();
    constexpr std::array<std::string_view, 7> kKeys = {"batch",
                                                       "training",
                                                       "stack",
                                                       "workload.model",
                                                       "workload.trace",
                                                       "workload.sequence",
                                                       "workload.attention_flops"};
    for (const std::string_view key : kKeys) {
        if (const DocNode* node = document.at(key)) {
            diagnostics
                .error("E0338",
                       node->place,
                       fmt::format("{} means nothing beside workload.astra", key))
                .hint =
                "leave it out: the file states what ranks ran, in times and transfers; the machine "
                "under it can change";
        }
    }
    return diagnostics.errors() == before;
}

std::optional<AstraWorkload> load_executed(Job& job,
                                           const Machine& machine,
                                           const DocNode& document,
                                           const std::string& prefix,
                                           DataSource& source,
                                           Derivations& derivations,
                                           Diagnostics& diagnostics) {
    const std::size_t before = diagnostics.errors();
    const JobCheck check{job, machine, document, diagnostics};
    if (job.astra_time_unit.count() == 0) {
        check
            .error("E0541",
                   "workload.astra",
                   fmt::format("key 'time_unit' is missing: the times in '{}' have no unit",
                               job.astra_file))
            .hint =
            "say `time_unit: ns` for files of SimAI, `time_unit: us` for files that Chakra's "
            "converter reads; the wrong one is a factor of 1000";
        return std::nullopt;
    }
    std::string path;
    const std::optional<std::string> text =
        source.load_text(job.astra_file, check.at("workload.astra"), path, diagnostics);
    if (!text) {
        return std::nullopt;
    }
    std::optional<AstraWorkload> workload =
        read_astra_text(path, *text, job.astra_time_unit, diagnostics);
    if (!workload) {
        return std::nullopt;
    }
    job.astra_file = path;
    job.model.name = stem_of(path);
    job.model.layers = static_cast<std::int64_t>(workload->layers.size());
    Completer(job, check, *workload, prefix, derivations).run();
    return diagnostics.errors() == before ? std::move(workload) : std::nullopt;
}

ExecutedWorkload executed_workload(const Job& job, const AstraWorkload& workload) {
    return {astra_program(workload, job.degrees.pp), workload.assumptions};
}

bool check_figures_of_executed(const Plan& plan,
                               const DocNode& composed,
                               Diagnostics& diagnostics) {
    const std::size_t before = diagnostics.errors();
    const auto check = [&](const char* list, std::size_t item, const std::string& figure) {
        if (!is_known_of_executed(figure)) {
            diagnostics
                .error("E0338",
                       composed.find(list)->items[item].place,
                       fmt::format("an executed workload has no figure '{}'", figure))
                .hint =
                "its file states times and transfers: there is step_time_s, first_step_time_s";
        }
    };
    if (plan.jobs.front().is_executed()) {
        for (std::size_t i = 0; i < plan.checks.size(); ++i) {
            check("checks", i, plan.checks[i].figure);
        }
        for (std::size_t i = 0; i < plan.published.size(); ++i) {
            check("published", i, plan.published[i].figure);
        }
    }
    return diagnostics.errors() == before;
}

}  // namespace memwall
