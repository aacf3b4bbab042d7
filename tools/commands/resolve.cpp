#include "sim/io/print_plan.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {

int command_resolve(Session& session) {
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded = session.scenario(diagnostics);
    if (!loaded) {
        return kWrongInput;
    }
    print(print_plan(*loaded, {.origins = !session.arguments().has("--no-origins")}));
    return kDone;
}

}  // namespace memwall::cli
