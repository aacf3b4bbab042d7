#pragma once
// What the report of a run is made from: the same values for text, JSON and later forms.
#include <string>
#include <vector>

#include "sim/analyze/metrics.h"
#include "sim/core/diagnostics.h"
#include "sim/run/result.h"
#include "sim/spec/plan.h"

namespace memwall {

// A constant or a choice that the result rests on, and where it comes from.
struct Assumption {
    std::string what;    // "a100-80g-sxm gemm.bf16"
    std::string source;  // citation, fit with residual, file:line
};

struct CheckOutcome {
    std::string text;    // as written in the scenario
    std::string figure;  // its JSON name
    double value = 0;    // of the figure
    bool holds = true;
};

// A published figure beside the prediction.
struct Comparison {
    std::string figure;
    double published = 0;
    double predicted = 0;
    bool same_configuration = false;  // yes: counts as validation; no: context
    std::string source;
};

struct Report {
    const Plan& plan;
    const Metrics& metrics;
    const RunResult& result;
    std::vector<Assumption> assumptions;
    std::vector<Diagnostic> warnings;
    std::vector<CheckOutcome> checks;
    std::vector<Comparison> comparisons;
};

[[nodiscard]] std::vector<CheckOutcome> evaluate_checks(const Plan& plan, const Metrics& metrics);
[[nodiscard]] std::vector<Comparison> compare_with_published(const Plan& plan,
                                                             const Metrics& metrics);

}  // namespace memwall
