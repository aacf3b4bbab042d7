#pragma once
// A machine as text and JSON: tiers, bandwidths, bisection, the route between two ranks, and every link.
#include <optional>
#include <string>
#include <vector>

#include "sim/io/text_style.h"
#include "sim/network/topo.h"

namespace memwall {

struct TopoView {
    TopoReport report;
    std::optional<TopoRoute> route;
    std::vector<TopoLink> links;  // every one, when asked for
};

[[nodiscard]] std::string topo_text(const TopoView& view, const TextStyle& style);
[[nodiscard]] std::string topo_json(const TopoView& view);

}  // namespace memwall
