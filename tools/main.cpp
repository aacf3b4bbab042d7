// The command line: parse, hand over to the verb, turn what went wrong into an exit status.
#include <csignal>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/version.h"
#include "tools/cli/help.h"
#include "tools/cli/parse.h"
#include "tools/cli/session.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {
namespace {

struct Verb {
    std::string_view name;
    int (*run)(Session&);
};

constexpr Verb kVerbs[] = {
    {"run", command_run},
    {"resolve", command_resolve},
    {"trace", command_trace},
    {"program", command_program},
    {"topo", command_topo},
    {"list", command_list},
    {"check", command_check},
    {"validate", command_validate},
    {"calibrate", command_calibrate},
    {"explain", command_explain},
    {"help", command_help},
};

bool is_directory(const std::string& path) {
    std::error_code failed;
    return std::filesystem::is_directory(path, failed);
}

// What packaging needs, from the same table as --help.
bool print_generated(std::string_view what) {
    if (what == "--print-man") {
        print(man_page(version()));
    } else if (what == "--print-bash-completion") {
        print(bash_completion());
    } else if (what == "--print-zsh-completion") {
        print(zsh_completion());
    } else {
        return false;
    }
    return true;
}

int dispatch(int argc, const char* const* argv) {
    if (argc == 2 && print_generated(argv[1])) {
        return kDone;
    }
    Arguments arguments = parse(argc, argv);
    if (arguments.has("--version")) {
        print(fmt::format("memwall {}\n", version()));
        return kDone;
    }
    if (arguments.has("--help")) {
        print(arguments.command == nullptr ? help_text() : help_text(*arguments.command));
        return kDone;
    }
    const std::string color = arguments.value("--color", "auto");
    if (arguments.error.empty() && color != "auto" && color != "always" && color != "never") {
        arguments.error = fmt::format("--color {}: not one of auto, always, never", color);
    }
    for (const std::string& root : arguments.values("--data")) {
        if (arguments.error.empty() && !is_directory(root)) {
            arguments.error = fmt::format("--data {}: no such folder", root);
            arguments.hint = "a folder that holds topologies, workloads or both";
        }
    }
    const CommandSpec* command = arguments.command;
    const std::string error = arguments.error;
    const std::string hint = arguments.hint;
    Session session(std::move(arguments));
    if (!error.empty()) {
        return session.refuse(error, hint);
    }
    if (command == nullptr) {
        print_error(help_text());
        return kWrongInput;
    }
    for (const Verb& verb : kVerbs) {
        if (verb.name == command->name) {
            return verb.run(session);
        }
    }
    bug(__FILE__, __LINE__, "a verb without a function: " + command->name);
}

// What was printed and did not arrive is no answer, whatever the verb found.
int finished(int status) {
    return close_output() || status == kBug ? status : kWrongInput;
}

}  // namespace
}  // namespace memwall::cli

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_DFL);  // a closed pipe ends the program quietly
    try {
        return memwall::cli::finished(memwall::cli::dispatch(argc, argv));
    } catch (const std::exception& e) {
        memwall::cli::print_error(
            fmt::format("memwall: internal error: {}\nThis is a bug of memwall. Please report it "
                        "with the command line, "
                        "the scenario and the output of `memwall resolve`.\n",
                        e.what()));
        return memwall::cli::kBug;
    }
}
