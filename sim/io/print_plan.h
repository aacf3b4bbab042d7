#pragma once
// A resolved scenario as YAML that is itself a scenario: every field with its value, references inlined, and at the end
// of each line where the value came from: `# file:line`, `# --set`, `# stack`, `# default`, `# derived`.
#include <string>

#include "sim/io/load.h"

namespace memwall {

struct PrintOptions {
    bool origins = true;
};

[[nodiscard]] std::string print_plan(const Loaded& loaded, const PrintOptions& options = {});

// The same as a document, for JSON or for looking up one value.
[[nodiscard]] DocNode plan_document(const Loaded& loaded);

// Any document as YAML text; places become comments when `origins` is set.
[[nodiscard]] std::string print_yaml(const DocNode& document, bool origins);

}  // namespace memwall
