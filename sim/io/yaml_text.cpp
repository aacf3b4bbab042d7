#include "sim/io/yaml_text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace memwall {
namespace {

Place place_of(const std::string& label, std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == std::string_view::npos ? offset : offset - start - 1;
    return {label, static_cast<int>(line) + 1, static_cast<int>(column) + 1};
}

// Length of the UTF-8 sequence that starts here; 0 when it is malformed (overlong forms and surrogates included).
std::size_t utf8_length(std::string_view rest) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(rest[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || rest.size() < length) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    const std::uint8_t second = byte(1);
    const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool outside = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
    return overlong || outside ? 0 : length;
}

bool is_text(std::uint8_t byte) {
    return byte >= 0x20 ? byte != 0x7F : byte == '\t' || byte == '\n' || byte == '\r';
}

}  // namespace

std::optional<std::string_view> check_text(const std::string& label,
                                           std::string_view text,
                                           std::size_t bytes_max,
                                           Diagnostics& diagnostics) {
    if (text.size() > bytes_max) {
        diagnostics.error(
            "E0103",
            {label, 0, 0},
            fmt::format(
                "the file has {} bytes, more than the limit of {}", text.size(), bytes_max));
        return std::nullopt;
    }
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
        diagnostics.error("E0104", {label, 1, 1}, "the file is UTF-16").hint = "save it as UTF-8";
        return std::nullopt;
    }
    if (text.starts_with("\xEF\xBB\xBF")) {
        text.remove_prefix(3);
    }
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<std::uint8_t>(text[i]);
        const std::size_t length = utf8_length(text.substr(i));
        if (!is_text(byte) || length == 0) {
            const char* what = byte < 0x80 ? "a control character" : "not UTF-8";
            diagnostics
                .error("E0104",
                       place_of(label, text, i),
                       fmt::format("byte 0x{:02x} is {}", byte, what))
                .hint = "this must be a text file in UTF-8; is it the right file?";
            return std::nullopt;
        }
        i += length;
    }
    return text;
}

LineIndex::LineIndex(std::string_view text) : text_(text), starts_{0} {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n') {
            starts_.push_back(i + 1);
        }
    }
}

std::size_t LineIndex::offset(int line, int column) const {
    const auto at = std::min(static_cast<std::size_t>(std::max(line, 0)), starts_.size() - 1);
    return std::min(starts_[at] + static_cast<std::size_t>(std::max(column, 0)), text_.size());
}

std::string_view LineIndex::line(int number) const {
    const std::size_t begin = offset(number, 0);
    return text_.substr(begin, text_.find('\n', begin) - begin);
}

bool quote_closes(std::string_view text, std::size_t open) {
    const char quote = text[open];
    for (std::size_t i = open + 1; i < text.size(); ++i) {
        if (quote == '"' && text[i] == '\\') {
            ++i;
        } else if (text[i] == quote) {
            if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) {
                return true;
            }
            ++i;
        }
    }
    return false;
}

BracketScan scan_bracket(std::string_view text, std::size_t open) {
    BracketScan scan;
    std::size_t depth = 0;
    bool word = false;  // inside a plain word quotes and # are letters
    for (std::size_t i = open; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '[' || c == '{') {
            scan.depth = std::max(scan.depth, ++depth);
        } else if ((c == ']' || c == '}') && --depth == 0) {
            scan.closed = true;
            return scan;
        } else if (!word && (c == '"' || c == '\'')) {
            // '' and \" in quotes end one piece and begin another.
            i = std::min(text.find(c, i + 1), text.size());
            continue;
        } else if (!word && c == '#') {
            i = std::min(text.find('\n', i), text.size());
        }
        word = i < text.size() &&
               std::string_view(" \n\t,:[]{}").find(text[i]) == std::string_view::npos;
    }
    return scan;
}

}  // namespace memwall
