#include <filesystem>

#include "sim/io/print_plan.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {
namespace {

// The plan may be saved in any folder: workload files, the only ones it still refers to, are named from the root.
void name_from_root(std::string& path) {
    if (!path.empty()) {
        path = std::filesystem::absolute(path).lexically_normal().generic_string();
    }
}

}  // namespace

int command_resolve(Session& session) {
    Diagnostics diagnostics;
    std::optional<Loaded> loaded = session.scenario(diagnostics);
    if (!loaded) {
        return kWrongInput;
    }
    for (Job& job : loaded->plan.jobs) {
        name_from_root(job.trace_file);
        name_from_root(job.astra_file);
    }
    print(print_plan(*loaded, {.origins = !session.arguments().has("--no-origins")}));
    return kDone;
}

}  // namespace memwall::cli
