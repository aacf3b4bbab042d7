#pragma once
// An executed workload in place of a model: a file states what ranks ran after sharding, and with it the strategy; the
// scenario states the machine, the unit of time, and the degrees that the file leaves open:
//
//   keyword       tp                                   groups of the weight gradients
//   MICRO, DATA   1                                    all GPUs
//   MODEL         all GPUs                             none
//   HYBRID_*      model_parallel_NPU_group, or         GPUs / (tp x pp)
//                 parallel.tp where the file has none
//
// pp and ep are those of the file, else 1; a file that uses expert groups without stating ep takes parallel.ep.
#include <optional>
#include <string>
#include <vector>

#include "sim/io/astra_text.h"
#include "sim/io/data_source.h"
#include "sim/spec/plan.h"
#include "sim/spec/write.h"

namespace memwall {

struct ExecutedWorkload {
    ProgramSet programs;                   // of all stages
    std::vector<std::string> assumptions;  // what the file does not say, for the report
};

// A composed scenario, or the scenario of a background job, that names an executed workload: keys that cannot have a
// meaning beside it are errors (E0338). False after one.
bool check_keys_beside_executed(const DocNode& document, Diagnostics& diagnostics);

// Reads job.astra_file, of a job that describe() has filled from `document`, and completes job.parallel and the name of
// the job's model from it. `prefix`: of the paths that are entered into `derivations`.
[[nodiscard]] std::optional<AstraWorkload> load_executed(Job& job,
                                                         const Machine& machine,
                                                         const DocNode& document,
                                                         const std::string& prefix,
                                                         DataSource& source,
                                                         Derivations& derivations,
                                                         Diagnostics& diagnostics);

// After resolve(), which checks the degrees.
[[nodiscard]] ExecutedWorkload executed_workload(const Job& job, const AstraWorkload& workload);

// `checks:` and `published:` of figures that an executed workload does not have are errors (E0338). False after one.
bool check_figures_of_executed(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics);

}  // namespace memwall
