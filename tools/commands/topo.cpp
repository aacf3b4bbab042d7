#include <algorithm>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/io/topo_text.h"
#include "sim/network/fabric.h"
#include "sim/network/link_events.h"
#include "sim/spec/fields_machine.h"
#include "sim/spec/legality.h"
#include "sim/spec/read.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {
namespace {

constexpr int kNodesWhenSilent = 2;

// A machine with the document that describes it, in the form of a scenario.
struct Described {
    Machine machine;
    DocNode composed;
};

DocNode map_of(std::string key, DocNode value) {
    DocNode map;
    map.kind = DocNode::Kind::Map;
    map.place = value.place;
    map.entries.push_back({std::move(key), map.place, std::move(value)});
    return map;
}

bool nodes_are_joined(const Cluster& cluster) {
    return cluster.fabric.kind != FabricKind::None && cluster.node.nics > 0 &&
           cluster.node.nic_rate.value > 0;
}

// A scenario says so in its schema line, or by its name; all else is a cluster.
bool is_scenario(Session& session, const std::string& reference) {
    DataSource& data = session.data();
    return reference == "-" || data.schema_of(reference).starts_with("memwall/scenario/") ||
           (data.knows(DataKind::Scenario, reference) && !data.knows(DataKind::Cluster, reference));
}

std::optional<Described> machine_of(Session& session, const std::string& reference) {
    Diagnostics diagnostics;
    if (is_scenario(session, reference)) {
        std::optional<Loaded> loaded = session.scenario(diagnostics);
        return loaded ? std::optional(Described{loaded->plan.machine, std::move(loaded->composed)})
                      : std::nullopt;
    }
    std::optional<DocNode> document = load_document(DataKind::Cluster,
                                                    reference,
                                                    session.data(),
                                                    diagnostics,
                                                    session.arguments().values("--set"));
    Described described;
    Cluster& cluster = described.machine.cluster;
    const bool read = document && read_document(*document, "this cluster", cluster, diagnostics);
    session.complain(diagnostics);
    if (!read) {
        return std::nullopt;
    }
    described.machine.nodes =
        nodes_are_joined(cluster) ? std::min(kNodesWhenSilent, cluster.nodes_max) : 1;
    described.composed = map_of("machine", map_of("cluster", std::move(*document)));
    return described;
}

// False after a complaint: such a machine cannot be built.
bool can_be_built(Session& session, const Described& described) {
    Plan plan;
    plan.machine = described.machine;
    plan.jobs.emplace_back().nodes = described.machine.nodes;
    Diagnostics diagnostics;
    check_placement(plan, described.composed, diagnostics);
    if (!diagnostics.has_errors()) {
        check_link_events(plan.machine, described.composed, diagnostics);
    }
    session.complain(diagnostics);
    return !diagnostics.has_errors();
}

bool read_pair(std::string_view text, std::size_t devices, DeviceId& a, DeviceId& b) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
        return false;
    }
    const auto first = memwall::parse<std::int64_t>(text.substr(0, comma));
    const auto second = memwall::parse<std::int64_t>(text.substr(comma + 1));
    const auto valid = [&](const auto& rank) {
        return rank && *rank >= 0 && *rank < static_cast<std::int64_t>(devices);
    };
    if (!valid(first) || !valid(second) || *first == *second) {
        return false;
    }
    a = DeviceId(static_cast<std::size_t>(*first));
    b = DeviceId(static_cast<std::size_t>(*second));
    return true;
}

}  // namespace

int command_topo(Session& session) {
    const Arguments& arguments = session.arguments();
    if (arguments.has("--dot") && arguments.has("--json")) {
        return session.refuse("--dot and --json are two forms of one output", "give one of them");
    }
    std::optional<Described> described = machine_of(session, arguments.positional(0));
    if (!described) {
        return kWrongInput;
    }
    Machine& machine = described->machine;
    if (arguments.has("--nodes")) {
        const auto nodes = memwall::parse<int>(arguments.value("--nodes"));
        if (!nodes || *nodes < 1 || *nodes > machine.cluster.nodes_max) {
            return session.refuse(fmt::format("--nodes {}: not a number of nodes of {}",
                                              arguments.value("--nodes"),
                                              machine.cluster.name),
                                  fmt::format("1 to {}", machine.cluster.nodes_max));
        }
        machine.nodes = *nodes;
        machine.stragglers.clear();  // ranks of another size of machine, and nothing shown here
    }
    if (!can_be_built(session, *described)) {
        return kWrongInput;
    }
    const Fabric fabric(machine);
    if (arguments.has("--dot")) {
        print(to_dot(fabric, machine.nodes));
        return kDone;
    }
    TopoView view;
    if (arguments.has("--route")) {
        DeviceId from;
        DeviceId to;
        if (!read_pair(arguments.value("--route"), fabric.devices(), from, to)) {
            return session.refuse(
                fmt::format("--route {}: not two different ranks", arguments.value("--route")),
                fmt::format("write it as 0,9; ranks are 0 to {}", fabric.devices() - 1));
        }
        view.route = describe_route(fabric, from, to);
    }
    view.report = describe(fabric);
    if (arguments.has("--links")) {
        view.links = describe_links(fabric);
    }
    print(arguments.has("--json") ? topo_json(view) : topo_text(view, session.out()));
    return kDone;
}

}  // namespace memwall::cli
