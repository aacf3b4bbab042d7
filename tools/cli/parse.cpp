#include "tools/cli/parse.h"

#include <algorithm>
#include <cctype>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/core/diagnostics.h"

namespace memwall::cli {
namespace {

struct Bound {
    std::map<std::string, std::vector<std::string>> values;
    std::map<std::string, bool> switches;
};

void add_option(CLI::App& app, const OptionSpec& spec, Bound& bound) {
    if (spec.value.empty()) {
        app.add_flag(spec.flag, bound.switches[spec.flag], spec.help);
        return;
    }
    CLI::Option* option = app.add_option(spec.flag, bound.values[spec.flag], spec.help);
    option->multi_option_policy(spec.repeatable ? CLI::MultiOptionPolicy::TakeAll
                                                : CLI::MultiOptionPolicy::TakeLast);
    option->type_size(1)->expected(1)->allow_extra_args(false);
}

// How many there may be is checked afterwards, in words that name them.
void add_positionals(CLI::App& app, std::vector<std::string>& positionals) {
    app.add_option("ARGUMENTS", positionals)->expected(0, CLI::detail::expected_max_vector_size);
}

// One too few or too many, or empty.
std::string wrong_count(const CommandSpec& command, const std::vector<std::string>& positionals) {
    const auto& specs = command.positionals;
    const std::size_t given = positionals.size();
    if (given < specs.size() && specs[given].required) {
        return fmt::format("{} is missing", specs[given].name);
    }
    const bool many = !specs.empty() && specs.back().repeatable;
    return given > specs.size() && !many
               ? fmt::format("'{}' is one argument too many", positionals[specs.size()])
               : "";
}

// The option that has no value, from the library's "--set: 1 required TEXT missing"; or the library's own words.
std::string explain_mismatch(const CLI::ArgumentMismatch& e, const CommandSpec* command) {
    std::string text = e.what();
    const std::string flag = text.substr(0, text.find(':'));
    for (const auto* options : {&global_options(), command ? &command->options : nullptr}) {
        for (std::size_t o = 0; options != nullptr && o < options->size(); ++o) {
            if ((*options)[o].flag == flag) {
                return fmt::format("{} needs a value: {} {}", flag, flag, (*options)[o].value);
            }
        }
    }
    return text;
}

// What was typed that is no command and no option, and the nearest that is.
void explain_unknown(int argc, const char* const* argv, Arguments& arguments) {
    std::vector<std::string_view> verbs;
    for (const CommandSpec& c : commands()) {
        verbs.emplace_back(c.name);
    }
    const CommandSpec* command = nullptr;
    for (int i = 1; i < argc && command == nullptr; ++i) {
        const std::string_view word = argv[i];
        if (word.starts_with("-")) {
            continue;
        }
        command = find_command(word);
        if (command == nullptr) {
            const std::string_view near = nearest(word, verbs);
            arguments.error = fmt::format("unknown command '{}'", word);
            arguments.hint = near.empty() ? fmt::format("commands: {}", fmt::join(verbs, ", "))
                                          : fmt::format("did you mean '{}'?", near);
            return;
        }
    }
    std::vector<std::string_view> flags;
    const auto collect = [&](const std::vector<OptionSpec>& options) {
        for (const OptionSpec& o : options) {
            flags.emplace_back(o.flag);
        }
    };
    collect(global_options());
    if (command != nullptr) {
        collect(command->options);
    }
    for (int i = 1; i < argc; ++i) {
        const std::string_view word =
            std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('='));
        if (word.starts_with("--") && std::find(flags.begin(), flags.end(), word) == flags.end()) {
            const std::string_view near = nearest(word, flags);
            arguments.error = fmt::format("unknown option '{}'", word);
            arguments.hint = near.empty() ? fmt::format("options: {}", fmt::join(flags, " "))
                                          : fmt::format("did you mean '{}'?", near);
            return;
        }
        if (word.size() > 1 && word[0] == '-' && std::isalpha(word[1]) != 0) {
            arguments.error = fmt::format("unknown option '{}'", word);
            arguments.hint = fmt::format("options: {}", fmt::join(flags, " "));
            return;
        }
    }
}

// "--json=0": a switch is on when it is there; a value would be read by nobody.
std::string switch_with_value(int argc, const char* const* argv, const CommandSpec* command) {
    for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
        const std::string_view word = argv[i];
        const std::size_t equals = word.find('=');
        if (!word.starts_with("--") || equals == std::string_view::npos) {
            continue;
        }
        const std::string_view flag = word.substr(0, equals);
        for (const auto* options : {&global_options(), command ? &command->options : nullptr}) {
            for (std::size_t o = 0; options != nullptr && o < options->size(); ++o) {
                if ((*options)[o].flag == flag && (*options)[o].value.empty()) {
                    return fmt::format("{} takes no value", flag);
                }
            }
        }
    }
    return "";
}

