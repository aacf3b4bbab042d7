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

// "50 GB/s", "25 GB/s, 50 % of 50 GB/s", "(no limit)" behind it.
std::string capacity_text(const TopoLink& link) {
    std::string text = rate(link.capacity * link.left);
    if (link.left < 1) {
        text += fmt::format(", {} of {}", human_percent(link.left), rate(link.capacity));
    }
    return text;
}

std::string links_text(std::string_view title,
                       const std::vector<TopoLink>& links,
                       const TextStyle& style) {
    std::string text = style.bold(title) + style.dim("  one direction") + "\n";
    for (const TopoLink& link : links) {
        text += fmt::format(
            "  {:<34}  {}{}\n", link.name, capacity_text(link), link.binding ? "" : "  (no limit)");
    }
    return text;
}

Json link_json(const TopoLink& link) {
    return {{"link", link.name},
            {"capacity_bytes_per_s", link.capacity.value},
            {"left", link.left},
            {"binding", link.binding}};
}

Json links_json(const std::vector<TopoLink>& links) {
    Json all = Json::array();
    for (const TopoLink& link : links) {
        all.push_back(link_json(link));
    }
    return all;
}

std::string route_text(const TopoRoute& route, const TextStyle& style) {
    std::string text = style.bold("Route") + fmt::format("  {} to {}\n", route.from, route.to);
    for (const TopoHop& hop : route.hops) {
        text += fmt::format("  {:<34}  {:>6.2f} of the bytes  {}{}\n",
                            hop.link.name,
                            hop.share,
                            capacity_text(hop.link),
                            hop.link.binding ? "" : "  (no limit)");
    }
    return text + fmt::format("  limit {}, latency {}, {} switches{}\n",
                              rate(route.limit),
                              human(route.latency),
                              route.switches,
                              route.crosses_nodes ? ", leaves the NVLink domain" : "");
}

// Behind switches a domain is a node or a rack; bridged pairs are several in a node.
std::string domains_text(const TopoReport& r) {
    if (r.nvlink_gpus == 1) {
        return fmt::format("{} nodes without NVLink", human_count(r.nodes));
    }
    if (r.nvlink_gpus < r.gpus_per_node) {
        return fmt::format("{} NVLink domains of {} GPUs",
                           human_count(static_cast<std::int64_t>(r.gpus) / r.nvlink_gpus),
                           r.nvlink_gpus);
    }
    return fmt::format("{} NVLink domains", human_count(r.domains));
}

Json route_json(const TopoRoute& route) {
    Json hops = Json::array();
    for (const TopoHop& hop : route.hops) {
        Json j = link_json(hop.link);
        j["share"] = hop.share;
        hops.push_back(j);
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

std::string topo_text(const TopoView& view, const TextStyle& style) {
    const TopoReport& r = view.report;
    std::string text = style.bold(r.cluster) + fmt::format("  {} {} x {} GPUs, fabric {}\n",
                                                           counted(r.nodes, "node"),
                                                           r.node,
                                                           r.gpus_per_node,
                                                           r.fabric);
    text += fmt::format("{} GPUs in {}; {} per node; {} leaves, {} pods\n\n",
                        human_count(static_cast<std::int64_t>(r.gpus)),
                        domains_text(r),
                        counted(r.nics_per_node, "NIC"),
                        r.leaves,
                        r.pods);
    text += style.bold("Tiers") + style.dim("  one direction") + "\n";
    text += fmt::format(
        "  {:<31}{:>8}{:>12}{:>12}  {}\n", "tier", "links", "each", "all", "oversubscribed");
    for (const TopoTier& tier : r.tiers) {
        text += fmt::format("  {:<31}{:>8}{:>12}{:>12}  {}{}\n",
                            tier.name,
                            human_count(tier.links),
                            rate(tier.each),
                            rate(tier.total),
                            human_number(tier.oversubscription),
                            tier.binding ? "" : " (no limit)");
    }
    text += "\n" + style.bold("Bisection") + "  " +
            wrapped(fmt::format("{} between the halves of the GPUs, {} per GPU; held down by {}",
                                human(r.bisection),
                                human(r.bisection_per_gpu),
                                r.bisection_limit),
                    style.width,
                    11) +
            "\n";
    text += fmt::format("{}  NVLink {}, PCIe {}, one network switch {}\n",
                        style.bold("Latency"),
                        human(r.nvlink_latency),
                        human(r.pcie_latency),
                        human(r.hop_latency));
    if (!r.degraded.empty()) {
        text += "\n" + links_text("Degraded by events", r.degraded, style);
    }
    if (view.route) {
        text += "\n" + route_text(*view.route, style);
    }
    if (!view.links.empty()) {
        text += "\n" + links_text("Links", view.links, style);
    }
    return text;
}

std::string topo_json(const TopoView& view) {
    const TopoReport& r = view.report;
    Json tiers = Json::array();
    for (const TopoTier& tier : r.tiers) {
        tiers.push_back({{"tier", tier.name},
                         {"links", tier.links},
                         {"each_bytes_per_s", tier.each.value},
                         {"all_bytes_per_s", tier.total.value},
                         {"oversubscription", tier.oversubscription},
                         {"binding", tier.binding}});
    }
    Json j = {
        {"schema_version", "memwall/topo/1"},
        {"cluster", r.cluster},
        {"node", r.node},
        {"fabric", r.fabric},
        {"nodes", r.nodes},
        {"gpus", r.gpus},
        {"nvlink_domains",
         r.nvlink_gpus < r.gpus_per_node ? static_cast<int>(r.gpus) / r.nvlink_gpus : r.domains},
        {"nvlink_domain_gpus", r.nvlink_gpus},
        {"leaves", r.leaves},
        {"pods", r.pods},
        {"tiers", tiers},
        {"bisection_bytes_per_s", r.bisection.value},
        {"bisection_per_gpu_bytes_per_s", r.bisection_per_gpu.value},
        {"bisection_limit", r.bisection_limit},
        {"nvlink_latency_s", to_seconds(r.nvlink_latency)},
        {"pcie_latency_s", to_seconds(r.pcie_latency)},
        {"hop_latency_s", to_seconds(r.hop_latency)}};
    j["degraded"] = links_json(r.degraded);
    if (view.route) {
        j["route"] = route_json(*view.route);
    }
    if (!view.links.empty()) {
        j["links"] = links_json(view.links);
    }
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace memwall
