#pragma once
// What a figure or a label of the report means: its formula, and with a run the numbers that went into it.
#include <string>
#include <string_view>
#include <vector>

#include "sim/analyze/metrics.h"

namespace memwall {

struct ExplainedInput {
    std::string symbol;
    std::string meaning;
    std::string value;  // with its unit
};

struct Explanation {
    std::string name;
    std::string meaning;
    std::string formula;                 // empty for labels that are measured, not computed
    std::vector<ExplainedInput> inputs;  // empty without a run
    std::string value;                   // empty without a run
};

// Names that can be explained, in alphabetical order.
[[nodiscard]] std::vector<std::string_view> explainable();

// facts and metrics may be null: then without numbers. An empty name in the result: not known.
[[nodiscard]] Explanation explain(std::string_view name,
                                  const RunFacts* facts,
                                  const Metrics* metrics);

}  // namespace memwall
