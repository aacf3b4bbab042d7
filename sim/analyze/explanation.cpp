#include "sim/analyze/explanation.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/analyze/explain_work.h"
#include "sim/analyze/flops.h"
#include "sim/analyze/terms.h"
#include "sim/core/quantity.h"

namespace memwall {
namespace {

struct Run {
    const RunFacts& facts;
    const Metrics& m;
    [[nodiscard]] const Job& job() const { return facts.plan.jobs.front(); }
};

using Inputs = std::vector<ExplainedInput> (*)(const Run&);

struct Entry {
    std::string_view name;
    std::string_view meaning;
    std::string_view formula;
    Inputs inputs;
};

std::string gib(std::int64_t bytes) {
    return fmt::format("{:.3f} GiB", static_cast<double>(bytes) / 1073741824.0);
}

std::vector<ExplainedInput> step_inputs(const Run& r) {
    std::vector<ExplainedInput> inputs;
    for (const BreakdownLine& line : r.m.breakdown) {
        if (line.mean.count() != 0) {
            inputs.push_back({line.label, "mean over ranks", human(line.mean)});
        }
    }
    return inputs;
}

std::vector<ExplainedInput> rate_inputs(const Run& r) {
    return {{"B", "sequences per step", human_count(r.job().batch.global)},
            {"s", "tokens per sequence", human_count(r.facts.trace.sequence)},
            {"T", "step time", human(r.m.step_time)},
            {"n", "GPUs", human_count(static_cast<std::int64_t>(r.m.gpus))}};
}

std::vector<ExplainedInput> flop_inputs(const Run& r) {
    std::vector<ExplainedInput> inputs = rate_inputs(r);
    inputs.push_back({"P",
                      "parameters in matrix products (head included, embedding lookup excluded, "
                      "active experts only)",
                      human_count(r.facts.trace.matmul_parameters)});
    inputs.push_back({"A",
                      "sum over layers of heads x head dimension",
                      human_count(r.facts.trace.attention_flops_factor)});
    const AttentionFlops convention = r.job().attention_flops;
    inputs.push_back({"a",
                      "share of the attention square that counts",
                      fmt::format("{} ({})",
                                  human_number(counted_attention(convention, r.facts.trace)),
                                  convention == AttentionFlops::Full ? "full" : "causal")});
    if (r.facts.trace.window > 0) {
        inputs.push_back({"w",
                          "window: keys that a query sees; causal counts (w/s)(1 - w/2s)",
                          human_count(r.facts.trace.window)});
    }
    inputs.push_back({"F_model", "model FLOPs of the step", human(r.m.model_flops)});
    inputs.push_back({"F_hw", "with recomputed products", human(r.m.hardware_flops)});
    inputs.push_back({"F_executed", "of all kernels", human(r.m.executed_flops)});
    inputs.push_back(
        {"peak",
         fmt::format("dense datasheet rate of {}", r.facts.plan.machine.cluster.node.gpu.name),
         human(r.m.peak)});
    return inputs;
}

std::vector<ExplainedInput> bubble_inputs(const Run& r) {
    if (r.m.executed) {  // no transfers between stages
        return {};
    }
    const Degrees& d = r.job().degrees;
    const auto m = static_cast<double>(r.job().micro_batches);
    return {{"p", "pipeline stages", std::to_string(d.pp)},
            {"v", "chunks per stage", std::to_string(d.vpp)},
            {"m", "micro-batches", std::to_string(r.job().micro_batches)},
            {"(p-1)/(v m+p-1)",
             "closed form for equal stages and free transfers",
             human_percent((d.pp - 1) / (d.vpp * m + d.pp - 1))}};
}

std::vector<ExplainedInput> memory_inputs(const Run& r) {
    const StageMemory& stage = r.m.stages.at(static_cast<std::size_t>(r.m.fit.stage));
    std::vector<ExplainedInput> inputs;
    for (std::size_t c = 0; c < stage.peak.composition.size(); ++c) {
        if (stage.peak.composition.at(c) != 0 && is_allocated(static_cast<TensorClass>(c))) {
            inputs.push_back(
                {std::string(kTensorClassNames.at(c)), "", gib(stage.peak.composition.at(c))});
        }
    }
    inputs.push_back({"allocated",
                      fmt::format("their sum on stage {}, at {}", stage.stage, stage.peak.where),
                      gib(stage.peak.allocated)});
    inputs.push_back({"reserved", "what the caching allocator holds", gib(stage.peak.reserved)});
    inputs.push_back({"context", "outside the allocator", gib(context_bytes(stage.peak))});
    inputs.push_back({"device", "reserved + context", gib(stage.peak.device)});
    inputs.push_back({"usable", "what a process can get", gib(stage.usable)});
    return inputs;
}

constexpr std::array kEntries = std::to_array<Entry>({
    {"bubble",
     "the rank waits for a send/recv whose sender has not started it, and the chain of senders is "
     "busy or waiting itself",
     "",
     bubble_inputs},
    {"bubble_fraction", "share of the step under the label bubble", "bubble / T", bubble_inputs},
    {"collective",
     "an operation of a group of ranks, such as an all-reduce; alone it takes a delay, in which it "
     "holds SMs, and then its bytes over the rate that the algorithm and the links allow; others "
     "on its links slow it down",
     "delay + bytes / min(rate of the algorithm, what the links allow)",
     [](const Run& r) { return costly_collectives(r.facts); }},
    {"compute",
     "a kernel runs on the compute stream that is neither a replay for backward nor the optimizer",
     "",
     step_inputs},
    {"executed_flops", "FLOPs of all kernels of a step: F_executed", "", flop_inputs},
    {"exposed",
     "no kernel runs and the next compute op waits for a transfer that is in progress",
     "",
     step_inputs},
    {"exposed cp",
     "exposed communication of context parallelism, which shares the sequence",
     "",
     step_inputs},
    {"exposed dp",
     "exposed communication of data parallelism: gradients, and parameters",
     "",
     step_inputs},
    {"exposed ep",
     "exposed communication of expert parallelism: tokens to their experts",
     "",
     step_inputs},
    {"exposed fsdp gather",
     "exposed communication of FSDP that gathers parameters",
     "",
     step_inputs},
    {"exposed fsdp reduce",
     "exposed communication of FSDP that reduces gradients",
     "",
     step_inputs},
    {"exposed offload copy",
     "exposed communication of copies between host and GPU",
     "",
     step_inputs},
    {"exposed pp",
     "exposed communication of pipeline stages: activations and gradients",
     "",
     step_inputs},
    {"exposed tp", "exposed communication of tensor parallelism, inside a layer", "", step_inputs},
    {"exposed_communication_s", "sum of the exposed labels, mean over ranks", "", step_inputs},
    {"first_step_time_s",
     "the first, cold step: no gather or send is left over from a step before it",
     "",
     step_inputs},
    {"fits",
     "device peak <= usable on every rank, and host bytes <= host capacity on every node",
     "device peak <= usable",
     memory_inputs},
    {"hardware_flops",
     "model FLOPs and forward products that are executed again for backward: F_hw",
     "",
     flop_inputs},
    {"hfu",
     "hardware FLOPs utilisation: recomputation included, attention counted as in mfu",
     "F_hw / (T n peak)",
     flop_inputs},
    {"hfu_executed",
     "share of the peak that kernels execute: masked attention that a kernel skips does not count",
     "F_executed / (T n peak)",
     flop_inputs},
    {"host",
     "dependencies are met, the launch has not been issued: the host thread is the limit",
     "",
     step_inputs},
    {"idle", "after the rank's last op of the step", "", step_inputs},
    {"imbalance", "the rank waits for a peer that has not joined a collective", "", step_inputs},
    {"interference_s",
     "by how much kernels take longer because communication beside them holds SMs; part of "
     "compute, recompute and optimizer; mean over ranks",
     "",
     step_inputs},
    {"kernel",
     "one launch on a GPU; alone it takes the time of its arithmetic and of its memory traffic, "
     "whichever is longer and somewhat more, and a fixed part; fewer SMs while communication runs",
     "role (compute^4 + memory^4)^(1/4) + fixed",
     [](const Run& r) { return costly_kernels(r.facts); }},
    {"memory_margin_bytes",
     "usable memory minus the device peak of the fullest rank",
     "usable - device peak",
     memory_inputs},
    {"mfu",
     "model FLOPs utilisation",
     "F_model / (T n peak), F_model = B s (6 P + 12 A s a)",
     flop_inputs},
    {"mfu_bf16",
     "model FLOPs utilisation against the bf16 peak, for comparison with fp8 runs",
     "F_model / (T n peak_bf16)",
     flop_inputs},
    {"model_flops",
     "FLOPs that the step needs whatever the strategy: F_model",
     "B s (6 P + 12 A s a)",
     flop_inputs},
    {"optimizer",
     "a kernel after the last gradient is reduced: norm, clipping, update",
     "",
     step_inputs},
    {"peak_device_bytes",
     "reserved + context + communication buffers + library workspaces outside the allocator",
     "",
     memory_inputs},
    {"peak_flops_per_s",
     "dense datasheet rate of the card in the precision of most matrix products",
     "",
     flop_inputs},
    {"peak_memory_bytes",
     "bytes in live tensors, in the order in which the host issues, max over ranks and instants",
     "",
     memory_inputs},
    {"peak_reserved_bytes", "what the caching allocator holds", "", memory_inputs},
    {"recompute",
     "a kernel runs that forward ran before: activations are made again for backward; among "
     "memory classes: what they take",
     "",
     step_inputs},
    {"step_time_s",
     "from the end of step 1 to the end of step 2; a step ends when its last op on any rank has "
     "ended",
     "sum of the labels, the same on every rank",
     step_inputs},
    {"tflops_per_gpu", "model FLOPs per GPU and second", "F_model / (T n)", flop_inputs},
    {"tflops_per_gpu_hardware", "executed FLOPs per GPU and second", "F_hw / (T n)", flop_inputs},
    {"tokens_per_s_per_gpu", "tokens per GPU and second", "B s / (T n)", rate_inputs},
    {"total_communication_s",
     "time with a transfer in progress on the rank, hidden behind kernels or not; mean over ranks",
     "",
     step_inputs},
});

// What the report and its tables call a figure.
struct Alias {
    std::string_view label;
    std::string_view name;
};
constexpr std::array kAliases = std::to_array<Alias>({
    {"communication", "total_communication_s"},
    {"device_memory", "peak_device_bytes"},
    {"margin", "memory_margin_bytes"},
    {"tflop_s_per_gpu", "tflops_per_gpu"},
    {"tokens_s_per_gpu", "tokens_per_s_per_gpu"},
});

// "TFLOP/s per GPU" -> "tflop_s_per_gpu"
std::string canonical(std::string_view name) {
    std::string out;
    for (const char c : name) {
        const bool joins = c == ' ' || c == '-' || c == '/';
        out += joins ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

const Entry* find_entry(std::string_view name) {
    const auto* const found = std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& e) {
        return canonical(e.name) == name;
    });
    return found == kEntries.end() ? nullptr : found;
}

// The name that is explained when this one is typed; empty when there is none. Units may be left out.
std::string known_name(std::string_view typed) {
    // A key may be given with its path, as --set takes it.
    std::string name = canonical(typed.substr(typed.rfind('.') + 1));
    for (const Alias& alias : kAliases) {
        if (alias.label == name) {
            return std::string(alias.name);
        }
    }
    for (const char* unit : {"", "_s", "_bytes"}) {
        if (find_entry(name + unit) != nullptr || !meaning_of_term(name + unit).empty()) {
            return name + unit;
        }
    }
    return {};
}

std::string value_text(std::string_view name, const Metrics& m) {
    const FigureValue value = figure(m, name);
    if (value.ok) {
        if (name.ends_with("_bytes")) {
            return gib(static_cast<std::int64_t>(value.value));
        }
        return name.ends_with("_s") ? human(duration_from_seconds(value.value))
                                    : human_number(value.value);
    }
    if (name == "model_flops" || name == "hardware_flops" || name == "executed_flops") {
        return human(name == "model_flops"      ? m.model_flops
                     : name == "hardware_flops" ? m.hardware_flops
                                                : m.executed_flops);
    }
    if (name == "peak_flops_per_s") {
        return human(m.peak);
    }
    if (name == "interference_s" || name == "total_communication_s") {
        return human(name == "interference_s" ? m.interference : m.communication);
    }
    const auto line = std::find_if(m.breakdown.begin(),
                                   m.breakdown.end(),
                                   [&](const BreakdownLine& l) { return l.label == name; });
    return line == m.breakdown.end()
               ? std::string()
               : fmt::format("{} ({})", human(line->mean), human_percent(line->share));
}

bool needs_tokens_or_tensors(std::string_view name) {
    const std::vector<std::string_view>& all = measured_figures();
    const bool figure = std::find(all.begin(), all.end(), name) != all.end();
    return (figure && !is_known_of_executed(name)) || name.ends_with("_flops") ||
           name == "peak_flops_per_s";
}

}  // namespace

std::vector<std::string_view> explainable() {
    std::vector<std::string_view> names;
    for (const Entry& entry : kEntries) {
        names.push_back(entry.name);
    }
    const std::vector<std::string_view> others = terms();
    names.insert(names.end(), others.begin(), others.end());
    std::sort(names.begin(), names.end());
    return names;
}

Explanation explain(std::string_view typed, const RunFacts* facts, const Metrics* metrics) {
    const std::string name = known_name(typed);
    Explanation e;
    const Entry* entry = find_entry(name);
    if (entry == nullptr) {
        e.meaning = meaning_of_term(name);
        e.name = e.meaning.empty() ? "" : name;
        return e;
    }
    e.name = entry->name;
    e.meaning = entry->meaning;
    e.formula = entry->formula;
    if (facts == nullptr || metrics == nullptr) {
        return e;
    }
    if (metrics->executed && needs_tokens_or_tensors(e.name)) {
        e.value =
            "not available: an executed workload states times and transfers, no tokens, FLOPs "
            "or tensors";
    } else {
        e.inputs = entry->inputs({*facts, *metrics});
        e.value = value_text(e.name, *metrics);
    }
    return e;
}

}  // namespace memwall
