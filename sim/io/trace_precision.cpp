#include "sim/io/trace_precision.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/spec/names.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

using FlopsByFormat = std::map<Dtype, double>;

struct Products {
    FlopsByFormat gemms;
    FlopsByFormat attention;  // kept in bf16 by stacks that multiply in 8 bits
};

void add_kind(const LayerTrace& layer, Products& products) {
    for (const auto* items : {&layer.forward, &layer.backward}) {
        for (const TraceItem& item : *items) {
            if (!item.op) {
                continue;
            }
            const double flops = flops_of(item.op->kernel).value;
            if (const auto* gemm = std::get_if<Gemm>(&item.op->kernel)) {
                products.gemms[gemm->dtype] += flops;
            } else if (const auto* attention = std::get_if<Attention>(&item.op->kernel)) {
                products.attention[attention->dtype] += flops;
            }
        }
    }
}

FlopsByFormat products_of(const WorkloadTrace& trace) {
    Products products;
    for (const std::uint32_t kind : trace.layers) {
        add_kind(trace.kinds[kind], products);
    }
    add_kind(trace.kinds[trace.embedding], products);
    add_kind(trace.kinds[trace.head], products);
    return products.gemms.empty() ? products.attention : products.gemms;
}

std::vector<std::string_view> policies_in(Dtype compute) {
    std::vector<std::string_view> names;
    for (const std::string_view name : precision_names()) {
        if (find_precision(name)->compute == compute) {
            names.push_back(name);
        }
    }
    return names;
}

}  // namespace

void check_trace_precision(const WorkloadTrace& trace, const JobCheck& check) {
    const FlopsByFormat products = products_of(trace);
    if (products.empty()) {
        return;
    }
    const auto most =
        std::max_element(products.begin(), products.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        });
    const Precision& precision = check.job.training.precision;
    if (most->first == precision.compute) {
        return;
    }
    double sum = 0;
    for (const auto& [dtype, flops] : products) {
        sum += flops;
    }
    Diagnostic& error = check.error("E0337",
                                    "training.precision",
                                    fmt::format("precision {} computes in {}, trace '{}' in {}",
                                                precision.name,
                                                name_of(precision.compute),
                                                trace.name,
                                                name_of(most->first)));
    error.notes.push_back({check.at("workload.trace"),
                           fmt::format("{:.0f} % of the FLOPs of its matrix products are {}",
                                       sum > 0 ? 100 * most->second / sum : 100.0,
                                       name_of(most->first))});
    const std::vector<std::string_view> policies = policies_in(most->first);
    error.hint = policies.empty()
                     ? fmt::format("training.precision.compute: {}", name_of(most->first))
                     : fmt::format(
                           "policies that compute in {}: {}; or write the trace again at "
                           "this precision",
                           name_of(most->first),
                           fmt::join(policies, ", "));
}

}  // namespace memwall
