#include "sim/io/trace_text.h"

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/model/summary.h"

namespace memwall {
namespace {

std::string_view pass_name(Pass pass) {
    switch (pass) {
    case Pass::Forward:
        return "forward";
    case Pass::InputGradient:
        return "input grad";
    case Pass::WeightGradient:
        return "weight grad";
    }
    return "";
}

std::string row_text(const SummaryRow& row, const TextStyle& style) {
    const std::string flops = row.flops.value > 0 ? human(row.flops) : "";
    const std::string bytes = row.bytes.value > 0 ? human(row.bytes) : "";
    const std::string saved = row.saved.value > 0 ? human(row.saved) : "";
    const std::string notes = row.split + (row.condition.empty() ? "" : " " + row.condition);
    const std::string line = fmt::format("  {:<30} {:<11} {:<12} {:<28} {:>12} {:>10} {:>10}  {}",
                                         row.op,
                                         pass_name(row.pass),
                                         row.boundary ? "boundary" : row.kernel,
                                         row.shape,
                                         flops,
                                         bytes,
                                         saved,
                                         notes);
    return (row.boundary ? style.dim(line) : line) + "\n";
}

std::string kind_text(const SummaryKind& kind, const TextStyle& style) {
    std::string text =
        style.bold(kind.kind) + fmt::format("  {} in the model, {} parameters each\n",
                                            kind.layers,
                                            human_count(kind.parameters));
    text += style.dim(fmt::format("  {:<30} {:<11} {:<12} {:<28} {:>12} {:>10} {:>10}  {}\n",
                                  "op",
                                  "pass",
                                  "kernel",
                                  "shape",
                                  "FLOPs",
                                  "HBM",
                                  "saved",
                                  "divided by"));
    for (const SummaryRow& row : kind.rows) {
        text += row_text(row, style);
    }
    return text + fmt::format(
                      "  FLOPs: forward {}, input gradient {}, weight gradient {}; saved for "
                      "backward {}\n",
                      human(kind.forward),
                      human(kind.input_gradient),
                      human(kind.weight_gradient),
                      human(kind.saved));
}

}  // namespace

std::string trace_text(const WorkloadTrace& trace, const TextStyle& style) {
    std::string text = style.bold(trace.name) + fmt::format("  from {}\n", trace.source);
    text += fmt::format(
        "one micro-batch of {} tokens (sequence {}), nothing sharded; {} parameters, {} in matrix "
        "products\n",
        human_count(trace.tokens),
        human_count(trace.sequence),
        human_count(trace.parameters),
        human_count(trace.matmul_parameters));
    for (const SummaryKind& kind : summarise(trace)) {
        text += "\n" + kind_text(kind, style);
    }
    return text;
}

}  // namespace memwall
