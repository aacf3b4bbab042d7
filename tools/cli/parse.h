#pragma once
// Arguments into values. The only place that knows the command-line library.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/command_tree.h"

namespace memwall::cli {

struct Arguments {
    const CommandSpec* command = nullptr;  // nullptr: no verb was given
    std::map<std::string, std::vector<std::string>>
        options;  // by flag; a switch has one empty value
    std::vector<std::string> positionals;
    std::string error;  // not empty: wrong use, one line
    std::string hint;

    [[nodiscard]] bool has(std::string_view flag) const;
    [[nodiscard]] std::string value(std::string_view flag, std::string_view otherwise = "") const;
    [[nodiscard]] std::vector<std::string> values(std::string_view flag) const;
    [[nodiscard]] std::string positional(std::size_t index) const;  // empty when not given
};

[[nodiscard]] Arguments parse(int argc, const char* const* argv);

}  // namespace memwall::cli
