#pragma once
// User errors are values. Readers and checks add to one Diagnostics and go on, so that all errors are shown at once.
// A diagnostic says what, where, the value met, what was wanted, and a hint (style.md, "Errors").
#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace memwall {

// 1-based; line 0 = the whole file. `file` may also be "--set" (then line = which one) or "<builtin>".
struct Place {
    std::string file;
    int line = 0;
    int column = 0;
    auto operator<=>(const Place&) const = default;
};

enum class Severity : unsigned char { Error, Warning };

struct Note {
    Place place;
    std::string text;
};

struct Diagnostic {
    Severity severity = Severity::Error;
    std::string code;  // stable, such as "E0312"; the list is in sim/core/codes.h
    Place place;
    std::string text;  // lower case, no full stop, names key and value
    std::vector<Note> notes;
    std::string hint;  // empty = none
};

class Diagnostics {
  public:
    Diagnostic& error(std::string code, Place place, std::string text);
    Diagnostic& warning(std::string code, Place place, std::string text);
    void append(const Diagnostics& other);
    [[nodiscard]] bool has_errors() const;
    [[nodiscard]] std::size_t errors() const;
    // By place, then code; equal ones once.
    [[nodiscard]] std::vector<Diagnostic> sorted() const;

  private:
    std::vector<Diagnostic> all_;
};

// The nearest of `known` by Damerau-Levenshtein distance at most max(1, length / 3); empty when none is near.
[[nodiscard]] std::string_view nearest(std::string_view typed,
                                       const std::vector<std::string_view>& known);

}  // namespace memwall
