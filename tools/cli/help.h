#pragma once
// Texts made from the command tree: --help, the man page, and shell completion.
#include <string>
#include <string_view>

#include "tools/cli/command_tree.h"

namespace memwall::cli {

[[nodiscard]] std::string help_text();  // memwall --help
[[nodiscard]] std::string help_text(
    const CommandSpec& command);  // memwall VERB --help, examples first
[[nodiscard]] std::string man_page(std::string_view version);  // groff
[[nodiscard]] std::string bash_completion();
[[nodiscard]] std::string zsh_completion();

}  // namespace memwall::cli
