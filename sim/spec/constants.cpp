#include "sim/spec/constants.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/quantity.h"
#include "sim/spec/legality.h"
#include "sim/spec/names.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

using Keys = std::vector<std::string>;

constexpr const char* kGpu = "machine.cluster.node.gpu";
constexpr const char* kFabric = "machine.cluster.fabric";

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kMeasuredCards = {
    {{"sm70", "v100-32g-sxm2"},
     {"sm80", "a100-80g-sxm"},
     {"sm86", "a6000"},
     {"sm89", "l40s"},
     {"sm90", "h100-80g-sxm"},
     {"sm100", "b200"},
     {"sm103", "b300"},
     {"sm120", "rtx-pro-6000"},
     {"gfx90a", "mi250x-gcd"},
     {"gfx942", "mi300x"},
     {"gfx950", "mi300x"}}};

void add(Keys& keys, std::string key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(std::move(key));
    }
}

// Policies that compute in a format of the card.
Keys policies_of(const Gpu& gpu) {
    Keys names;
    for (const std::string_view name : precision_names()) {
        if (gpu.peak.contains(find_precision(name)->compute)) {
            names.emplace_back(name);
        }
    }
    return names;
}

Keys recipes_of(const Gpu& gpu) {
    Keys names;
    for (const Recipe recipe :
         {Recipe::None, Recipe::Fp8Delayed, Recipe::Fp8Tensorwise, Recipe::MxFp8, Recipe::NvFp4}) {
        if (recipe == Recipe::None || gpu.peak.contains(recipe_dtype(recipe, Dtype::Bf16))) {
            names.emplace_back(name_of(recipe));
        }
    }
    return names;
}

void refuse_arithmetic(const JobCheck& check,
                       const DocNode& composed,
                       Dtype dtype,
                       std::string_view path) {
    const Gpu& gpu = check.machine.cluster.node.gpu;
    Diagnostic& error = check.error("E0401",
                                    path,
                                    fmt::format("gpu '{}' does not compute in {}: peak has no {}",
                                                gpu.name,
                                                name_of(dtype),
                                                name_of(dtype)));
    error.notes.push_back(
        {place_at(composed, std::string(kGpu) + ".peak"), "the peak rates of the gpu"});
    error.hint =
        path == "training.recipe"
            ? fmt::format("recipes that it computes: {}", fmt::join(recipes_of(gpu), ", "))
            : fmt::format("policies that it computes: {}", fmt::join(policies_of(gpu), ", "));
}

// 16-bit constants serve both 16-bit formats and, scaled by the peak rates, all others (sim/hardware/rates.h).
void check_products(const JobCheck& check, const DocNode& composed, Keys& missing) {
    const Gpu& gpu = check.machine.cluster.node.gpu;
    const Dtype dtype = check.job.training.precision.compute;
    if (!gpu.peak.contains(dtype)) {
        refuse_arithmetic(check, composed, dtype, "training.precision");
        return;
    }
    const Dtype low = recipe_dtype(check.job.training.recipe, dtype);
    if (!gpu.peak.contains(low)) {
        refuse_arithmetic(check, composed, low, "training.recipe");
        return;
    }
    const bool sixteen = std::any_of(gpu.gemm.begin(), gpu.gemm.end(), [&](const auto& entry) {
        return (entry.first == Dtype::Bf16 || entry.first == Dtype::Fp16) &&
               gpu.peak.contains(entry.first);
    });
    if (!gpu.gemm.contains(dtype) && !sixteen) {
        add(missing, fmt::format("gemm.{}", name_of(dtype)));
    }
}

struct AttentionNeed {
    bool fused = false;
    bool modelled = true;  // no fused kernel of fp32 or tf32 is
    Keys missing;
};

