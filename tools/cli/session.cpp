#include "tools/cli/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/core/rendering.h"
#include "tools/cli/terminal.h"

namespace memwall::cli {

Session::Session(Arguments arguments)
    : arguments_(std::move(arguments)),
      roots_(data_roots(arguments_.values("--data"))),
      data_(files_, roots_),
      out_(style_for(STDOUT_FILENO, arguments_.value("--color", "auto"))),
      err_(style_for(STDERR_FILENO, arguments_.value("--color", "auto"))) {}

std::optional<Loaded> Session::scenario(const std::string& reference, Diagnostics& diagnostics) {
    if (reference == "-") {
        standard_input_ = read_standard_input();
    }
    return load_scenario(
        reference, arguments_.values("--set"), data_, diagnostics, &standard_input_);
}

std::optional<Loaded> Session::scenario(Diagnostics& diagnostics) {
    std::optional<Loaded> loaded = scenario(arguments_.positional(0), diagnostics);
    complain(diagnostics);
    return loaded;
}

void Session::complain(const Diagnostics& diagnostics) {
    constexpr std::size_t kShownMax = std::size_t{16} << 20U;
    const auto source = [this](const std::string& file) -> std::optional<std::string_view> {
        if (file == "-" || file == "<stdin>") {
            return standard_input_;
        }
        auto found = shown_.find(file);
        if (found == shown_.end()) {
            const FileContent content = files_.read(file, kShownMax);
            if (content.status != FileStatus::Ok) {
                return std::nullopt;
            }
            found = shown_.emplace(file, content.text).first;
        }
        return found->second;
    };
    print_error(render(diagnostics, source, {err_.color}));
}

int Session::refuse(const std::string& what, const std::string& hint) {
    print_error(fmt::format("memwall: {}{}\n", err_.bad("error: "), what));
    if (!hint.empty()) {
        print_error(fmt::format("hint: {}\n", hint));
    }
    return kWrongInput;
}

}  // namespace memwall::cli
