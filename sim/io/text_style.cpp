#include "sim/io/text_style.h"

#include <fmt/format.h>

#include "sim/core/quantity.h"

namespace memwall {

std::string wrapped(std::string_view text, int width, int indent) {
    std::string out;
    int column = indent;
    while (!text.empty()) {
        // A number stays with its unit.
        std::size_t space = text.find(' ');
        while (space != std::string_view::npos && space > 0 && text[space - 1] >= '0' &&
               text[space - 1] <= '9') {
            space = text.find(' ', space + 1);
        }
        const std::string_view word = text.substr(0, space);
        const int length = static_cast<int>(word.size());
        if (column > indent && column + 1 + length > width) {
            out += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
            column = indent;
        } else if (column > indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += length;
        text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
    }
    return out;
}

std::string heading(std::string_view name, std::string_view note, const TextStyle& style) {
    const bool fits = name.size() + 2 + note.size() <= static_cast<std::size_t>(style.width);
    return style.bold(name) + (fits ? "  " : "\n  ") + style.dim(wrapped(note, style.width, 2)) +
           "\n";
}

std::string counted(std::int64_t n, std::string_view thing) {
    const std::string_view plural = thing.ends_with("s") || thing.ends_with("ch") ? "es" : "s";
    return fmt::format("{} {}{}", human_count(n), thing, n == 1 ? "" : plural);
}

}  // namespace memwall
