#include "tools/cli/help.h"

#include <fmt/format.h>

#include "sim/io/text_style.h"

namespace memwall::cli {
namespace {

constexpr int kWidth = 80;  // of help, whatever the terminal

// A name with what it is beside it.
std::string entry(const std::string& name, int column, const std::string& what) {
    return fmt::format("  {:<{}}{}\n", name, column - 2, wrapped(what, kWidth, column));
}

std::string option_line(const OptionSpec& o) {
    const std::string left = o.value.empty() ? o.flag : o.flag + " " + o.value;
    return entry(left, 26, o.help + (o.repeatable ? " (repeatable)" : ""));
}

std::string synopsis(const CommandSpec& c) {
    std::string text = "memwall " + c.name;
    for (const PositionalSpec& p : c.positionals) {
        const std::string name = p.name + (p.repeatable ? "..." : "");
        text += p.required ? " " + name : " [" + name + "]";
    }
    return text + (c.options.empty() ? "" : " [OPTIONS]");
}

// A backslash, a leading dot and a hyphen mean something to groff.
std::string groff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string flags_of(const std::vector<OptionSpec>& options) {
    std::string text;
    for (const OptionSpec& o : options) {
        text += (text.empty() ? "" : " ") + o.flag;
    }
    return text;
}

// zsh: quotes and brackets end a description.
std::string zsh_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else if (c == '[' || c == ']' || c == ':') {
            out += std::string("\\") + c;
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace

std::string help_text() {
    std::string text =
        "memwall predicts a training step of a large model on a GPU cluster: its time,\n"
        "its memory peak, where the time goes.\n\n"
        "Examples\n"
        "  memwall run scenarios/gpt3-175b-1024xa100.yaml\n"
        "  memwall run my.yaml --set parallel.tp=4 --json\n"
        "  memwall topo h100-8x400g --nodes 4 --route 0,9\n"
        "  memwall list gpus\n\nCommands\n";
    for (const CommandSpec& c : commands()) {
        text += entry(c.name, 12, c.summary);
    }
    text += "\nOptions\n";
    for (const OptionSpec& o : global_options()) {
        text += option_line(o);
    }
    text +=
        "\nmemwall COMMAND --help tells more. Results go to standard output, everything\n"
        "else to standard error, in the width that COLUMNS says, else the terminal's.\n"
        "Exit status: 0 done, 1 the answer is no (does not fit, a check does not hold),\n"
        "2 wrong use or input, 3 a bug of ours.\n";
    return text;
}

std::string help_text(const CommandSpec& c) {
    std::string text = "Examples\n";
    for (const Example& e : c.examples) {
        text += fmt::format("  {}\n      {}\n", e.command, e.about);
    }
    text += fmt::format("\nUsage\n  {}\n\n{}\n",
                        synopsis(c),
                        wrapped(fmt::format("{}: {}.", c.name, c.summary), kWidth, 0));
    if (!c.about.empty()) {
        text += wrapped(c.about, kWidth, 0) + "\n";
    }
    text += "\nArguments\n";
    for (const PositionalSpec& p : c.positionals) {
        text += entry(p.name, 26, p.help);
    }
    text += "\nOptions\n";
    for (const OptionSpec& o : c.options) {
        text += option_line(o);
    }
    for (const OptionSpec& o : global_options()) {
        text += option_line(o);
    }
    return text;
}

std::string man_page(std::string_view version) {
    std::string text = fmt::format(
        ".TH MEMWALL 1 \"\" \"memwall {}\" \"User Commands\"\n.SH NAME\nmemwall \\- predict a "
        "training step of a large model "
        "on a GPU cluster\n.SH SYNOPSIS\n.B memwall\nCOMMAND [ARGUMENTS] [OPTIONS]\n.SH COMMANDS\n",
        version);
    for (const CommandSpec& c : commands()) {
        text += fmt::format(".SS {}\n.B {}\n.PP\n{}.\n{}\n",
                            c.name,
                            groff(synopsis(c)),
                            groff(c.summary),
                            groff(c.about));
        for (const OptionSpec& o : c.options) {
            text += fmt::format(".TP\n.B {}{}\n{}\n",
                                groff(o.flag),
                                o.value.empty() ? "" : " " + groff(o.value),
                                groff(o.help));
        }
        for (const Example& e : c.examples) {
            text += fmt::format(".PP\nExample: {}\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n",
                                groff(e.about),
                                groff(e.command));
        }
    }
    text += ".SH OPTIONS\n";
    for (const OptionSpec& o : global_options()) {
        text += fmt::format(".TP\n.B {}{}\n{}\n",
                            groff(o.flag),
                            o.value.empty() ? "" : " " + groff(o.value),
                            groff(o.help));
    }
    text +=
        ".SH ENVIRONMENT\n.TP\n.B COLUMNS\nWidth of reports; else that of the terminal, else 80.\n"
        ".TP\n.B MEMWALL_DATA\nA folder for names, as \\-\\-data.\n"
        ".TP\n.B NO_COLOR\nNo colours, when not empty.\n";
    text +=
        ".SH EXIT STATUS\n0 done; 1 the answer is no (does not fit, a check does not hold); 2 "
        "wrong use or input; 3 a bug of "
        "ours; 130 interrupted.\n";
    return text;
}

std::string bash_completion() {
    std::string verbs;
    std::string cases;
    for (const CommandSpec& c : commands()) {
        verbs += (verbs.empty() ? "" : " ") + c.name;
        cases += fmt::format("        {}) flags=\"{}\" ;;\n", c.name, flags_of(c.options));
    }
    return fmt::format(R"(# bash completion for memwall
_memwall() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb="" flags="" w
    for w in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $w in -*) ;; *) verb=$w; break ;; esac
    done
    if [[ -z $verb && $word != -* ]]; then
        COMPREPLY=($(compgen -W "{}" -- "$word"))
        return
    fi
    case $verb in
{}    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$flags {}" -- "$word"))
    elif [[ $verb == list ]]; then
        COMPREPLY=($(compgen -W "gpus nodes fabrics clusters stacks models scenarios" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _memwall memwall
)",
                       verbs,
                       cases,
                       flags_of(global_options()));
}

std::string zsh_completion() {
    std::string verbs;
    std::string cases;
    for (const CommandSpec& c : commands()) {
        verbs += fmt::format("    '{}:{}'\n", c.name, zsh_text(c.summary));
        cases += fmt::format("  {}) _arguments", c.name);
        for (const OptionSpec& o : c.options) {
            cases += fmt::format(" '{}[{}]{}'",
                                 o.flag,
                                 zsh_text(o.help),
                                 o.value.empty() ? "" : ":" + o.value + ":_files");
        }
        cases += " '*:file:_files' ;;\n";
    }
    return fmt::format(
        "#compdef memwall\nlocal -a verbs\nverbs=(\n{})\nif (( CURRENT == 2 )); then\n  _describe "
        "command verbs\n"
        "  return\nfi\nlocal verb=$words[2]\nshift words\n(( CURRENT-- ))\ncase $verb in\n{}esac\n",
        verbs,
        cases);
}

}  // namespace memwall::cli
