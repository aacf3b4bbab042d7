#pragma once
// Precision policies by name: bytes per parameter of weights, gradients, master weights and both Adam moments.
#include <optional>
#include <string_view>
#include <vector>

#include "sim/spec/strategy.h"

namespace memwall {

[[nodiscard]] std::optional<Precision> find_precision(std::string_view name);
[[nodiscard]] std::vector<std::string_view> precision_names();

}  // namespace memwall