std::string usage_line(const CommandSpec& command) {
    std::string line = "usage: memwall " + command.name;
    for (const PositionalSpec& p : command.positionals) {
        line += p.required ? " " + p.name : " [" + p.name + "]";
        line += p.repeatable ? "..." : "";
    }
    return line;
}

void take(Bound& bound, Arguments& arguments) {
    for (auto& [flag, values] : bound.values) {
        if (!values.empty()) {
            auto& all = arguments.options[flag];
            all.insert(all.end(), values.begin(), values.end());
        }
    }
    for (const auto& [flag, on] : bound.switches) {
        if (on) {
            arguments.options[flag] = {""};
        }
    }
}

}  // namespace

bool Arguments::has(std::string_view flag) const {
    return options.contains(std::string(flag));
}

std::string Arguments::value(std::string_view flag, std::string_view otherwise) const {
    const auto found = options.find(std::string(flag));
    return found == options.end() ? std::string(otherwise) : found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view flag) const {
    const auto found = options.find(std::string(flag));
    return found == options.end() ? std::vector<std::string>{} : found->second;
}

std::string Arguments::positional(std::size_t index) const {
    return index < positionals.size() ? positionals[index] : std::string();
}

Arguments parse(int argc_all, const char* const* argv) {
    Arguments arguments;
    // What follows `--` is never an option. The library knows it for the program, not for its verbs.
    const char* const* const all_end = argv + argc_all;
    const char* const* const end =
        std::find_if(argv, all_end, [](std::string_view word) { return word == "--"; });
    const int argc = static_cast<int>(end - argv);
    CLI::App app("memwall");
    app.set_help_flag();
    app.fallthrough();
    app.require_subcommand(0, 1);
    Bound bound;
    for (const OptionSpec& spec : global_options()) {
        add_option(app, spec, bound);
    }
    std::map<std::string, std::unique_ptr<Bound>> of_command;
    std::map<std::string, std::vector<std::string>> positionals;
    for (const CommandSpec& command : commands()) {
        CLI::App* sub = app.add_subcommand(command.name, command.summary);
        sub->set_help_flag();
        sub->fallthrough();
        auto& mine = *of_command.emplace(command.name, std::make_unique<Bound>()).first->second;
        for (const OptionSpec& spec : command.options) {
            add_option(*sub, spec, mine);
        }
        add_positionals(*sub, positionals[command.name]);
    }
    const bool wants_help = std::any_of(
        argv + 1, argv + argc, [](std::string_view a) { return a == "--help" || a == "-h"; });
    for (int i = 1; i < argc && arguments.command == nullptr; ++i) {
        arguments.command = find_command(argv[i]);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ArgumentMismatch& e) {
        arguments.error = explain_mismatch(e, arguments.command);
    } catch (const CLI::ParseError& e) {
        explain_unknown(argc, argv, arguments);
        if (arguments.error.empty()) {
            arguments.error = e.what();
        }
    }
    take(bound, arguments);
    if (wants_help) {
        arguments.options["--help"] = {""};
        arguments.error.clear();
        arguments.hint.clear();
        return arguments;
    }
    if (arguments.command != nullptr) {
        take(*of_command[arguments.command->name], arguments);
        arguments.positionals = positionals[arguments.command->name];
        if (end != all_end) {
            arguments.positionals.insert(arguments.positionals.end(), end + 1, all_end);
        }
        if (arguments.error.empty()) {
            arguments.error = switch_with_value(argc, argv, arguments.command);
        }
        if (arguments.error.empty()) {
            arguments.error = wrong_count(*arguments.command, arguments.positionals);
        }
        if (!arguments.error.empty() && arguments.hint.empty()) {
            arguments.hint = usage_line(*arguments.command);
        }
    }
    return arguments;
}

}  // namespace memwall::cli
