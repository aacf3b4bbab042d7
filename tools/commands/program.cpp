#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/io/program_text.h"
#include "sim/spec/supported.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/prediction.h"

namespace memwall::cli {

int command_program(Session& session) {
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded = session.scenario(diagnostics);
    if (!loaded) {
        return kWrongInput;
    }
    Diagnostics unsupported;
    check_supported(loaded->plan, loaded->composed, unsupported);
    session.complain(unsupported);
    if (unsupported.has_errors()) {
        return kWrongInput;
    }
    const Arguments& arguments = session.arguments();
    const Job& job = loaded->plan.jobs.front();
    const auto rank = memwall::parse<std::int64_t>(arguments.value("--rank", "0"));
    if (!rank || *rank < 0 || *rank >= job.degrees.world()) {
        return session.refuse(fmt::format("--rank {}: not a rank", arguments.value("--rank")),
                              fmt::format("ranks are 0 to {}", job.degrees.world() - 1));
    }
    const auto limit = memwall::parse<std::int64_t>(arguments.value("--limit", "200"));
    if (!limit || *limit < 0) {
        return session.refuse(
            fmt::format("--limit {}: not a number of lines", arguments.value("--limit")),
            "0 = all");
    }
    const ProgramSet set = programs_of(*loaded);
    // Rank order, innermost first: tp, cp, dp, pp; ranks of one stage share a program.
    const auto stage = static_cast<std::size_t>(*rank / (job.degrees.world() / job.degrees.pp));
    const auto lines = static_cast<std::size_t>(*limit);
    print(arguments.has("--json") ? program_json(set, set.programs.at(stage), lines)
                                  : program_text(set, set.programs.at(stage), lines));
    return kDone;
}

}  // namespace memwall::cli
