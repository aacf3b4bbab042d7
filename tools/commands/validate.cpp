#include "sim/validation/validate.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/core/quantity.h"
#include "sim/validation/report.h"
#include "sim/validation/score.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/tables.h"

namespace memwall::cli {
namespace {

// One line that is written over, for a person who waits.
void show_progress(std::size_t done, std::size_t all) {
    constexpr std::size_t kEvery = 16;
    if (done % kEvery == 0 || done == all) {
        print_error(fmt::format("\r{} of {} rows{}", done, all, done == all ? "\n" : ""));
    }
}

}  // namespace

int command_validate(Session& session) {
    const Arguments& arguments = session.arguments();
    if (arguments.has("--json") && arguments.has("--csv")) {
        return session.refuse("--json and --csv are two forms of one output", "give one of them");
    }
    DiskFiles files;
    const auto tables = read_tables(session, files);
    if (!tables) {
        return kWrongInput;
    }
    ValidateOptions options;
    options.data_roots = session.roots();
    double limit = 0;
    if (arguments.has("--max-mape")) {
        const std::string text = arguments.value("--max-mape");
        const auto percent = memwall::parse<double>(text);
        if (!percent || *percent < 0) {
            return session.refuse(fmt::format("--max-mape {}: not a number of percent", text),
                                  "write it as --max-mape 5");
        }
        limit = *percent;
    }
    if (isatty(STDERR_FILENO) != 0) {
        options.progress = show_progress;
    }
    const std::vector<ValidatedRow> rows = validate(*tables, files, options);
    if (arguments.has("--show")) {
        const std::string id = arguments.value("--show");
        const auto found = std::find_if(
            rows.begin(), rows.end(), [&](const ValidatedRow& row) { return row.id == id; });
        if (found == rows.end() || found->scenario.empty()) {
            return session.refuse(fmt::format("no row '{}' with a scenario", id));
        }
        print(found->scenario);
        return kDone;
    }
    if (arguments.has("--json")) {
        print(validation_json(rows));
    } else if (arguments.has("--csv")) {
        print(validation_csv(rows));
    } else {
        print(validation_text(rows, arguments.has("--rows")));
    }
    if (arguments.has("--max-mape")) {
        const ErrorScore times = score(rows).all.time;
        if (times.rows == 0 || 100 * times.mape > limit) {
            print_error(
                times.rows == 0
                    ? std::string("memwall: no time was scored\n")
                    : fmt::format("memwall: the mean error of {} times is {:.2f} %, above {} %\n",
                                  times.rows,
                                  100 * times.mape,
                                  arguments.value("--max-mape")));
            return kNo;
        }
    }
    return kDone;
}

}  // namespace memwall::cli
