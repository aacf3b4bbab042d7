#pragma once
// From a scenario file to a plan, in one call. Everything a tool needs to show where a value came from comes with it.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/io/data_source.h"
#include "sim/io/executed.h"
#include "sim/spec/compose.h"
#include "sim/spec/plan.h"
#include "sim/spec/resolve.h"

namespace memwall {

struct Loaded {
    Plan plan;
    DocNode composed;         // the scenario with its references inlined, as written
    Derivations derivations;  // values that no file states
    Provenance provenance;    // citations of the constants
    // By job, what stands in place of a model: for SimulateOptions::traces and SimulateOptions::programs.
    std::vector<std::optional<WorkloadTrace>> traces;
    std::vector<std::optional<ExecutedWorkload>> executed;
};

// `sets`: texts such as "parallel.tp=8", applied in order. `standard_input`: what "-" reads; null = "-" is not allowed.
// nullopt: there is at least one error. Warnings may come with a plan.
[[nodiscard]] std::optional<Loaded> load_scenario(const std::string& reference,
                                                  const std::vector<std::string>& sets,
                                                  DataSource& source,
                                                  Diagnostics& diagnostics,
                                                  const std::string* standard_input = nullptr);
// The same from a text; `label` names it in places, and paths in it are relative to the folder of `label`.
[[nodiscard]] std::optional<Loaded> load_scenario_text(const std::string& label,
                                                       std::string_view text,
                                                       const std::vector<std::string>& sets,
                                                       DataSource& source,
                                                       Diagnostics& diagnostics);

// One data file by name or path, for `memwall topo`, `trace`, `explain`.
[[nodiscard]] std::optional<Gpu> load_gpu(const std::string& reference,
                                          DataSource& source,
                                          Diagnostics& diagnostics);
[[nodiscard]] std::optional<Node> load_node(const std::string& reference,
                                            DataSource& source,
                                            Diagnostics& diagnostics);
[[nodiscard]] std::optional<FabricSpec> load_fabric(const std::string& reference,
                                                    DataSource& source,
                                                    Diagnostics& diagnostics);
[[nodiscard]] std::optional<Cluster> load_cluster(const std::string& reference,
                                                  DataSource& source,
                                                  Diagnostics& diagnostics);
[[nodiscard]] std::optional<Model> load_model(const std::string& reference,
                                              DataSource& source,
                                              Diagnostics& diagnostics);
[[nodiscard]] std::optional<Stack> load_stack(const std::string& reference,
                                              DataSource& source,
                                              Diagnostics& diagnostics);

// The composed document of a data file, for tests of the data and for its sources. `sets`: as for load_scenario.
[[nodiscard]] std::optional<DocNode> load_document(DataKind kind,
                                                   const std::string& reference,
                                                   DataSource& source,
                                                   Diagnostics& diagnostics,
                                                   const std::vector<std::string>& sets = {});

}  // namespace memwall