AttentionNeed attention_need(const Job& job, const Gpu& gpu) {
    AttentionNeed need;
    const AttentionImplementation kind = job.model.attention;
    need.fused = kind != AttentionImplementation::Unfused && kind != AttentionImplementation::Auto;
    if (!need.fused) {
        return need;
    }
    const Dtype compute = job.training.precision.compute;
    need.modelled = compute != Dtype::Fp32 && compute != Dtype::Tf32;
    const Dtype dtype = compute == Dtype::Fp16 ? Dtype::Fp16 : Dtype::Bf16;
    const auto look = [&](const std::map<Dtype, AttentionRates>& best,
                          const std::map<Dtype, AttentionRates>& flash2,
                          const char* table) {
        const bool own = kind == AttentionImplementation::Flash2 && !flash2.empty();
        const auto& rates = own ? flash2 : best;
        if (!rates.contains(Dtype::Bf16) && !rates.contains(Dtype::Fp16)) {
            need.missing.push_back(fmt::format("{}.{}", table, name_of(dtype)));
        }
    };
    look(gpu.attention_forward, gpu.flash2_forward, "attention_forward");
    look(gpu.attention_backward, gpu.flash2_backward, "attention_backward");
    return need;
}

// Where attention is chosen: by the model, else by the stack.
std::string_view chosen_at(const JobCheck& check) {
    const DocNode* model = check.document.at("workload.model.attention");
    return model != nullptr ? "workload.model.attention" : "stack.kernels.attention";
}

void check_attention(const JobCheck& check, const DocNode& composed, const AttentionNeed& need) {
    const Gpu& gpu = check.machine.cluster.node.gpu;
    const Job& job = check.job;
    const std::string_view kind = name_of(job.model.attention);
    const Dtype compute = job.training.precision.compute;
    const auto refuse = [&](std::string text) -> Diagnostic& {
        Diagnostic& error = check.error("E0401", chosen_at(check), std::move(text));
        error.notes.push_back(
            {place_at(composed, kGpu), fmt::format("gpu '{}' is described here", gpu.name)});
        error.hint =
            "say `workload.with: {attention.implementation: unfused}`, or take a stack of unfused "
            "attention, such as megatron-lm-2021";
        return error;
    };
    if (!need.modelled) {
        refuse(fmt::format("attention '{}' computes in 16 bits, the precision in {}",
                           kind,
                           name_of(compute)))
            .notes.push_back({check.at("training.precision"), "the precision is given here"});
        return;
    }
    if (job.model.attention == AttentionImplementation::Flash3 && gpu.architecture != "sm90") {
        refuse(
            fmt::format("flash3 needs an sm90 gpu, '{}' is {}",
                        gpu.name,
                        gpu.architecture.empty() ? "of no stated architecture" : gpu.architecture))
            .hint = "say flash2, cudnn or unfused";
        return;
    }
    if (!need.missing.empty()) {
        refuse(fmt::format("gpu '{}' has no fused attention ({}), which attention '{}' needs",
                           gpu.name,
                           fmt::join(need.missing, ", "),
                           kind));
    }
}

// No card computes much faster than its data sheet: 1.4 is the most that a boost clock adds to a short product.
void check_rates(const Gpu& gpu, const DocNode& composed, Diagnostics& diagnostics) {
    constexpr double kMost = 2;
    const auto look = [&](const std::string& path, Dtype dtype, FlopRate rate) {
        const auto peak = gpu.peak.find(dtype);
        if (peak == gpu.peak.end() || rate.value <= kMost * peak->second.value) {
            return;
        }
        const std::string of_peak = fmt::format("peak.{}", name_of(dtype));
        Diagnostic& error = diagnostics.error("E0408",
                                              place_at(composed, fmt::format("{}.{}", kGpu, path)),
                                              fmt::format("{} {} is more than twice {} {}",
                                                          path,
                                                          to_text(rate),
                                                          of_peak,
                                                          to_text(peak->second)));
        error.notes.push_back({place_at(composed, fmt::format("{}.{}", kGpu, of_peak)),
                               "the peak rate is given here"});
        error.hint =
            "override the peak alone: the rates of the kernel laws follow it in proportion";
    };
    const GemmRoleFactors& roles = gpu.gemm_roles;
    for (const auto& [dtype, rates] : gpu.gemm) {
        const std::string burst = fmt::format("gemm.{}.burst", name_of(dtype));
        look(burst, dtype, rates.burst);
        // A factor of time: below 1 the products of that role are faster than burst.
        for (const auto& [role, factor] : {std::pair("forward", roles.forward),
                                           std::pair("input_gradient", roles.input_gradient),
                                           std::pair("weight_gradient", roles.weight_gradient)}) {
            const auto peak = gpu.peak.find(dtype);
            if (factor < 1 && peak != gpu.peak.end() &&
                rates.burst.value <= kMost * peak->second.value &&
                rates.burst.value / factor > kMost * peak->second.value) {
                Diagnostic& error = diagnostics.error(
                    "E0408",
                    place_at(composed, fmt::format("{}.gemm_roles.{}", kGpu, role)),
                    fmt::format("gemm_roles.{} {} takes {} {} to more than twice peak.{} {}",
                                role,
                                factor,
                                burst,
                                to_text(rates.burst),
                                name_of(dtype),
                                to_text(peak->second)));
                error.hint = "a factor of the time of products: about 1";
            }
        }
    }
    for (const auto& [table, all] : {std::pair("attention_forward", &gpu.attention_forward),
                                     std::pair("attention_backward", &gpu.attention_backward),
                                     std::pair("flash2_forward", &gpu.flash2_forward),
                                     std::pair("flash2_backward", &gpu.flash2_backward)}) {
        for (const auto& [dtype, rates] : *all) {
            look(fmt::format("{}.{}.matrix", table, name_of(dtype)), dtype, rates.matrix);
        }
    }
}

