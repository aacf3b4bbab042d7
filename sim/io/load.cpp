#include "sim/io/load.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/io/trace_precision.h"
#include "sim/io/trace_rescale.h"
#include "sim/io/trace_split.h"
#include "sim/io/yaml.h"
#include "sim/network/link_events.h"
#include "sim/spec/fields_machine.h"
#include "sim/spec/fields_work.h"
#include "sim/spec/legality.h"
#include "sim/spec/read.h"

namespace memwall {
namespace {

std::vector<Override> read_sets(const std::vector<std::string>& sets, Diagnostics& diagnostics) {
    std::vector<Override> overrides;
    for (std::size_t i = 0; i < sets.size(); ++i) {
        const Place place{"--set", static_cast<int>(i) + 1, 1};
        const std::size_t equals = sets[i].find('=');
        const std::string path = sets[i].substr(0, equals);
        if (equals == std::string::npos || path.empty() || path.starts_with('.') ||
            path.ends_with('.') || path.find("..") != std::string::npos) {
            diagnostics.error("E0210", place, fmt::format("'{}' is not an override", sets[i]))
                .hint = "write it as parallel.tp=8";
            continue;
        }
        const std::string text = sets[i].substr(equals + 1);
        if (text.find_first_not_of(" \t") == std::string::npos) {
            diagnostics.error("E0210", place, fmt::format("'{}' gives no value", sets[i])).hint =
                "write it as parallel.tp=8";
            continue;
        }
        if (path == "schema" || path.ends_with(".schema")) {
            diagnostics
                .error("E0210",
                       place,
                       fmt::format("'{}' says what kind of file this is and cannot be overridden",
                                   path))
                .hint =
                "remove it; to take another file, override the reference, as in "
                "machine.cluster=selene-a100";
            continue;
        }
        if (std::optional<DocNode> value = read_yaml_value(place, text, diagnostics)) {
            overrides.push_back({path, place, std::move(*value)});
        }
    }
    return overrides;
}

// The part of a composed scenario that describes job j.
const DocNode& document_of(const DocNode& composed, std::size_t j) {
    return j == 0 ? composed : *composed.find("background")->items[j - 1].find("scenario");
}

// Experts of a trace: copies of its expert weights; at least 1 where tokens are sent to experts.
std::int64_t experts_of(const WorkloadTrace& trace) {
    std::int64_t experts = 0;
    for (const LayerTrace& kind : trace.kinds) {
        for (const ParameterTensor& parameter : kind.parameters) {
            experts = std::max(experts, parameter.expert ? parameter.copies : 0);
        }
        for (const TraceItem& item : kind.forward) {
            const bool sent = item.boundary && item.boundary->kind == BoundaryKind::ExpertDispatch;
            experts = std::max(experts, std::int64_t{sent ? 1 : 0});
        }
    }
    return experts;
}

// What the plan needs to know of a trace: its layers, its experts and its sequence.
bool load_traces(Loaded& loaded, DataSource& source, Diagnostics& diagnostics) {
    const std::size_t before = diagnostics.errors();
    loaded.traces.resize(loaded.plan.jobs.size());
    for (std::size_t j = 0; j < loaded.plan.jobs.size(); ++j) {
        Job& job = loaded.plan.jobs[j];
        if (job.trace_file.empty()) {
            continue;
        }
        const Place place = place_at(document_of(loaded.composed, j), "workload.trace");
        std::string path;
        std::optional<WorkloadTrace> trace =
            source.load_trace(job.trace_file, place, path, diagnostics);
        if (!trace) {
            continue;
        }
        if (job.sequence != 0 && job.sequence != trace->sequence) {
            diagnostics
                .error("E0337",
                       place_at(document_of(loaded.composed, j), "workload.sequence"),
                       fmt::format("sequence {} differs from the {} of trace '{}'",
                                   job.sequence,
                                   trace->sequence,
                                   path))
                .hint = "leave sequence out: the trace states it";
        }
        if (product(job.batch.micro, trace->sequence) != trace->tokens) {
            Diagnostic& error = diagnostics.error(
                "E0337",
                place_at(document_of(loaded.composed, j), "batch.micro"),
                fmt::format("micro {} x sequence {} differs from the {} tokens of trace '{}'",
                            job.batch.micro,
                            trace->sequence,
                            trace->tokens,
                            path));
            error.hint = fmt::format("the trace is of micro-batches of {} tokens", trace->tokens);
        }
        job.trace_file = path;
        job.sequence = trace->sequence;
        job.model.name = trace->name;
        job.model.layers = static_cast<std::int64_t>(trace->layers.size());
        job.model.moe.experts = experts_of(*trace);
        rescale_measured(*trace, loaded.plan.machine.cluster.node.gpu, place, source, diagnostics);
        loaded.traces[j] = std::move(trace);
    }
    return diagnostics.errors() == before;
}

// False after an error: keys of the composed document that an executed workload gives no meaning to.
bool check_executed_keys(const DocNode& composed, Diagnostics& diagnostics) {
    bool sound = check_keys_beside_executed(composed, diagnostics);
    const DocNode* background = composed.find("background");
    for (std::size_t i = 0; background != nullptr && i < background->items.size(); ++i) {
        if (const DocNode* scenario = background->items[i].find("scenario")) {
            sound = check_keys_beside_executed(*scenario, diagnostics) && sound;
        }
    }
    return sound;
}

// By job. What the plan needs to know of an executed workload: its degrees.
std::vector<std::optional<AstraWorkload>> load_executed_workloads(Loaded& loaded,
                                                                  DataSource& source,
                                                                  Diagnostics& diagnostics) {
    std::vector<std::optional<AstraWorkload>> workloads(loaded.plan.jobs.size());
    for (std::size_t j = 0; j < loaded.plan.jobs.size(); ++j) {
        Job& job = loaded.plan.jobs[j];
        if (job.is_executed()) {
            workloads[j] =
                load_executed(job,
                              loaded.plan.machine,
                              document_of(loaded.composed, j),
                              j == 0 ? "" : fmt::format("background[{}].scenario.", j - 1),
                              source,
                              loaded.derivations,
                              diagnostics);
        }
    }
    check_figures_of_executed(loaded.plan, loaded.composed, diagnostics);
    return workloads;
}

// Names and files that lead nowhere leave a hole in the document, which resolve() knows; after other errors a value may be
// another than what was meant, and what follows from it would be noise.
bool only_lookups_failed(const Diagnostics& diagnostics, std::size_t before) {
    const std::vector<Diagnostic> all = diagnostics.sorted();
    const auto lookups = std::count_if(all.begin(), all.end(), [](const Diagnostic& d) {
        return d.severity == Severity::Error && (d.code.starts_with("E01") || d.code == "E0207");
    });
    return diagnostics.errors() <= before + static_cast<std::size_t>(lookups);
}

void check_what_is_known(Loaded& loaded, Diagnostics& diagnostics) {
    const std::vector<Job>& jobs = loaded.plan.jobs;
    if (!loaded.composed.unresolved && std::all_of(jobs.begin(), jobs.end(), [](const Job& job) {
            return job.trace_file.empty() && !job.is_executed();
        })) {
        resolve(loaded.plan, loaded.composed, loaded.derivations, diagnostics);
    }
}

std::optional<Loaded> load_document_as_scenario(const DocNode& document,
                                                const std::vector<std::string>& sets,
                                                DataSource& source,
                                                Diagnostics& diagnostics) {
    const std::size_t errors_before = diagnostics.errors();
    const std::vector<Override> overrides = read_sets(sets, diagnostics);
    Loaded loaded;
    loaded.composed = compose(document, DataKind::Scenario, overrides, source, diagnostics);
    loaded.plan.jobs.emplace_back();
    if (!check_executed_keys(loaded.composed, diagnostics)) {
        return std::nullopt;
    }
    read_document(loaded.composed, "this scenario", loaded.plan, diagnostics);
    if (diagnostics.errors() != errors_before) {
        if (only_lookups_failed(diagnostics, errors_before)) {
            check_what_is_known(loaded, diagnostics);
        }
        return std::nullopt;
    }
    const std::vector<std::optional<AstraWorkload>> workloads =
        load_executed_workloads(loaded, source, diagnostics);
    if (!load_traces(loaded, source, diagnostics) || diagnostics.errors() != errors_before) {
        return std::nullopt;
    }
    resolve(loaded.plan, loaded.composed, loaded.derivations, diagnostics);
    if (diagnostics.errors() != errors_before ||
        !check_link_events(loaded.plan.machine, loaded.composed, diagnostics)) {
        return std::nullopt;
    }
    for (std::size_t j = 0; j < loaded.traces.size(); ++j) {
        if (loaded.traces[j]) {
            const JobCheck check{loaded.plan.jobs[j],
                                 loaded.plan.machine,
                                 document_of(loaded.composed, j),
                                 diagnostics};
            check_trace_split(*loaded.traces[j], check);
            check_trace_precision(*loaded.traces[j], check);
        }
    }
    if (diagnostics.errors() != errors_before) {
        return std::nullopt;
    }
    for (std::size_t j = 0; j < workloads.size(); ++j) {
        loaded.executed.push_back(
            workloads[j] ? std::optional(executed_workload(loaded.plan.jobs[j], *workloads[j]))
                         : std::nullopt);
    }
    loaded.provenance = collect_sources(loaded.composed);
    return loaded;
}

template <class T>
std::optional<T> load_value(DataKind kind,
                            const std::string& reference,
                            DataSource& source,
                            Diagnostics& diagnostics) {
    const std::optional<DocNode> document = load_document(kind, reference, source, diagnostics);
    T value;
    if (!document ||
        !read_document(*document, fmt::format("this {}", kind_name(kind)), value, diagnostics)) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::optional<Loaded> load_scenario_text(const std::string& label,
                                         std::string_view text,
                                         const std::vector<std::string>& sets,
                                         DataSource& source,
                                         Diagnostics& diagnostics) {
    const std::optional<DocNode> document = read_yaml(label, text, diagnostics);
    if (!document || !check_schema(*document, DataKind::Scenario, diagnostics)) {
        return std::nullopt;
    }
    return load_document_as_scenario(*document, sets, source, diagnostics);
}

std::optional<Loaded> load_scenario(const std::string& reference,
                                    const std::vector<std::string>& sets,
                                    DataSource& source,
                                    Diagnostics& diagnostics,
                                    const std::string* standard_input) {
    if (reference == "-" && standard_input != nullptr) {
        return load_scenario_text("-", *standard_input, sets, source, diagnostics);
    }
    const DocNode* document = source.open(DataKind::Scenario, reference, diagnostics);
    return document == nullptr ? std::nullopt
                               : load_document_as_scenario(*document, sets, source, diagnostics);
}

std::optional<DocNode> load_document(DataKind kind,
                                     const std::string& reference,
                                     DataSource& source,
                                     Diagnostics& diagnostics,
                                     const std::vector<std::string>& sets) {
    const std::size_t errors_before = diagnostics.errors();
    const std::vector<Override> overrides = read_sets(sets, diagnostics);
    const DocNode* document = source.open(kind, reference, diagnostics);
    if (document == nullptr) {
        return std::nullopt;
    }
    DocNode composed = compose(*document, kind, overrides, source, diagnostics);
    if (diagnostics.errors() != errors_before) {
        return std::nullopt;
    }
    std::erase_if(composed.entries, [](const DocEntry& entry) { return entry.key == "schema"; });
    return composed;
}

std::optional<Gpu> load_gpu(const std::string& reference,
                            DataSource& source,
                            Diagnostics& diagnostics) {
    return load_value<Gpu>(DataKind::Gpu, reference, source, diagnostics);
}
std::optional<Node> load_node(const std::string& reference,
                              DataSource& source,
                              Diagnostics& diagnostics) {
    return load_value<Node>(DataKind::Node, reference, source, diagnostics);
}
std::optional<FabricSpec> load_fabric(const std::string& reference,
                                      DataSource& source,
                                      Diagnostics& diagnostics) {
    return load_value<FabricSpec>(DataKind::Fabric, reference, source, diagnostics);
}
std::optional<Cluster> load_cluster(const std::string& reference,
                                    DataSource& source,
                                    Diagnostics& diagnostics) {
    return load_value<Cluster>(DataKind::Cluster, reference, source, diagnostics);
}
std::optional<Model> load_model(const std::string& reference,
                                DataSource& source,
                                Diagnostics& diagnostics) {
    const std::optional<DocNode> document =
        load_document(DataKind::Model, reference, source, diagnostics);
    Model model;
    if (!document || !read_document(*document, "this model", model, diagnostics) ||
        !complete_model(model, *document, diagnostics)) {
        return std::nullopt;
    }
    return model;
}
std::optional<Stack> load_stack(const std::string& reference,
                                DataSource& source,
                                Diagnostics& diagnostics) {
    return load_value<Stack>(DataKind::Stack, reference, source, diagnostics);
}

}  // namespace memwall
