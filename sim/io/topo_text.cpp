#include "sim/io/topo_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/quantity.h"

namespace memwall {
namespace {

using Json = nlohmann::ordered_json;

std::string rate(Bandwidth b) {
    return b.value > 0 ? human(b) : std::string("not limiting");
}

std::string route_text(const TopoRoute& route, const TextStyle& style) {
    std::string text = style.bold("Route") + fmt::format("  {} to {}\n", route.from, route.to);
    for (const TopoHop& hop : route.hops) {
        text += fmt::format("  {:<46} {:>12}  {:>6.2f} of the bytes{}\n",
                            hop.link,
                            rate(hop.capacity),
                            hop.share,
                            hop.binding ? "" : "  (cannot limit)");
    }
    return text + fmt::format("  limit {}, latency {}, {} switches{}\n",
                              rate(route.limit),
                              human(route.latency),
                              route.switches,
                              route.crosses_nodes ? ", leaves the NVLink domain" : "");
}

Json route_json(const TopoRoute& route) {
    Json hops = Json::array();
    for (const TopoHop& hop : route.hops) {
        hops.push_back({{"link", hop.link},
                        {"share", hop.share},
                        {"capacity_bytes_per_s", hop.capacity.value},
                        {"binding", hop.binding}});
    }
    return {{"from", route.from},
            {"to", route.to},
            {"hops", hops},
            {"latency_s", to_seconds(route.latency)},
            {"switches", route.switches},
            {"crosses_nodes", route.crosses_nodes},
            {"limit_bytes_per_s", route.limit.value}};
}

}  // namespace

std::string topo_text(const TopoReport& r,
                      const std::optional<TopoRoute>& route,
                      const TextStyle& style) {
    std::string text = style.bold(r.cluster) + fmt::format("  {} nodes {} x {} GPUs, fabric {}\n",
                                                           human_count(r.nodes),
                                                           r.node,
                                                           r.gpus_per_node,
                                                           r.fabric);
    text += fmt::format(
        "{} GPUs in {} NVLink domains (or nodes); {} NICs per node; {} leaves, {} pods\n\n",
        human_count(static_cast<std::int64_t>(r.gpus)),
        human_count(r.domains),
        r.nics_per_node,
        r.leaves,
        r.pods);
    text += style.bold("Tiers") + style.dim("  one direction") + "\n";
    text += fmt::format(
        "  {:<34}{:>10}{:>16}{:>16}{:>18}\n", "tier", "links", "each", "all", "oversubscription");
    for (const TopoTier& tier : r.tiers) {
        text += fmt::format("  {:<34}{:>10}{:>16}{:>16}{:>18}{}\n",
                            tier.name,
                            human_count(tier.links),
                            rate(tier.each),
                            rate(tier.total),
                            human_number(tier.oversubscription),
                            tier.binding ? "" : "  (cannot limit)");
    }
    text += fmt::format("\n{}  {} between the halves of the GPUs, {} per GPU; held down by {}\n",
                        style.bold("Bisection"),
                        human(r.bisection),
                        human(r.bisection_per_gpu),
                        r.bisection_limit);
    text += fmt::format("{}  NVLink {}, PCIe {}, one network switch {}\n",
                        style.bold("Latency"),
                        human(r.nvlink_latency),
                        human(r.pcie_latency),
                        human(r.hop_latency));
    return route ? text + "\n" + route_text(*route, style) : text;
}

std::string topo_json(const TopoReport& r, const std::optional<TopoRoute>& route) {
    Json tiers = Json::array();
    for (const TopoTier& tier : r.tiers) {
        tiers.push_back({{"tier", tier.name},
                         {"links", tier.links},
                         {"each_bytes_per_s", tier.each.value},
                         {"all_bytes_per_s", tier.total.value},
                         {"oversubscription", tier.oversubscription},
                         {"binding", tier.binding}});
    }
    Json j = {{"schema_version", "memwall/topo/1"},
              {"cluster", r.cluster},
              {"node", r.node},
              {"fabric", r.fabric},
              {"nodes", r.nodes},
              {"gpus", r.gpus},
              {"nvlink_domains", r.domains},
              {"leaves", r.leaves},
              {"pods", r.pods},
              {"tiers", tiers},
              {"bisection_bytes_per_s", r.bisection.value},
              {"bisection_per_gpu_bytes_per_s", r.bisection_per_gpu.value},
              {"bisection_limit", r.bisection_limit},
              {"nvlink_latency_s", to_seconds(r.nvlink_latency)},
              {"pcie_latency_s", to_seconds(r.pcie_latency)},
              {"hop_latency_s", to_seconds(r.hop_latency)}};
    if (route) {
        j["route"] = route_json(*route);
    }
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace memwall
