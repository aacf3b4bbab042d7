#include "sim/network/link_events.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/network/fabric.h"
#include "sim/spec/legality.h"
#include "sim/spec/names.h"

namespace memwall {

namespace {

// The values of `link` in the events of the scenario, in order; the list itself where one is not written there.
Place place_of(const DocNode& composed, std::size_t event) {
    const DocNode* events = composed.at("machine.events");
    for (std::size_t i = 0; events != nullptr && i < events->items.size(); ++i) {
        const DocNode* link = events->items[i].find("link");
        if (link != nullptr && event-- == 0) {
            return link->place;
        }
    }
    return place_at(composed, "machine.events");
}

// What may have been meant: links of the node that is named, else of the first and of the tiers above.
std::vector<std::string> candidates(const Fabric& fabric, const std::string& typed) {
    std::string node = typed.substr(0, typed.find('/'));
    if (!fabric.find_link(node + "/" + fabric.node_links().names.front())) {
        node = "node0";
    }
    std::vector<std::string> names;
    for (const std::string& name : fabric.node_links().names) {
        names.push_back(fmt::format("{}/{}", node, name));
    }
    const std::size_t above =
        fabric.node_links().links.size() * static_cast<std::size_t>(fabric.nodes());
    for (std::size_t l = above; l < fabric.links().size(); ++l) {
        names.push_back(fabric.link_name(LinkId{l}));
    }
    return names;
}

std::string hint_for(const Fabric& fabric, const std::string& typed) {
    const std::vector<std::string> names = candidates(fabric, typed);
    const std::string_view near = nearest(typed, {names.begin(), names.end()});
    return near.empty()
               ? fmt::format(
                     "a link is called as in {}; `memwall topo SCENARIO --links` prints all",
                     names[names.size() / 2])
               : fmt::format("did you mean '{}'? `memwall topo SCENARIO --links` prints all", near);
}

}  // namespace

bool check_link_events(const Machine& machine, const DocNode& composed, Diagnostics& diagnostics) {
    if (machine.link_events.empty()) {
        return true;
    }
    const std::size_t before = diagnostics.errors();
    Machine healthy = machine;
    healthy.link_events.clear();
    const Fabric fabric(healthy);
    const bool has_links =
        machine.fidelity == Fidelity::Fluid || machine.fidelity == Fidelity::Stepwise;
    for (std::size_t e = 0; e < machine.link_events.size(); ++e) {
        const std::string& name = machine.link_events[e].link;
        const Place place = place_of(composed, e);
        const std::optional<LinkId> link = fabric.find_link(name);
        const auto same = [&](const LinkEvent& other) { return other.link == name; };
        const auto here = machine.link_events.begin() + static_cast<std::ptrdiff_t>(e);
        if (!link) {
            diagnostics.error("E0405", place, fmt::format("link '{}' is not in this machine", name))
                .hint = hint_for(fabric, name);
        } else if (!(fabric.links()[link->index].capacity.value > 0)) {
            diagnostics
                .error("E0405",
                       place,
                       fmt::format("link '{}' has no stated rate to take a share of", name))
                .hint = "state it in the file of the node";
        } else if (std::find_if(machine.link_events.begin(), here, same) != here) {
            diagnostics.error("E0405", place, fmt::format("link '{}' is given twice", name)).hint =
                "keep one of the two";
        } else if (!has_links) {
            diagnostics
                .warning("W0405",
                         place,
                         fmt::format("fidelity {} has no links: the event on '{}' has no effect",
                                     name_of(machine.fidelity),
                                     name))
                .hint = "say `network: {fidelity: fluid}`";
        }
    }
    return diagnostics.errors() == before;
}

}  // namespace memwall
