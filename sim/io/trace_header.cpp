#include "sim/io/trace_header.h"

#include <string>

#include <fmt/format.h>

namespace memwall {
namespace {

// Shares of experts are rounded to whole parameters, heads x dimension to whole numbers.
constexpr double kRounding = 0.01;

const Place& place_of(const DocNode& doc, const char* key) {
    const DocNode* node = doc.find(key);
    return node != nullptr ? node->place : doc.place;
}

// In matrix products, active experts only.
double matmul_parameters(const LayerTrace& layer) {
    double sum = 0;
    for (const ParameterTensor& p : layer.parameters) {
        const double share = p.expert ? layer.active_expert_share : 1;
        sum += p.matmul ? share * static_cast<double>(p.count()) : 0;
    }
    return sum;
}

// FLOPs of the products of scores and of values, forward, of the whole square.
double attention_flops(const LayerTrace& layer) {
    double sum = 0;
    for (const TraceItem& item : layer.forward) {
        if (!item.op || !op_applies(*item.op, 1)) {
            continue;
        }
        if (const auto* attention = std::get_if<Attention>(&item.op->kernel)) {
            Attention square = *attention;
            square.causal = false;
            square.window = 0;
            sum += flops_of(square).value;
        } else if (std::holds_alternative<Gemm>(item.op->kernel) &&
                   item.op->module == TraceModule::AttentionCore) {
            sum += flops_of(item.op->kernel).value;
        }
    }
    return sum;
}

// The head of the layers is padded, that of the header is not: any smaller head passes.
void check_matmul_parameters(const WorkloadTrace& trace,
                             const DocNode& doc,
                             Diagnostics& diagnostics) {
    double layers = 0;
    for (const std::uint32_t kind : trace.layers) {
        layers += matmul_parameters(trace.kinds[kind]);
    }
    const double most = layers + matmul_parameters(trace.kinds[trace.head]);
    const auto stated = static_cast<double>(trace.matmul_parameters);
    if (layers == 0 || (stated >= layers * (1 - kRounding) && stated <= most * (1 + kRounding))) {
        return;
    }
    diagnostics
        .error("E0530",
               place_of(doc, "matmul_parameters"),
               fmt::format("matmul_parameters {} differs from what the layers list: {:.0f}, with "
                           "the head {:.0f}",
                           trace.matmul_parameters,
                           layers,
                           most))
        .hint =
        "sum of rows x columns x copies over parameters with matmul: true, of experts the "
        "active ones; the head without padding";
}

void check_attention(const WorkloadTrace& trace, const DocNode& doc, Diagnostics& diagnostics) {
    double flops = 0;
    for (const std::uint32_t kind : trace.layers) {
        flops += attention_flops(trace.kinds[kind]);
    }
    // Two products of 2 x tokens x sequence x (heads x dimension) FLOPs in each layer.
    const double listed =
        flops / (4 * static_cast<double>(trace.tokens) * static_cast<double>(trace.sequence));
    const auto stated = static_cast<double>(trace.attention_flops_factor);
    if (listed == 0 || (stated >= listed * (1 - kRounding) && stated <= listed * (1 + kRounding))) {
        return;
    }
    diagnostics
        .error("E0530",
               place_of(doc, "attention_flops_factor"),
               fmt::format("attention_flops_factor {} differs from the {:.0f} of the layers' "
                           "attention kernels",
                           trace.attention_flops_factor,
                           listed))
        .hint = "sum over layers of heads x head dimension";
}

}  // namespace

void check_trace_header(const WorkloadTrace& trace, const DocNode& doc, Diagnostics& diagnostics) {
    check_matmul_parameters(trace, doc, diagnostics);
    check_attention(trace, doc, diagnostics);
}

}  // namespace memwall
