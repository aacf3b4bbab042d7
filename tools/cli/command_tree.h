#pragma once
// The command line as data: parser, --help, man page, shell completion and the did-you-mean all read this one table.
#include <string>
#include <string_view>
#include <vector>

namespace memwall::cli {

struct OptionSpec {
    std::string flag;   // "--trace-out"
    std::string value;  // "FILE"; empty = a switch
    std::string help;
    bool repeatable = false;
};

struct PositionalSpec {
    std::string name;  // "SCENARIO"
    std::string help;
    bool required = true;
    bool repeatable = false;
};

struct Example {
    std::string command;
    std::string about;
};

struct CommandSpec {
    std::string name;
    std::string summary;
    std::string about;
    std::vector<PositionalSpec> positionals;
    std::vector<OptionSpec> options;
    std::vector<Example> examples;
};

// Valid before or after the verb.
[[nodiscard]] const std::vector<OptionSpec>& global_options();
[[nodiscard]] const std::vector<CommandSpec>& commands();
[[nodiscard]] const CommandSpec* find_command(std::string_view name);

}  // namespace memwall::cli
