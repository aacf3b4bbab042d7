#include "tools/cli/help.h"

#include <fmt/format.h>

#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

namespace memwall::cli {

int command_help(Session& session) {
    const std::string name = session.arguments().positional(0);
    if (name.empty()) {
        print(help_text());
        return kDone;
    }
    if (const CommandSpec* command = find_command(name)) {
        print(help_text(*command));
        return kDone;
    }
    std::vector<std::string_view> names;
    for (const CommandSpec& command : commands()) {
        names.emplace_back(command.name);
    }
    const std::string_view near = nearest(name, names);
    return session.refuse(fmt::format("unknown command '{}'", name),
                          near.empty() ? fmt::format("commands: {}", fmt::join(names, ", "))
                                       : fmt::format("did you mean '{}'?", near));
}

}  // namespace memwall::cli
