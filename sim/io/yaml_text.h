#pragma once
// What can be wrong with a file before any YAML is read: its size, its encoding, bytes that are not text.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"

namespace memwall {

// The text without its byte-order mark; nullopt after an error (E0103 size, E0104 encoding or a byte that is not text).
[[nodiscard]] std::optional<std::string_view> check_text(const std::string& label,
                                                         std::string_view text,
                                                         std::size_t bytes_max,
                                                         Diagnostics& diagnostics);

// Offsets of the first byte of each line, to find a (line, column) in the text again.
class LineIndex {
  public:
    explicit LineIndex(std::string_view text);
    // 0-based, as yaml-cpp counts.
    [[nodiscard]] std::size_t offset(int line, int column) const;
    [[nodiscard]] std::string_view line(int number) const;

  private:
    std::string_view text_;
    std::vector<std::size_t> starts_;
};

// True when the quote that opens at `open` closes before the text ends. A backslash escapes in double quotes, a doubled
// quote in single ones.
[[nodiscard]] bool quote_closes(std::string_view text, std::size_t open);

// The bracket '[' or '{' at `open`: whether it is closed, and how deep brackets are nested in it, itself included. Brackets
// in quotes and comments do not count.
struct BracketScan {
    bool closed = false;
    std::size_t depth = 0;
};
[[nodiscard]] BracketScan scan_bracket(std::string_view text, std::size_t open);

}  // namespace memwall
