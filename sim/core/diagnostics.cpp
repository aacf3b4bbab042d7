#include "sim/core/diagnostics.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

namespace memwall {

Diagnostic& Diagnostics::error(std::string code, Place place, std::string text) {
    return all_.emplace_back(
        Diagnostic{Severity::Error, std::move(code), std::move(place), std::move(text), {}, {}});
}

Diagnostic& Diagnostics::warning(std::string code, Place place, std::string text) {
    return all_.emplace_back(
        Diagnostic{Severity::Warning, std::move(code), std::move(place), std::move(text), {}, {}});
}

void Diagnostics::append(const Diagnostics& other) {
    // By index and with room reserved: `other` may be this one.
    all_.reserve(all_.size() + other.all_.size());
    for (std::size_t i = 0, n = other.all_.size(); i < n; ++i) {
        all_.push_back(other.all_[i]);
    }
}

std::size_t Diagnostics::errors() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        all_, [](const Diagnostic& d) { return d.severity == Severity::Error; }));
}

bool Diagnostics::has_errors() const {
    return errors() > 0;
}

std::vector<Diagnostic> Diagnostics::sorted() const {
    const auto key = [](const Diagnostic& d) {
        return std::tie(d.place, d.code, d.text, d.severity);
    };
    std::vector<Diagnostic> out = all_;
    std::ranges::stable_sort(
        out, [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
    const auto equal = std::ranges::unique(
        out, [&](const Diagnostic& a, const Diagnostic& b) { return key(a) == key(b); });
    out.erase(equal.begin(), equal.end());
    return out;
}

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Damerau-Levenshtein distance (optimal string alignment): insert, delete, substitute, swap neighbours. Case is free.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
            const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                                 lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& known) {
    constexpr std::size_t kLongest =
        200;  // no key is longer; keeps a file of junk from costing its square
    if (typed.empty() || typed.size() > kLongest) {
        return {};
    }
    std::size_t best = std::max<std::size_t>(1, typed.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view name : known) {
        const std::size_t longer = std::max(typed.size(), name.size());
        if (longer - std::min(typed.size(), name.size()) >= best) {
            continue;
        }
        const std::size_t d = distance(typed, name);
        if (d < best && d < longer) {  // d = longer: they share nothing
            best = d;
            found = name;
        }
    }
    return found;
}

}  // namespace memwall
