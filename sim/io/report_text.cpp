#include "sim/io/report_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/io/memory_table.h"
#include "sim/io/report_head.h"

namespace memwall {
namespace {

constexpr double kGiB = 1073741824.0;
constexpr double kMoreThanExecuted = 1.005;  // visible in three digits

double gib(std::int64_t bytes) {
    return static_cast<double>(bytes) / kGiB;
}

struct FigureLine {
    std::string label;
    std::string value;
    std::string note;
};

std::string figure_line(const FigureLine& line, const TextStyle& style) {
    constexpr int kNoteColumn = 37;
    const std::string value = fmt::format("{:<14} ", line.value);
    return fmt::format("  {:<20}{}{}\n",
                       line.label,
                       line.label == "step time" ? style.bold(value) : value,
                       wrapped(line.note, style.width, kNoteColumn));
}

std::string step_time_line(const Metrics& m, const TextStyle& style) {
    return figure_line(
        {"step time", human(m.step_time), "first (cold) step " + human(m.first_step_time)}, style);
}

std::string executed_figures(const Report& r, const TextStyle& style) {
    std::string text = step_time_line(r.metrics, style);
    for (const char* name : {"tokens/s per GPU", "MFU, HFU", "peak memory"}) {
        text += fmt::format("  {:<20}not available\n", name);
    }
    return text + "  " +
           style.dim(wrapped("An executed workload states times and transfers; tokens, FLOPs and "
                             "tensors are not in it.",
                             style.width,
                             2)) +
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
    std::string text = step_time_line(m, style);
    const auto line = [&](const char* label, std::string value, std::string note) {
        text += figure_line({label, std::move(value), std::move(note)}, style);
    };
    line("tokens/s per GPU",
         human_number(m.tokens_per_s_per_gpu),
         human_number(tokens_per_s) + " tokens/s in all");
    line("TFLOP/s per GPU",
         human_number(m.tflops_per_gpu),
         human_number(m.tflops_per_gpu_hardware) + " in hardware FLOPs");
    line("MFU",
         human_percent(m.mfu),
         fmt::format("of {}; attention_flops: {}", human(m.peak), convention));
    line("HFU", human_percent(m.hfu), "the same with recomputed products");
    if (m.executed_flops.value > 0 &&
        m.hardware_flops.value > kMoreThanExecuted * m.executed_flops.value) {
        line("executed",
             human_percent(m.hfu_executed),
             fmt::format("of the peak: attention_flops: {} counts {} times what kernels execute",
                         convention,
                         human_number(m.hardware_flops.value / m.executed_flops.value)));
    }
    line("peak memory", fmt::format("{:.2f} GiB", gib(m.peak_memory_bytes)), "allocated");
    const double usable = gib(m.stages.front().usable);
    const std::string device = figure_line(
        {"device memory",
         fmt::format("{:.2f} GiB", gib(m.peak_device_bytes)),
         m.fit.fits
             ? fmt::format("of {:.2f} usable: fits, {:.2f} to spare", usable, gib(m.fit.margin))
             : fmt::format("of {:.2f} usable: does not fit by {:.2f}", usable, gib(-m.fit.margin))},
        style);
    return text + (m.fit.fits ? device : style.bad(device));
}

std::string split(const Report& r, const TextStyle& style) {
    constexpr int kColumnsBeside = 59;  // of a bar
    const Metrics& m = r.metrics;
    std::string text = heading(
        "Where the step goes", "mean over ranks, and the rank with the most compute", style);
    const int whole_bar = std::clamp(style.width - kColumnsBeside, 0, 40);
    Duration sum{};
    Duration busiest{};
    for (const BreakdownLine& line : m.breakdown) {
        sum += line.mean;
        busiest += line.busiest;
        if (line.mean.count() == 0 && line.busiest.count() == 0) {
            continue;
        }
        const auto bar = static_cast<std::size_t>(std::lround(whole_bar * line.share));
        text += fmt::format("  {:<20}{:>12}{:>9.2f} %{:>12}{}{}\n",
                            line.label,
                            human(line.mean),
                            100 * line.share,
                            human(line.busiest),
                            bar > 0 ? "  " : "",
                            std::string(bar, '#'));
    }
    text += fmt::format("  {:<20}{:>12}{:>9.2f} %{:>12}\n",
                        "sum",
                        human(sum),
                        100.0 * to_seconds(sum) / to_seconds(m.step_time),
                        human(busiest));
    return text + "  " +
           wrapped(fmt::format("communication {} in all, {} exposed; interference {}",
                               human(m.communication),
                               human(m.exposed),
                               human(m.interference)),
                   style.width,
                   4) +
           "\n";
}

std::string memory(const Report& r, const TextStyle& style, bool all_stages) {
    const Metrics& m = r.metrics;
    if (m.executed) {
        return "";
    }
    std::string text = heading("Peak memory per stage",
                               "GiB at the allocated peak; device = reserved + context",
                               style) +
                       memory_table(m, style, all_stages);
    text +=
        "  " +
        wrapped(fmt::format("fullest: stage {}, at {}", m.fit.stage, m.fit.where), style.width, 4) +
        "\n";
    if (!m.fit.fits) {
        const std::string why =
            fmt::format("does not fit: {} holds {:.2f} GiB; short by {:.2f} GiB",
                        m.fit.tensor_class,
                        gib(m.fit.class_bytes),
                        gib(-m.fit.margin));
        text += "  " + style.bad(wrapped(why, style.width, 4)) + "\n";
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
        const std::string line =
            fmt::format("{}: published {}, predicted {} ({:+.1f} %){}",
                        c.figure,
                        figure_text(c.figure, c.published),
                        figure_text(c.figure, c.predicted),
                        100 * (c.predicted / c.published - 1),
                        c.same_configuration ? "" : ", context: not the same configuration");
        text += "  " + wrapped(line, style.width, 4) + "\n";
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
    return fmt::format("  {} {}\n",
                       mark(c.holds, style),
                       wrapped(c.text + " (asked for)" + value, style.width, 7));
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
        text += fmt::format("  {} {}\n",
                            mark(c.holds, style),
                            wrapped(fmt::format("{}: {}", c.what, c.detail), style.width, 7));
    }
    const std::string size =
        fmt::format("{} in {}, {} ops as {} events, signature {:016x}",
                    counted(static_cast<std::int64_t>(r.result.ranks), "rank"),
                    counted(static_cast<std::int64_t>(r.result.classes.size()), "class"),
                    human_count(static_cast<std::int64_t>(r.result.ops)),
                    human_count(static_cast<std::int64_t>(r.result.events)),
                    r.result.signature);
    return text + "  " + style.dim(wrapped(size, style.width, 2)) + "\n";
}

}  // namespace

std::string report_text(const Report& r, const TextStyle& style, Detail detail) {
    if (detail == Detail::Figures) {
        return figures(r, style) + failed_checks(r, style);
    }
    const std::string limit =
        style.bold("Limit") + "  " + wrapped(r.metrics.limit, style.width, 7) + "\n";
    std::string text = head_text(r, style);
    for (const std::string& part : {jobs_text(r, style),
                                    events_text(r, style),
                                    figures(r, style),
                                    limit,
                                    split(r, style),
                                    memory(r, style, detail == Detail::AllStages),
                                    published(r, style),
                                    assumptions(r, style),
                                    checks(r, style)}) {
        text += part.empty() ? "" : "\n" + part;
    }
    return text;
}

}  // namespace memwall
