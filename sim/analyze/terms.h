#pragma once
// The words of the report and of its JSON that are no figures: what each means, in one sentence.
#include <string_view>
#include <vector>

namespace memwall {

// Empty when the word is not known. `name` as in JSON: lower case, words joined by '_'.
[[nodiscard]] std::string_view meaning_of_term(std::string_view name);
[[nodiscard]] std::vector<std::string_view> terms();  // in alphabetical order

}  // namespace memwall
