#include "sim/io/text_style.h"

namespace memwall {

std::string wrapped(std::string_view text, int width, int indent) {
    std::string out;
    int column = indent;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
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

}  // namespace memwall
