#pragma once
// A single value: from the text of a file, and back to text that reads as the very same value.
#include <string>
#include <string_view>

#include "sim/spec/fields.h"

namespace memwall {

struct ValueProblem {
    std::string code;  // empty = none
    std::string text;  // "400 has no unit"
    std::string hint;
};

// `quoted`: written in quotes, so it is text and never a number.
[[nodiscard]] ValueProblem read_value(const Leaf& leaf,
                                      const std::string& text,
                                      bool quoted,
                                      Rules rules);

// `quote` is set when the text must be written in quotes to stay text.
struct WrittenValue {
    std::string text;
    bool quote = false;
};
[[nodiscard]] WrittenValue write_value(const Leaf& leaf);

// True when a plain scalar of this text could be taken for something else (a number, a bool, null, YAML syntax).
[[nodiscard]] bool needs_quotes(std::string_view text);

// "a size, such as 80GiB" and so on, for the key list and for messages about a value of another kind.
[[nodiscard]] std::string kind_of(const Leaf& leaf);

}  // namespace memwall
