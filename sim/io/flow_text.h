#pragma once
// A document as YAML or JSON with one list item per line, for files that are lists of records (traces).
#include <string>

#include "sim/spec/document.h"

namespace memwall {

[[nodiscard]] std::string flow_yaml(const DocNode& map);
[[nodiscard]] std::string flow_json(const DocNode& map);

}  // namespace memwall
