#include "sim/spec/legality.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/spec/names.h"
#include "sim/spec/nvlink.h"

namespace memwall {

Place place_at(const DocNode& document, std::string_view path) {
    const DocNode* node = &document;
    while (!path.empty()) {
        const std::size_t dot = path.find('.');
        const DocNode* next = node->find(path.substr(0, dot));
        if (next == nullptr) {
            const DocNode* bare = node->find("");  // a value that stands for one key of a map
            return bare != nullptr ? bare->place : node->place;
        }
        node = next;
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    return node->place;
}

bool is_known(const DocNode& document, std::string_view path) {
    const DocNode* node = document.at(path);
    return node == nullptr || !node->unresolved;
}

Place JobCheck::at(std::string_view path) const {
    return place_at(document, path);
}

Diagnostic& JobCheck::error(const char* code, std::string_view path, std::string text) const {
    return diagnostics.error(code, at(path), std::move(text));
}

Diagnostic& JobCheck::warning(const char* code, std::string_view path, std::string text) const {
    return diagnostics.warning(code, at(path), std::move(text));
}

std::string divisors_of(std::int64_t n, std::int64_t limit) {
    std::string text;
    int count = 0;
    for (std::int64_t d = 1; d <= std::min(n, limit) && d <= 1'000'000 && count < 12; ++d) {
        if (n % d == 0) {
            text += (count == 0 ? "" : ", ") + std::to_string(d);
            ++count;
        }
    }
    return text;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    return a > 0 && b > kMax / a ? kMax : a * b;
}

namespace {

void check_kv_heads(const JobCheck& check, int tp) {
    const std::int64_t kv = check.job.model.kv_heads;
    if (kv % tp == 0 || kv == check.job.model.heads) {  // equal to the heads: E0312 has said it
        return;
    }
    if (tp % kv == 0) {
        Diagnostic& warning = check.warning(
            "W0313",
            "parallel.tp",
            fmt::format("tp {} exceeds {} kv heads: each is held by {} ranks", tp, kv, tp / kv));
        warning.notes.push_back({check.at("workload.model.kv_heads"), "kv_heads is given here"});
        return;
    }
    Diagnostic& error = check.error(
        "E0313",
        "parallel.tp",
        fmt::format("tp {} neither divides {} kv heads nor is a multiple of them", tp, kv));
    error.notes.push_back({check.at("workload.model.kv_heads"), "kv_heads is given here"});
    error.hint = fmt::format("divisors of {}: {}", kv, divisors_of(kv, kv));
}

}  // namespace

void check_tensor_parallel(const JobCheck& check) {
    const Model& model = check.job.model;
    const int tp = check.job.degrees.tp;
    const auto must_divide = [&](const char* code,
                                 std::string_view path,
                                 std::int64_t value,
                                 const char* what) {
        if (value % tp != 0) {
            Diagnostic& error = check.error(
                code, "parallel.tp", fmt::format("tp {} does not divide {} {}", tp, value, what));
            error.notes.push_back(
                {check.at(path),
                 fmt::format("{} is given here", path.substr(path.rfind('.') + 1))});
            const int domain = check.machine_known ? nvlink_domain(check.machine.cluster.node) : 1;
            error.hint = domain == 1
                             ? fmt::format("divisors of {}: {}", value, divisors_of(value, value))
                             : fmt::format("divisors of {} within one NVLink domain of {}: {}",
                                           value,
                                           domain,
                                           divisors_of(value, domain));
        }
    };
    must_divide("E0312", "workload.model.heads", model.heads, "attention heads");
    check_kv_heads(check, tp);
    must_divide("E0314", "workload.model.hidden", model.hidden, "hidden width");
    must_divide("E0315", "workload.model.ffn", model.ffn, "feed-forward width");
    if (check.job.parallel.sequence_parallel) {
        must_divide("E0317",
                    "workload.sequence",
                    check.job.sequence,
                    "tokens of a sequence, which sequence_parallel divides");
        if (tp == 1) {
            check.warning(
                "W0317", "parallel.sequence_parallel", "sequence_parallel does nothing at tp 1");
        }
    }
}

void warn_beyond_nvlink(const JobCheck& check) {
    const int tp = check.job.degrees.tp;
    const Node& node = check.machine.cluster.node;
    const int domain = nvlink_domain(node);
    const bool over_nodes = check.machine.node_order == NodeOrder::Cyclic && check.job.nodes > 1 &&
                            node.nodes_per_nvlink_domain < check.job.nodes;
    if (tp == 1 || (!over_nodes && nvlink_joins_runs(node, tp))) {
        return;
    }
    std::string text;
    std::string_view other = "machine.cluster.node.intra";
    if (over_nodes) {
        text = fmt::format("tp {} is spread over nodes by `placement: cyclic`", tp);
        other = "machine.placement";
    } else if (domain == 1) {
        text = fmt::format("tp {} has no NVLink between all of its GPUs", tp);
    } else {
        text = fmt::format("tp {} reaches beyond the NVLink domain of {} GPUs", tp, domain);
    }
    Diagnostic& warning = check.warning("W0341", "parallel.tp", std::move(text));
    warning.notes.push_back({check.at(other),
                             over_nodes ? "the placement is given here"
                                        : fmt::format("the wiring of node '{}'", node.name)});
    warning.hint = "every layer then waits for slower links";
}

void check_context_parallel(const JobCheck& check) {
    const int cp = check.job.degrees.cp;
    if (cp == 1) {
        return;
    }
    const bool heads_exchanged = check.job.parallel.cp_kind == ContextKind::AllToAll;
    const bool ring = !heads_exchanged && check.job.stack.kernels.balanced_context;
    const std::int64_t pieces = ring ? 2 * std::int64_t{cp} : cp;
    if (check.job.sequence % pieces != 0) {
        Diagnostic& error = check.error("E0316",
                                        "parallel.cp",
                                        fmt::format("sequence {} is not divisible by {}cp {} = {}",
                                                    check.job.sequence,
                                                    ring ? "2 x " : "",
                                                    cp,
                                                    pieces));
        error.notes.push_back({check.at("workload.sequence"), "sequence is given here"});
        error.hint = ring ? "balanced causal attention gives every rank two pieces of the sequence"
                          : "every rank holds one piece of the sequence";
    }
    if (!heads_exchanged) {
        return;
    }
    const auto divides = [&](const char* what, const char* path, std::int64_t whole) {
        const std::int64_t heads = std::max<std::int64_t>(1, whole / check.job.degrees.tp);
        if (heads % cp == 0) {
            return;
        }
        Diagnostic& error = check.error(
            "E0318",
            "parallel.cp",
            fmt::format("cp {} does not divide {} {} per tensor-parallel rank", cp, heads, what));
        error.notes.push_back({check.at(path), fmt::format("{} is given here", what)});
        error.hint = fmt::format("all-to-all context parallelism divides the heads: {}",
                                 divisors_of(heads, heads));
    };
    divides("heads", "workload.model.heads", check.job.model.heads);
    divides("kv heads", "workload.model.kv_heads", check.job.model.kv_heads);
}

void check_recipe(const JobCheck& check) {
    const Training& training = check.job.training;
    if (training.recipe == Recipe::None) {
        return;
    }
    const Dtype compute = training.precision.compute;
    if (compute != Dtype::Bf16 && compute != Dtype::Fp16) {
        Diagnostic& error = check.error("E0339",
                                        "training.recipe",
                                        fmt::format("recipe {} quantises 16-bit tensors, the "
                                                    "precision computes in {}",
                                                    name_of(training.recipe),
                                                    name_of(compute)));
        error.notes.push_back({check.at("training.precision"), "the precision is given here"});
        error.hint = "say `precision: bf16_mixed`, or `recipe: none`";
    }
    const std::int64_t skipped =
        std::int64_t{training.recipe_skips_first} + training.recipe_skips_last;
    if (skipped > check.job.model.layers) {
        Diagnostic& error =
            check.error("E0339",
                        "training.recipe",
                        fmt::format("recipe_skips_first {} and recipe_skips_last {} are more than "
                                    "{} layers",
                                    training.recipe_skips_first,
                                    training.recipe_skips_last,
                                    check.job.model.layers));
        error.notes.push_back({check.at("workload.model.layers"), "layers is given here"});
    }
}

void check_experts(const JobCheck& check) {
    const Parallel& parallel = check.job.parallel;
    const std::int64_t experts = check.job.model.moe.experts;
    if (experts == 0) {
        if (parallel.ep > 1) {
            check
                .error("E0324",
                       "parallel.ep",
                       fmt::format("ep {} needs experts, the model has none", parallel.ep))
                .hint = "say `ep: 1`";
        }
        return;
    }
    if (experts % parallel.ep != 0) {
        Diagnostic& error =
            check.error("E0324",
                        "parallel.ep",
                        fmt::format("ep {} does not divide {} experts", parallel.ep, experts));
        error.notes.push_back({check.at("workload.model.moe.experts"), "experts is given here"});
        error.hint = fmt::format("divisors of {}: {}", experts, divisors_of(experts, experts));
    }
}

void check_expert_ranks(const JobCheck& check) {
    const Parallel& parallel = check.job.parallel;
    const Degrees& d = check.job.degrees;
    const std::int64_t experts = check.job.model.moe.experts;
    const std::int64_t ranks = product(product(d.dp, d.cp), d.tp);
    const std::int64_t group = product(parallel.ep, parallel.etp);
    if (experts > 0 && ranks % group != 0) {
        Diagnostic& error =
            check.error("E0325",
                        "parallel.ep",
                        fmt::format("ep {} x etp {} = {} does not divide dp x cp x tp = {}",
                                    parallel.ep,
                                    parallel.etp,
                                    group,
                                    ranks));
        error.notes.push_back({check.at("parallel.dp"), "dp is given here"});
        error.hint = fmt::format("divisors of {}: {}", ranks, divisors_of(ranks, experts));
    }
}

void check_schedule(const JobCheck& check) {
    const Degrees& d = check.job.degrees;
    const bool interleaved = check.job.parallel.schedule == Schedule::Interleaved;
    if (d.vpp > 1 && !interleaved) {
        Diagnostic& error =
            check.error("E0321",
                        "parallel.schedule",
                        fmt::format("this schedule does not interleave, but vpp is {}", d.vpp));
        error.notes.push_back({check.at("parallel.vpp"), "vpp is given here"});
        error.hint = "say `schedule: interleaved_1f1b`, or `vpp: 1`";
    }
    if (interleaved && d.vpp == 1) {
        Diagnostic& error = check.error(
            "E0321", "parallel.schedule", "interleaved_1f1b needs vpp of 2 or more, vpp is 1");
        error.notes.push_back({check.at("parallel.vpp"), "vpp is given here"});
        error.hint = "say `schedule: 1f1b`, or give vpp";
    }
    if (interleaved && d.pp == 1) {
        Diagnostic& error = check.error(
            "E0322", "parallel.schedule", "interleaved_1f1b needs pp of 2 or more, pp is 1");
        error.notes.push_back({check.at("parallel.pp"), "pp is given here"});
        error.hint = "say `schedule: 1f1b` and `vpp: 1`, or give pp";
    }
}

void check_rounds(const JobCheck& check) {
    const Degrees& d = check.job.degrees;
    const bool interleaved = check.job.parallel.schedule == Schedule::Interleaved;
    const std::int64_t m = check.job.micro_batches;
    if (check.stack_known && interleaved && d.pp > 1 && m % d.pp != 0 &&
        !check.job.stack.ragged_interleaving) {
        Diagnostic& error = check.error(
            "E0323",
            "parallel.pp",
            fmt::format(
                "{} micro-batches are not divisible by pp {}, as interleaving needs", m, d.pp));
        error.notes.push_back({check.at("batch.global"),
                               fmt::format("micro-batches = global {} / (micro {} x dp {})",
                                           check.job.batch.global,
                                           check.job.batch.micro,
                                           d.dp)});
        const std::int64_t step = product(product(check.job.batch.micro, d.dp), d.pp);
        error.hint = fmt::format("a global batch that is a multiple of {}", step);
    }
    if (m < d.pp) {
        Diagnostic& warning = check.warning(
            "W0342", "parallel.pp", fmt::format("{} micro-batches do not fill {} stages", m, d.pp));
        warning.notes.push_back({check.at("batch.global"), "the global batch is given here"});
    }
}

void check_recompute(const JobCheck& check) {
    const Training& training = check.job.training;
    if (training.recompute == RecomputeKind::None) {
        if (training.recompute_layers) {
            check.warning("W0343",
                          "training.recompute_layers",
                          "recompute_layers does nothing with `recompute: none`");
        }
        if (!training.recompute_modules.empty()) {
            check.warning("W0343",
                          "training.recompute_modules",
                          "recompute_modules does nothing with `recompute: none`");
        }
        return;
    }
    if (training.recompute == RecomputeKind::Full && !training.recompute_modules.empty()) {
        check.warning("W0343",
                      "training.recompute_modules",
                      "recompute_modules does nothing with `recompute: full`");
    }
    int most = 0;
    for (const std::vector<ChunkLayout>& stage : check.job.stages) {
        for (const ChunkLayout& chunk : stage) {
            most = std::max(most, chunk.layers);
        }
    }
    if (training.recompute_layers && !check.job.stages.empty() &&
        *training.recompute_layers > most) {
        check
            .error("E0333",
                   "training.recompute_layers",
                   fmt::format("recompute_layers {} exceeds the {} layers of a chunk",
                               *training.recompute_layers,
                               most))
            .hint = fmt::format("it counts layers per chunk: at most {}, or `all`", most);
    }
}

// Tile and wave quantisation punish shapes off multiples of 64 (tensor cores and tiles are fed in those).
void warn_shapes(const JobCheck& check) {
    const Job& job = check.job;
    const Degrees& d = job.degrees;
    std::string odd;
    const auto note = [&](const char* what, std::int64_t value) {
        if (value % 64 != 0) {
            odd += fmt::format("{}{} {}", odd.empty() ? "" : ", ", what, value);
        }
    };
    note("tokens per micro-batch", product(job.batch.micro, job.sequence) / d.cp);
    note("hidden", job.model.hidden);
    note("ffn / tp", job.model.ffn / d.tp);
    note("heads x head_dim / tp", job.model.heads * job.model.head_dim / d.tp);
    if (!odd.empty()) {
        check.warning(
            "W0344", "batch.micro", fmt::format("shapes off multiples of 64 run slower: {}", odd));
    }
}

}  // namespace memwall
