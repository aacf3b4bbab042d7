#pragma once
// A machine as text and JSON: tiers, bandwidths, bisection, and the route between two ranks.
#include <optional>
#include <string>

#include "sim/io/text_style.h"
#include "sim/network/topo.h"

namespace memwall {

[[nodiscard]] std::string topo_text(const TopoReport& report,
                                    const std::optional<TopoRoute>& route,
                                    const TextStyle& style);
[[nodiscard]] std::string topo_json(const TopoReport& report,
                                    const std::optional<TopoRoute>& route);

}  // namespace memwall
