#include "sim/core/rendering.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace memwall {

namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kMagenta = "\x1b[1;35m";
constexpr std::string_view kCyan = "\x1b[1;36m";
constexpr std::string_view kGreen = "\x1b[1;32m";
constexpr std::string_view kReset = "\x1b[0m";

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += is_control(c)
                   ? fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)))
                   : std::string(1, c);
    }
    return out;
}

std::string painted(std::string_view text, std::string_view color, RenderOptions options) {
    return options.color ? std::string(color) + std::string(text) + std::string(kReset)
                         : std::string(text);
}

// Line `line` (from 1) without its line end; empty optional when the text has fewer.
std::optional<std::string_view> line_of(std::string_view text, int line) {
    for (int i = 1; i < line; ++i) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        text.remove_prefix(end + 1);
    }
    text = text.substr(0, text.find('\n'));
    if (text.ends_with('\r')) {
        text.remove_suffix(1);
    }
    return text;
}

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80;
}

// The source line and a caret under byte `column` (from 1). Long lines are cut around the caret, tabs become one space.
std::string excerpt(std::string_view text, int line, int column, RenderOptions options) {
    constexpr std::size_t kWidest = 120;
    constexpr std::size_t kBefore = 60;  // bytes kept before the caret of a long line
    const std::size_t caret =
        std::min(static_cast<std::size_t>(std::max(column, 1) - 1), text.size());
    std::size_t first = text.size() > kWidest && caret > kBefore ? caret - kBefore : 0;
    while (first > 0 && first < text.size() && continues_character(text[first])) {
        ++first;
    }
    std::size_t last = std::min(text.size(), first + kWidest);
    while (last < text.size() && continues_character(text[last])) {
        ++last;
    }
    std::string shown = first > 0 ? "..." : "";
    std::string below(shown.size(), ' ');
    for (std::size_t i = first; i < last; ++i) {
        shown += is_control(text[i]) ? (text[i] == '\t' ? ' ' : '?') : text[i];
        if (i < caret && !continues_character(text[i])) {
            below += ' ';
        }
    }
    shown += last < text.size() ? "..." : "";
    std::string out = fmt::format("{:5} | {}\n", line, shown);
    if (column > 0) {
        out += fmt::format("      | {}{}\n", below, painted("^", kGreen, options));
    }
    return out;
}

std::string excerpt_at(const Place& place, const SourceText& source, RenderOptions options) {
    if (!source || place.line <= 0) {
        return {};
    }
    const std::optional<std::string_view> text = source(place.file);
    const std::optional<std::string_view> line = text ? line_of(*text, place.line) : std::nullopt;
    return line ? excerpt(*line, place.line, place.column, options) : std::string();
}

std::string head(const Place& place, RenderOptions options) {
    return place.file.empty() ? std::string()
                              : painted(printable(to_text(place)) + ":", kBold, options) + " ";
}

}  // namespace

std::string to_text(const Place& place) {
    if (place.file == "--set") {
        return place.line > 0 ? fmt::format("--set {}", place.line) : place.file;
    }
    if (place.line <= 0) {
        return place.file;
    }
    return place.column > 0 ? fmt::format("{}:{}:{}", place.file, place.line, place.column)
                            : fmt::format("{}:{}", place.file, place.line);
}

std::string render(const Diagnostic& diagnostic, const SourceText& source, RenderOptions options) {
    const bool error = diagnostic.severity == Severity::Error;
    std::string out = head(diagnostic.place, options) +
                      painted(error ? "error:" : "warning:", error ? kRed : kMagenta, options) +
                      " " + printable(diagnostic.text);
    out += diagnostic.code.empty() ? "\n" : fmt::format(" [{}]\n", diagnostic.code);
    out += excerpt_at(diagnostic.place, source, options);
    for (const Note& note : diagnostic.notes) {
        out += head(note.place, options) + painted("note:", kCyan, options) + " " +
               printable(note.text) + "\n";
        if (note.place.line > 0 && note.place != diagnostic.place) {
            out += excerpt_at(note.place, source, options);
        }
    }
    if (!diagnostic.hint.empty()) {
        out += painted("hint:", kGreen, options) + " " + printable(diagnostic.hint) + "\n";
    }
    return out;
}

std::string render(const Diagnostics& diagnostics,
                   const SourceText& source,
                   RenderOptions options) {
    std::string out;
    std::size_t errors = 0;
    std::size_t warnings = 0;
    for (const Diagnostic& diagnostic : diagnostics.sorted()) {
        out += render(diagnostic, source, options);
        (diagnostic.severity == Severity::Error ? errors : warnings) += 1;
    }
    if (errors + warnings == 0) {
        return out;
    }
    const auto counted = [](std::size_t n, std::string_view what) {
        return n == 0 ? std::string() : fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    const std::string both = errors > 0 && warnings > 0 ? ", " : "";
    return out + counted(errors, "error") + both + counted(warnings, "warning") + "\n";
}

}  // namespace memwall
