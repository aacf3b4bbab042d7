#pragma once
// How text output may look: colour only where the reader can show it.
#include <string>
#include <string_view>

namespace memwall {

struct TextStyle {
    bool color = false;
    int width = 100;  // columns

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

// Breaks at spaces so that no line is wider than `width`; each line after the first is indented.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent);

}  // namespace memwall
