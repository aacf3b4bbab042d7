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

[[nodiscard]] std::uint32_t count_classes(const std::vector<Colour>& colours);

}  // namespace memwall
