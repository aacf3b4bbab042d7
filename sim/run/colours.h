#pragma once
// Colours of a partition that is refined until it is stable, and the classes that they are. Internal to fold.h.
#include <cstdint>
#include <vector>

#include "sim/core/hash.h"

namespace memwall {

using Colour = std::uint64_t;

inline Colour join(Colour a, std::uint64_t b) {
    return mix64(a * kGolden64 + b);
}

// Numbered in order of first appearance.
struct Classes {
    std::vector<std::uint32_t> of;     // element -> class
    std::vector<std::uint32_t> first;  // class -> lowest element
    std::vector<std::uint64_t> count;
};

[[nodiscard]] Classes classes_of(const std::vector<Colour>& colours);

// Counts classes again and again; its memory is cleared by forgetting, not by writing.
class ClassCounter {
  public:
    [[nodiscard]] std::uint32_t count(const std::vector<Colour>& colours);

  private:
    struct Entry {
        Colour colour = 0;
        std::uint32_t round = 0;
    };
    std::vector<Entry> entries_;  // open addressing: colours are uniform already
    std::uint32_t round_ = 0;
};

}  // namespace memwall
