#include <fmt/format.h>

#include "sim/io/trace_file.h"
#include "sim/io/trace_text.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/prediction.h"

namespace memwall::cli {

int command_trace(Session& session) {
    const Arguments& arguments = session.arguments();
    const std::string format =
        arguments.value("--format", arguments.has("--json") ? "json" : "table");
    if (format != "table" && format != "yaml" && format != "json") {
        return session.refuse(fmt::format("--format {}: not a format", format),
                              "table, yaml or json");
    }
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded = session.scenario(diagnostics);
    if (!loaded) {
        return kWrongInput;
    }
    if (const Job& job = loaded->plan.jobs.front(); job.is_executed()) {
        return session.refuse(
            fmt::format(
                "'{}' is an executed workload: it has no trace of ops, FLOPs and tensors per "
                "layer",
                job.astra_file),
            "`memwall program` prints what its ranks run");
    }
    const WorkloadTrace trace = trace_of(*loaded);
    if (format == "table") {
        print(trace_text(trace, session.out()));
    } else {
        print(format == "yaml" ? write_trace(trace, TraceFormat::Yaml)
                               : write_trace(trace, TraceFormat::Json));
    }
    return kDone;
}

}  // namespace memwall::cli
