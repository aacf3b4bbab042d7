#pragma once
// A dense id: an index into one array, with a type of its own so that a rank cannot index links.
#include <compare>
#include <cstddef>
#include <cstdint>

namespace memwall {

template <class Tag>
struct Id {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
    std::uint32_t index = kNone;

    constexpr Id() = default;
    constexpr explicit Id(std::size_t i) : index(static_cast<std::uint32_t>(i)) {}
    [[nodiscard]] constexpr bool valid() const { return index != kNone; }
    constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace memwall
