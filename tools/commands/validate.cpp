#include "sim/validation/validate.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/core/quantity.h"
#include "sim/validation/report.h"
#include "sim/validation/score.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {
namespace {

// One line that is written over, for a person who waits.
void show_progress(std::size_t done, std::size_t all) {
    constexpr std::size_t kEvery = 16;
    if (done % kEvery == 0 || done == all) {
        print_error(fmt::format("\r{} of {} rows{}", done, all, done == all ? "\n" : ""));
    }
}

std::optional<std::vector<Table>> read_tables(Session& session, Files& files) {
    std::vector<Table> tables;
    Diagnostics diagnostics;
    for (const std::string& path : session.arguments().positionals) {
        constexpr std::size_t kBytesMax = std::size_t{1} << 28;
        const FileContent content = path == "-" ? FileContent{FileStatus::Ok, read_standard_input()}
                                                : files.read(path, kBytesMax);
        if (content.status != FileStatus::Ok) {
            diagnostics.error("E0101", Place{path, 0, 0}, fmt::format("cannot read '{}'", path))
                .hint = "name CSV files of measurements";
            continue;
        }
        if (auto table = read_table(path, content.text, diagnostics)) {
            tables.push_back(std::move(*table));
        }
    }
    // One table of another kind among many is listed with the rows that are not scored; alone it is a mistake.
    const bool any_known = std::any_of(
        tables.begin(), tables.end(), [](const Table& t) { return t.kind != RowKind::Unknown; });
    for (const Table& table : tables) {
        if (table.kind == RowKind::Unknown && !any_known) {
            diagnostics
                .error("E0705",
                       Place{table.name, 1, 1},
                       "these columns are of no kind of measurement known")
                .hint =
                "training rows have step_time_s or tokens_per_s_per_gpu, GEMM rows M, N, K, "
                "attention rows batch and seq_len, collectives message_bytes and time_us";
        }
    }
    session.complain(diagnostics);
    if (diagnostics.has_errors()) {
        return std::nullopt;
    }
    return tables;
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
