#pragma once
// One call of the program: its arguments, where data lives, and how to say what went wrong.
#include <optional>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/io/data_source.h"
#include "sim/io/files.h"
#include "sim/io/load.h"
#include "sim/io/text_style.h"
#include "tools/cli/parse.h"

namespace memwall::cli {

// Exit statuses: README, "Exit status".
inline constexpr int kDone = 0;
inline constexpr int kNo = 1;  // does not fit, a check does not hold
inline constexpr int kWrongInput = 2;
inline constexpr int kBug = 3;

class Session {
  public:
    explicit Session(Arguments arguments);

    [[nodiscard]] const Arguments& arguments() const { return arguments_; }
    [[nodiscard]] DataSource& data() { return data_; }
    [[nodiscard]] const TextStyle& out() const { return out_; }
    [[nodiscard]] const std::vector<std::string>& roots() const { return roots_; }

    // The scenario named by the first argument, with --set; errors and warnings are printed on standard error.
    std::optional<Loaded> scenario(Diagnostics& diagnostics);
    std::optional<Loaded> scenario(const std::string& reference, Diagnostics& diagnostics);

    // Prints what was found wrong, with source lines, on standard error.
    void complain(const Diagnostics& diagnostics);
    // Wrong use in one line, with a hint; returns kWrongInput.
    int refuse(const std::string& what, const std::string& hint = "");

  private:
    Arguments arguments_;
    DiskFiles files_;
    std::vector<std::string> roots_;
    DataSource data_;
    TextStyle out_;
    TextStyle err_;
    std::string standard_input_;
    std::map<std::string, std::string> shown_;  // texts of files that diagnostics point into
};

}  // namespace memwall::cli