// Shares of threads in ascending order, each once.
void check_occupancy(const Gpu& gpu, const DocNode& composed, Diagnostics& diagnostics) {
    for (std::size_t i = 1; i < gpu.occupancy.size(); ++i) {
        if (!(gpu.occupancy[i].threads > gpu.occupancy[i - 1].threads)) {
            diagnostics
                .error("E0408",
                       place_at(composed, std::string(kGpu) + ".occupancy"),
                       fmt::format("occupancy: threads {} follows {}",
                                   gpu.occupancy[i].threads,
                                   gpu.occupancy[i - 1].threads))
                .hint = "list the points by ascending threads, each once";
        }
    }
}

// The first set of an architecture would silence the second.
void check_stack_rates(const JobCheck& check) {
    Keys known;
    for (const StackRates& rates : check.job.stack.rates) {
        if (std::find(known.begin(), known.end(), rates.architecture) != known.end()) {
            check
                .error("E0409",
                       "stack.rates",
                       fmt::format("rates: architecture '{}' is given twice", rates.architecture))
                .hint = "one set of rates for each architecture";
        }
        add(known, rates.architecture);
    }
}

bool is_stated(const DocNode& composed, const std::string& path) {
    return composed.at(path) != nullptr;
}

// Keys that the laws read in every group of two or more ranks. What must be above 0 is missing when it is 0.
Keys missing_nccl(const Plan& plan, const DocNode& composed) {
    const NcclConstants& n = plan.machine.cluster.node.gpu.nccl;
    Keys missing;
    const auto need = [&](const char* key, bool there) {
        const std::string path = fmt::format("nccl.{}", key);
        if (!there || !is_stated(composed, fmt::format("{}.{}", kGpu, path))) {
            missing.push_back(path);
        }
    };
    need("ring", n.ring.value > 0);
    need("ring_efficiency", n.ring_efficiency > 0);
    need("base_ll", true);
    need("step_ll", true);
    need("base_simple", true);
    need("step_simple", true);
    need("base_p2p", true);
    need("extra_pass", true);
    need("fill", true);
    need("channels", n.channels > 0);
    need("search_channels", n.search_channels > 0);
    need("search_speed", n.search_speed.value > 0);
    need("ll_max", n.ll_max.value > 0);
    if (plan.machine.cluster.node.intra != IntraNode::PcieTree) {
        need("ll128_per_channel", n.ll128_per_channel.value > 0);
    }
    if (plan.machine.cluster.node.intra == IntraNode::NvSwitch && n.nvls.value > 0) {
        need("nvls_loop", n.nvls_loop.count() > 0);
        need("nvls_channels", n.nvls_channels > 0);
        need("nvls_head_speed", n.nvls_head_speed.value > 0);
        need("nvls_efficiency", n.nvls_efficiency > 0);
    }
    return missing;
}

