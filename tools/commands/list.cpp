#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/quantity.h"
#include "sim/model/parameters.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {
namespace {

using Json = nlohmann::ordered_json;

// A name with what tells it from its neighbours.
struct Row {
    std::string name;
    std::string about;
};

std::string peak_text(const Gpu& gpu) {
    for (const Dtype dtype : {Dtype::Bf16, Dtype::Fp16, Dtype::Fp32}) {
        if (const auto found = gpu.peak.find(dtype); found != gpu.peak.end()) {
            return human(found->second);
        }
    }
    return "";
}

std::string about_gpu(Session& s, const std::string& name, Diagnostics& d) {
    const auto gpu = load_gpu(name, s.data(), d);
    return gpu ? fmt::format(
                     "{:>9}  {:>10}  {:>13}", human(gpu->memory), human(gpu->hbm), peak_text(*gpu))
               : std::string();
}

std::string about_node(Session& s, const std::string& name, Diagnostics& d) {
    const auto node = load_node(name, s.data(), d);
    return node ? fmt::format("{} x {}, {} NICs of {}",
                              node->gpus,
                              node->gpu.name,
                              node->nics,
                              human(node->nic_rate))
                : std::string();
}

std::string about_fabric(Session& s, const std::string& name, Diagnostics& d) {
    const auto fabric = load_fabric(name, s.data(), d);
    return fabric ? fmt::format("oversubscription {}, hop {}",
                                human_number(fabric->oversubscription),
                                human(fabric->hop_latency))
                  : std::string();
}

std::string about_cluster(Session& s, const std::string& name, Diagnostics& d) {
    const auto cluster = load_cluster(name, s.data(), d);
    return cluster ? fmt::format("up to {} x {} ({} x {}), {}",
                                 human_count(cluster->nodes_max),
                                 cluster->node.name,
                                 cluster->node.gpus,
                                 cluster->node.gpu.name,
                                 cluster->fabric.name)
                   : std::string();
}

std::string about_stack(Session& s, const std::string& name, Diagnostics& d) {
    const auto stack = load_stack(name, s.data(), d);
    return stack ? stack->framework : std::string();
}

std::string about_model(Session& s, const std::string& name, Diagnostics& d) {
    const auto model = load_model(name, s.data(), d);
    return model ? fmt::format("{:>17} parameters, {} layers, hidden {}",
                               human_count(parameter_count(*model)),
                               model->layers,
                               model->hidden)
                 : std::string();
}

std::string about_scenario(Session& s, const std::string& name, Diagnostics& d) {
    const DocNode* scenario = s.data().open(DataKind::Scenario, name, d);
    const DocNode* about = scenario == nullptr ? nullptr : scenario->find("about");
    return about == nullptr ? std::string() : about->scalar;
}

struct Kind {
    std::string_view name;
    DataKind kind;
    std::string (*about)(Session&, const std::string&, Diagnostics&);
};

constexpr std::array<Kind, 7> kKinds = {{
    {"gpus", DataKind::Gpu, about_gpu},
    {"nodes", DataKind::Node, about_node},
    {"fabrics", DataKind::Fabric, about_fabric},
    {"clusters", DataKind::Cluster, about_cluster},
    {"stacks", DataKind::Stack, about_stack},
    {"models", DataKind::Model, about_model},
    {"scenarios", DataKind::Scenario, about_scenario},
}};

std::vector<Row> rows_of(Session& session, const Kind& kind, Diagnostics& diagnostics) {
    std::vector<Row> rows;
    for (const std::string& name : session.data().names(kind.kind)) {
        rows.push_back({name, kind.about(session, name, diagnostics)});
    }
    return rows;
}

std::string as_text(std::string_view title, const std::vector<Row>& rows, const TextStyle& style) {
    std::size_t width = 0;
    for (const Row& row : rows) {
        width = std::max(width, row.name.size());
    }
    std::string text = style.bold(title) + "\n";
    for (const Row& row : rows) {
        text += row.about.empty() ? fmt::format("  {}\n", row.name)
                                  : fmt::format("  {:<{}}  {}\n", row.name, width, row.about);
    }
    return text;
}

}  // namespace

int command_list(Session& session) {
    const std::string wanted = session.arguments().positional(0);
    const bool json = session.arguments().has("--json");
    Diagnostics diagnostics;
    Json document = {{"schema_version", "memwall/list/1"}};
    std::string text;
    const auto add = [&](std::string_view title, const std::vector<Row>& rows) {
        text += as_text(title, rows, session.out());
        Json items = Json::array();
        for (const Row& row : rows) {
            items.push_back({{"name", row.name}, {"about", row.about}});
        }
        document[std::string(title)] = items;
    };
    std::vector<std::string_view> known;
    for (const Kind& kind : kKinds) {
        known.push_back(kind.name);
        if (wanted.empty() || wanted == kind.name) {
            add(kind.name, rows_of(session, kind, diagnostics));
        }
    }
    if (std::find(known.begin(), known.end(), wanted) == known.end() && !wanted.empty()) {
        const std::string_view near = nearest(wanted, known);
        return session.refuse(fmt::format("unknown kind '{}'", wanted),
                              near.empty() ? fmt::format("kinds: {}", fmt::join(known, ", "))
                                           : fmt::format("did you mean '{}'?", near));
    }
    print(json ? document.dump(2) + "\n" : text);
    session.complain(diagnostics);
    return diagnostics.has_errors() ? kWrongInput : kDone;
}

}  // namespace memwall::cli
