#include "sim/analyze/metrics.h"

#include <algorithm>
#include <array>

#include "sim/analyze/flops.h"
#include "sim/analyze/limit.h"
#include "sim/analyze/self_checks.h"
#include "sim/core/check.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

FlopRate peak_of(const Gpu& gpu, Dtype dtype) {
    const auto found = gpu.peak.find(dtype);
    return found == gpu.peak.end() ? FlopRate(0) : found->second;
}

double ratio(double numerator, double denominator) {
    return denominator > 0 ? numerator / denominator : 0;
}

void set_rates(const RunFacts& facts, Metrics& m) {
    const Job& job = facts.plan.jobs.front();
    const Gpu& gpu = facts.plan.machine.cluster.node.gpu;
    const double seconds = to_seconds(m.step_time);
    const double gpu_seconds = seconds * static_cast<double>(m.gpus);
    m.tokens_per_step =
        static_cast<double>(job.batch.global) * static_cast<double>(facts.trace.sequence);
    m.tokens_per_s_per_gpu = ratio(m.tokens_per_step, gpu_seconds);
    m.model_flops = model_flops(job, facts.trace);
    m.hardware_flops = m.model_flops + recomputed_flops(job, facts.programs);
    m.executed_flops = executed_flops(job, facts.programs);
    m.peak = peak_of(gpu, recipe_dtype(job.training.recipe, job.training.precision.compute));
    m.tflops_per_gpu = ratio(m.model_flops.value, gpu_seconds) / 1e12;
    m.tflops_per_gpu_hardware = ratio(m.hardware_flops.value, gpu_seconds) / 1e12;
    m.mfu = ratio(m.model_flops.value, gpu_seconds * m.peak.value);
    m.hfu = ratio(m.hardware_flops.value, gpu_seconds * m.peak.value);
    m.hfu_executed = ratio(m.executed_flops.value, gpu_seconds * m.peak.value);
    m.mfu_bf16 = ratio(m.model_flops.value, gpu_seconds * peak_of(gpu, Dtype::Bf16).value);
}

void set_memory(const RunFacts& facts, Metrics& m) {
    m.stages = stage_memory(facts.plan, facts.result);
    for (const StageMemory& stage : m.stages) {
        m.peak_memory_bytes = std::max(m.peak_memory_bytes, stage.peak.allocated);
        m.peak_reserved_bytes = std::max(m.peak_reserved_bytes, stage.peak.reserved);
        m.peak_device_bytes = std::max(m.peak_device_bytes, stage.peak.device);
    }
    Bytes host;
    for (const Program& program : facts.programs.programs) {
        host = std::max(host, program.host_bytes);
    }
    m.fit = fit_verdict(facts.plan, m.stages, host);
}

struct Figure {
    std::string_view name;
    double (*of)(const Metrics&);
};

constexpr std::array<Figure, 16> kFigures = {{
    {"step_time_s", [](const Metrics& m) { return to_seconds(m.step_time); }},
    {"first_step_time_s", [](const Metrics& m) { return to_seconds(m.first_step_time); }},
    {"tokens_per_s_per_gpu", [](const Metrics& m) { return m.tokens_per_s_per_gpu; }},
    {"tflops_per_gpu", [](const Metrics& m) { return m.tflops_per_gpu; }},
    {"tflops_per_gpu_hardware", [](const Metrics& m) { return m.tflops_per_gpu_hardware; }},
    {"mfu", [](const Metrics& m) { return m.mfu; }},
    {"mfu_bf16", [](const Metrics& m) { return m.mfu_bf16; }},
    {"hfu", [](const Metrics& m) { return m.hfu; }},
    {"hfu_executed", [](const Metrics& m) { return m.hfu_executed; }},
    {"peak_memory_bytes",
     [](const Metrics& m) { return static_cast<double>(m.peak_memory_bytes); }},
    {"peak_reserved_bytes",
     [](const Metrics& m) { return static_cast<double>(m.peak_reserved_bytes); }},
    {"peak_device_bytes",
     [](const Metrics& m) { return static_cast<double>(m.peak_device_bytes); }},
    {"memory_margin_bytes", [](const Metrics& m) { return static_cast<double>(m.fit.margin); }},
    {"bubble_fraction", [](const Metrics& m) { return m.bubble_fraction; }},
    {"exposed_communication_s", [](const Metrics& m) { return to_seconds(m.exposed); }},
    {"fits", [](const Metrics& m) { return m.fit.fits ? 1.0 : 0.0; }},
}};

}  // namespace

Metrics measure(const RunFacts& facts) {
    const RunResult& result = facts.result;
    MW_CHECK(result.deadlock.empty(), "a deadlocked run has no metrics");
    MW_CHECK(!result.step_ends.empty(), "a run has at least one step");
    Metrics m;
    m.gpus = static_cast<std::uint64_t>(facts.plan.jobs.front().degrees.world());
    const std::size_t last = result.step_ends.size() - 1;
    m.first_step_time = result.step_ends.front().time_since_epoch();
    m.step_time =
        last == 0 ? m.first_step_time : result.step_ends[last] - result.step_ends[last - 1];
    m.breakdown = breakdown_lines(result.classes, m.step_time);
    m.interference = mean_over_ranks(result.classes,
                                     [](const RankClass& c) { return c.breakdown.interference; });
    m.communication =
        mean_over_ranks(result.classes, [](const RankClass& c) { return c.communication; });
    for (const BreakdownLine& line : m.breakdown) {
        m.exposed += line.label.starts_with("exposed ") ? line.mean : Duration{};
        m.bubble_fraction += line.label == "bubble" ? line.share : 0;
    }
    m.executed = facts.plan.jobs.front().is_executed();
    if (!m.executed) {
        set_rates(facts, m);
        set_memory(facts, m);
    }
    m.limit = limit_sentence(facts, m);
    m.checks = self_checks(facts, m);
    return m;
}

FigureValue figure(const Metrics& metrics, std::string_view name) {
    const auto* const found = std::find_if(
        kFigures.begin(), kFigures.end(), [&](const Figure& f) { return f.name == name; });
    const bool known = found != kFigures.end() && (!metrics.executed || is_known_of_executed(name));
    return known ? FigureValue{found->of(metrics), true} : FigureValue{};
}

bool is_known_of_executed(std::string_view name) {
    constexpr std::array<std::string_view, 4> kNames = {
        "step_time_s", "first_step_time_s", "bubble_fraction", "exposed_communication_s"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

const std::vector<std::string_view>& measured_figures() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const Figure& f : kFigures) {
            all.push_back(f.name);
        }
        return all;
    }();
    return names;
}

}  // namespace memwall
