#include "sim/io/report_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/quantity.h"

namespace memwall {
namespace {

constexpr double kGiB = 1073741824.0;
constexpr double kMoreThanExecuted = 1.005;  // visible in three digits

double gib(std::int64_t bytes) {
    return static_cast<double>(bytes) / kGiB;
}

// Of an executed workload: the machine and the groups are ours, the rest is in the file.
std::string executed_head(const Job& job) {
    const Degrees& d = job.degrees;
    return fmt::format(
        "tp {} x pp {} x ep {} in dp {}, executed workload {} of {} layers, unit of time {}\n",
        d.tp,
        d.pp,
        d.ep,
        d.dp,
        job.astra_file,
        human_count(job.model.layers),
        to_text(job.astra_time_unit));
}

std::string head(const Report& r, const TextStyle& style) {
    const Job& job = r.plan.jobs.front();
    const Degrees& d = job.degrees;
    const Machine& machine = r.plan.machine;
    std::string text = style.bold(r.plan.name) + "\n";
    if (!r.plan.about.empty()) {
        text += r.plan.about + "\n";
    }
    text += fmt::format("{} x {} on {} ({} nodes){}\n",
                        human_count(static_cast<std::int64_t>(r.metrics.gpus)),
                        machine.cluster.node.gpu.name,
                        machine.cluster.name,
                        human_count(machine.nodes),
                        job.is_executed() ? "" : ", stack " + job.stack.name);
    if (job.is_executed()) {
        return text + executed_head(job);
    }
    text += fmt::format(
        "tp {} x pp {}{} x cp {} x dp {}, micro-batch {}, {} micro-batches, batch {} x {} tokens\n",
        d.tp,
        d.pp,
        d.vpp > 1 ? fmt::format(" (vpp {})", d.vpp) : "",
        d.cp,
        d.dp,
        job.batch.micro,
        human_count(job.micro_batches),
        human_count(job.batch.global),
        human_count(job.sequence));
    return text;
}

std::string executed_figures(const Report& r, const TextStyle& style) {
    std::string text = fmt::format("  step time           {:<14} first (cold) step {}\n",
                                   style.bold(human(r.metrics.step_time)),
                                   human(r.metrics.first_step_time));
    for (const char* name : {"tokens/s per GPU", "MFU, HFU", "peak memory"}) {
        text += fmt::format("  {:<20}not available\n", name);
    }
    return text +
           style.dim(
               "  An executed workload states times and transfers; tokens, FLOPs and tensors "
               "are not in it.") +
           "\n";
}

std::string figures(const Report& r, const TextStyle& style) {
    if (r.metrics.executed) {
        return executed_figures(r, style);
    }
    const Metrics& m = r.metrics;
    const std::string_view convention =
        r.plan.jobs.front().attention_flops == AttentionFlops::Full ? "full" : "causal";
    const double tokens_per_s = m.tokens_per_s_per_gpu * static_cast<double>(m.gpus);
    std::string text;
    text += fmt::format("  step time           {:<14} first (cold) step {}\n",
                        style.bold(human(m.step_time)),
                        human(m.first_step_time));
    text += fmt::format("  tokens/s per GPU    {:<14} {} tokens/s in all\n",
                        human_number(m.tokens_per_s_per_gpu),
                        human_number(tokens_per_s));
    text += fmt::format("  TFLOP/s per GPU     {:<14} {} in hardware FLOPs\n",
                        human_number(m.tflops_per_gpu),
                        human_number(m.tflops_per_gpu_hardware));
    text += fmt::format(
        "  MFU                 {:<14} B s (6 P + 12 A s a) / (T n peak), attention_flops: {}, peak "
        "{}\n",
        human_percent(m.mfu),
        convention,
        human(m.peak));
    text += fmt::format("  HFU                 {:<14} the same with recomputed products\n",
                        human_percent(m.hfu));
    if (m.executed_flops.value > 0 &&
        m.hardware_flops.value > kMoreThanExecuted * m.executed_flops.value) {
        text += fmt::format(
            "  executed            {:<14} of the peak: attention_flops: {} counts {} times what "
            "kernels execute\n",
            human_percent(m.hfu_executed),
            convention,
            human_number(m.hardware_flops.value / m.executed_flops.value));
    }
    const std::string verdict =
        m.fit.fits
            ? style.good("fits")
            : style.bad(fmt::format("does not fit: {:.2f} GiB too much", gib(-m.fit.margin)));
    text += fmt::format(
        "  peak memory         {:<14} allocated; device {:.2f} of {:.2f} GiB usable: {}\n",
        fmt::format("{:.2f} GiB", gib(m.peak_memory_bytes)),
        gib(m.peak_device_bytes),
        gib(m.stages.front().usable),
        verdict);
    return text;
}

std::string split(const Report& r, const TextStyle& style) {
    const Metrics& m = r.metrics;
    std::string text = style.bold("Where the step goes") +
                       style.dim("  mean over ranks, and the rank with the most compute") + "\n";
    Duration sum{};
    Duration busiest{};
    for (const BreakdownLine& line : m.breakdown) {
        sum += line.mean;
        busiest += line.busiest;
        if (line.mean.count() == 0 && line.busiest.count() == 0) {
            continue;
        }
        const auto bar = static_cast<std::size_t>(std::lround(40 * line.share));
        text += fmt::format("  {:<22}{:>12}{:>9.2f} %{:>14}  {}\n",
                            line.label,
                            human(line.mean),
                            100 * line.share,
                            human(line.busiest),
                            std::string(bar, '#'));
    }
    text += fmt::format("  {:<22}{:>12}{:>9.2f} %{:>14}\n",
                        "sum",
                        human(sum),
                        100.0 * to_seconds(sum) / to_seconds(m.step_time),
                        human(busiest));
    text +=
        fmt::format("  communication {} in all, {} exposed; slow-down of kernels beside it {}\n",
                    human(m.communication),
                    human(m.exposed),
                    human(m.interference));
    return text;
}

std::string memory(const Report& r, const TextStyle& style) {
    const Metrics& m = r.metrics;
    if (m.executed) {
        return "";
    }
    std::string text =
        style.bold("Peak memory per stage") +
        style.dim("  GiB at the instant of the allocated peak; device = reserved + context") + "\n";
    std::vector<std::size_t> classes;
    for (std::size_t c = 0; c < static_cast<std::size_t>(kTensorClasses); ++c) {
        const bool used = std::any_of(m.stages.begin(), m.stages.end(), [&](const StageMemory& s) {
            return s.peak.composition.at(c) != 0;
        });
        if (used && is_allocated(static_cast<TensorClass>(c))) {
            classes.push_back(c);
        }
    }
    text += "  stage                 ";
    for (const StageMemory& s : m.stages) {
        text += fmt::format("{:>9}", s.stage);
    }
    text += "\n";
    const auto row = [&](std::string_view name, auto value) {
        text += fmt::format("  {:<22}", name);
        for (const StageMemory& s : m.stages) {
            text += fmt::format("{:>9.2f}", gib(value(s)));
        }
        text += "\n";
    };
    for (const std::size_t c : classes) {
        row(kTensorClassNames.at(c),
            [c](const StageMemory& s) { return s.peak.composition.at(c); });
    }
    row("allocated", [](const StageMemory& s) { return s.peak.allocated; });
    row("reserved", [](const StageMemory& s) { return s.peak.reserved; });
    row("context", [](const StageMemory& s) { return context_bytes(s.peak); });
    row("device", [](const StageMemory& s) { return s.peak.device; });
    row("usable", [](const StageMemory& s) { return s.usable; });
    row("margin", [](const StageMemory& s) { return s.margin; });
    text += fmt::format("  fullest: stage {}, at {}\n", m.fit.stage, m.fit.where);
    if (!m.fit.fits) {
        text += style.bad("  does not fit") +
                fmt::format(": {} holds {:.2f} GiB on stage {} at {}; short by {:.2f} GiB\n",
                            m.fit.tensor_class,
                            gib(m.fit.class_bytes),
                            m.fit.stage,
                            m.fit.where,
                            gib(-m.fit.margin));
        for (const std::string& lever : m.fit.levers) {
            text += "    - " + wrapped(lever, style.width, 6) + "\n";
        }
    }
    return text;
}

// A figure in the unit people read.
std::string figure_text(std::string_view name, double value) {
    if (name.ends_with("_bytes")) {
        return fmt::format("{:.2f} GiB", value / kGiB);
    }
    if (name.ends_with("_s")) {
        return human(duration_from_seconds(value));
    }
    if (name.starts_with("tflops")) {
        return human_number(value) + " TFLOP/s";
    }
    return human_number(value);
}

std::string published(const Report& r, const TextStyle& style) {
    if (r.comparisons.empty()) {
        return "";
    }
    std::string text = style.bold("Published beside it") + "\n";
    for (const Comparison& c : r.comparisons) {
        text += fmt::format("  {}: published {}, predicted {} ({:+.1f} %){}\n",
                            c.figure,
                            figure_text(c.figure, c.published),
                            figure_text(c.figure, c.predicted),
                            100 * (c.predicted / c.published - 1),
                            c.same_configuration ? "" : ", context: not the same configuration");
        text += "    " + style.dim(wrapped(c.source, style.width, 4)) + "\n";
    }
    return text;
}

std::string assumptions(const Report& r, const TextStyle& style) {
    std::string text;
    if (!r.assumptions.empty()) {
        text += style.bold("What this rests on") + "\n";
    }
    for (const Assumption& a : r.assumptions) {
        text += "  " + wrapped(a.what, style.width, 2) + "\n      " +
                style.dim(wrapped(a.source, style.width, 6)) + "\n";
    }
    return text;
}

std::string mark(bool holds, const TextStyle& style) {
    return holds ? style.good("ok  ") : style.bad("FAIL");
}

std::string check_line(const CheckOutcome& c, const TextStyle& style) {
    const std::string value =
        c.figure == "fits" ? "" : fmt::format(": it is {}", figure_text(c.figure, c.value));
    return fmt::format("  {} {} (asked for){}\n", mark(c.holds, style), c.text, value);
}

// With --quiet: why the exit status is not 0.
std::string failed_checks(const Report& r, const TextStyle& style) {
    std::string text;
    for (const CheckOutcome& c : r.checks) {
        text += c.holds ? "" : check_line(c, style);
    }
    return text;
}

std::string checks(const Report& r, const TextStyle& style) {
    std::string text = style.bold("Checks") + "\n";
    for (const CheckOutcome& c : r.checks) {
        text += check_line(c, style);
    }
    for (const SelfCheck& c : r.metrics.checks) {
        text += fmt::format("  {} {}: {}\n", mark(c.holds, style), c.what, c.detail);
    }
    text +=
        style.dim(fmt::format("  {} ranks in {} classes, {} ops as {} events, signature {:016x}",
                              human_count(static_cast<std::int64_t>(r.result.ranks)),
                              r.result.classes.size(),
                              human_count(static_cast<std::int64_t>(r.result.ops)),
                              human_count(static_cast<std::int64_t>(r.result.events)),
                              r.result.signature)) +
        "\n";
    return text;
}

}  // namespace

std::string report_text(const Report& r, const TextStyle& style, Detail detail) {
    if (detail == Detail::Figures) {
        return figures(r, style) + failed_checks(r, style);
    }
    const std::string limit =
        style.bold("Limit") + "  " + wrapped(r.metrics.limit, style.width, 7) + "\n";
    std::string text =
        head(r, style) + "\n" + figures(r, style) + "\n" + limit + "\n" + split(r, style);
    for (const std::string& part :
         {memory(r, style), published(r, style), assumptions(r, style), checks(r, style)}) {
        text += part.empty() ? "" : "\n" + part;
    }
    return text;
}

}  // namespace memwall
