#include <algorithm>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/io/topo_text.h"
#include "sim/network/fabric.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {
namespace {

constexpr int kNodesWhenSilent = 2;

// A name of the catalogue is a cluster; a file is a scenario when its schema says so, else a cluster.
std::optional<Machine> machine_of(Session& session, const std::string& reference) {
    Diagnostics diagnostics;
    const std::vector<std::string> names = session.data().names(DataKind::Cluster);
    const bool known = std::find(names.begin(), names.end(), reference) != names.end();
    Diagnostics as_scenario;
    if (!known && reference.find_first_of("/.") != std::string::npos) {
        if (const auto loaded = session.scenario(reference, as_scenario); loaded) {
            session.complain(as_scenario);
            return loaded->plan.machine;
        }
    }
    const auto cluster = load_cluster(reference, session.data(), diagnostics);
    if (!cluster) {
        session.complain(as_scenario.has_errors() ? as_scenario : diagnostics);
        return std::nullopt;
    }
    Machine machine;
    machine.cluster = *cluster;
    machine.nodes = std::min(kNodesWhenSilent, cluster->nodes_max);
    return machine;
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
    std::optional<Machine> machine = machine_of(session, arguments.positional(0));
    if (!machine) {
        return kWrongInput;
    }
    if (arguments.has("--nodes")) {
        const auto nodes = memwall::parse<int>(arguments.value("--nodes"));
        if (!nodes || *nodes < 1 || *nodes > machine->cluster.nodes_max) {
            return session.refuse(fmt::format("--nodes {}: not a number of nodes of {}",
                                              arguments.value("--nodes"),
                                              machine->cluster.name),
                                  fmt::format("1 to {}", machine->cluster.nodes_max));
        }
        machine->nodes = *nodes;
    }
    const Fabric fabric(*machine);
    if (arguments.has("--dot")) {
        print(to_dot(fabric, machine->nodes));
        return kDone;
    }
    std::optional<TopoRoute> route;
    if (arguments.has("--route")) {
        DeviceId from;
        DeviceId to;
        if (!read_pair(arguments.value("--route"), fabric.devices(), from, to)) {
            return session.refuse(
                fmt::format("--route {}: not two different ranks", arguments.value("--route")),
                fmt::format("write it as 0,9; ranks are 0 to {}", fabric.devices() - 1));
        }
        route = describe_route(fabric, from, to);
    }
    const TopoReport report = describe(fabric);
    print(arguments.has("--json") ? topo_json(report, route)
                                  : topo_text(report, route, session.out()));
    return kDone;
}

}  // namespace memwall::cli
