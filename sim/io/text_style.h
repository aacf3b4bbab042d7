#pragma once
// How text output may look: colour only where the reader can show it.
#include <cstdint>
#include <string>
#include <string_view>

namespace memwall {

struct TextStyle {
    bool color = false;
    int width = 80;  // columns

    [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
    [[nodiscard]] std::string good(std::string_view text) const { return paint("32", text); }
    [[nodiscard]] std::string bad(std::string_view text) const { return paint("1;31", text); }
    [[nodiscard]] std::string dim(std::string_view text) const { return paint("2", text); }

  private:
    [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const {
        return color ? "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m"
                     : std::string(text);
    }
};

// Breaks at spaces, but not behind a digit, so that no line is wider than `width`; each line after the first is indented,
// and the first is taken to begin at that column too.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent);

// The title of a section with a dim note beside it, or beneath where there is no room.
[[nodiscard]] std::string heading(std::string_view name,
                                  std::string_view note,
                                  const TextStyle& style);

// "1 node", "1,024 nodes"
[[nodiscard]] std::string counted(std::int64_t n, std::string_view thing);

}  // namespace memwall