Keys missing_fabric(const DocNode& composed) {
    Keys missing;
    for (const char* key :
         {"efficiency", "step_ll", "step_simple", "ll128_factor", "ring_fill", "tree_fill"}) {
        const std::string path = fmt::format("nccl.{}", key);
        if (!is_stated(composed, fmt::format("{}.{}", kFabric, path))) {
            missing.push_back(path);
        }
    }
    return missing;
}

// The laws of NCCL are asked: more than one rank, and not step by step.
bool uses_nccl(const Plan& plan) {
    const Machine& machine = plan.machine;
    return machine.law == CollectiveLaw::Nccl &&
           (machine.fidelity == Fidelity::Fluid || machine.fidelity == Fidelity::AlphaBeta) &&
           std::any_of(plan.jobs.begin(), plan.jobs.end(), [](const Job& job) {
               return job.degrees.world() > 1;
           });
}

void refuse_gpu(const Gpu& gpu,
                const DocNode& composed,
                const Keys& missing,
                Diagnostics& diagnostics) {
    const std::string_view card = measured_card(gpu.architecture);
    Diagnostic& error =
        diagnostics.error("E0401",
                          place_at(composed, kGpu),
                          fmt::format("gpu '{}' lacks constants that this scenario needs: {}",
                                      gpu.name,
                                      fmt::join(missing, ", ")));
    error.hint = card.empty() || card == gpu.name
                     ? "take a measured card as base (`memwall list gpus`) and keep your datasheet "
                       "values: its constants follow them in proportion"
                     : fmt::format(
                           "say `base: {}`, the measured card of architecture {}, and keep your "
                           "datasheet values: its constants follow them in proportion",
                           card,
                           gpu.architecture);
}

}  // namespace

void check_constants(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics) {
    const Cluster& cluster = plan.machine.cluster;
    check_rates(cluster.node.gpu, composed, diagnostics);
    check_occupancy(cluster.node.gpu, composed, diagnostics);
    Keys of_gpu;
    std::vector<std::pair<JobCheck, AttentionNeed>> attention;
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
        const Job& job = plan.jobs[j];
        const DocNode* document =
            j == 0 ? &composed : composed.find("background")->items[j - 1].find("scenario");
        const JobCheck check{job, plan.machine, *document, diagnostics};
        check_stack_rates(check);
        if (job.is_executed()) {
            continue;  // its kernels need no constants
        }
        check_products(check, composed, of_gpu);
        if (!cluster.node.gpu.memory_kernels.contains(MemoryKind::Elementwise)) {
            add(of_gpu, "memory_kernels.elementwise");
        }
        if (job.trace_file.empty()) {
            attention.emplace_back(check, attention_need(job, cluster.node.gpu));
        }
    }
    // A card without any constants has no attention either: one list. Else it is the choice of attention that is at fault.
    const bool bare = !of_gpu.empty();
    if (uses_nccl(plan)) {
        for (std::string& key : missing_nccl(plan, composed)) {
            add(of_gpu, std::move(key));
        }
        const Keys of_fabric = plan.machine.nodes > 1 ? missing_fabric(composed) : Keys{};
        if (!of_fabric.empty()) {
            diagnostics
                .error("E0401",
                       place_at(composed, kFabric),
                       fmt::format("fabric '{}' lacks constants of NCCL across nodes: {}",
                                   cluster.fabric.name,
                                   fmt::join(of_fabric, ", ")))
                .hint =
                "take the nearest of `memwall list fabrics` as base, or say `machine.network: "
                "{law: steps}`";
        }
    }
    for (auto& [check, need] : attention) {
        if (bare && need.modelled && !need.missing.empty()) {
            for (std::string& key : need.missing) {
                add(of_gpu, std::move(key));
            }
        } else {
            check_attention(check, composed, need);
        }
    }
    if (!of_gpu.empty()) {
        refuse_gpu(cluster.node.gpu, composed, of_gpu, diagnostics);
    }
}

std::string_view measured_card(std::string_view architecture) {
    for (const auto& [known, card] : kMeasuredCards) {
        if (known == architecture) {
            return card;
        }
    }
    return {};
}

}  // namespace memwall
