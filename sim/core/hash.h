#pragma once
// A 64-bit hash of values for signatures and caches: the same on every machine and compiler, and for every address layout.
// It is not cryptographic: it finds changes, it does not resist an attacker.
#include <bit>
#include <cstdint>
#include <string_view>

#include "sim/core/units.h"

namespace memwall {

// A bijection of 64-bit words in which every input bit flips each output bit with probability about 1/2.
// Source: Stafford, "Better bit mixing", variant 13; the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGolden64 = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio, odd

// Order matters; texts carry their length, so "ab","c" and "a","bc" differ.
class Hasher {
  public:
    constexpr explicit Hasher(std::uint64_t seed = 0) : state_(mix64(seed + kGolden64)) {}

    constexpr Hasher& add(std::uint64_t v) {
        state_ = mix64(state_ * kGolden64 + mix64(v + kGolden64));
        return *this;
    }
    constexpr Hasher& add(std::int64_t v) { return add(static_cast<std::uint64_t>(v)); }
    constexpr Hasher& add(std::uint32_t v) { return add(std::uint64_t{v}); }
    constexpr Hasher& add(std::int32_t v) { return add(std::int64_t{v}); }
    constexpr Hasher& add(bool v) { return add(std::uint64_t{v ? 1U : 0U}); }
    // By bits, with 0 for -0 (they are equal) and one pattern for all NaNs.
    constexpr Hasher& add(double v) {
        if (v != v) {
            return add(~std::uint64_t{0});
        }
        return add(v == 0 ? std::uint64_t{0} : std::bit_cast<std::uint64_t>(v));
    }
    constexpr Hasher& add(Duration v) { return add(v.count()); }
    constexpr Hasher& add(Time v) { return add(v.time_since_epoch()); }
    template <class T, class R>
    constexpr Hasher& add(Quantity<T, R> v) {
        return add(v.value);
    }
    constexpr Hasher& add(std::string_view text) {
        add(std::uint64_t{text.size()});
        std::uint64_t word = 0;
        int filled = 0;
        for (const char c : text) {
            word |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * filled);
            if (++filled == 8) {
                add(word);
                word = 0;
                filled = 0;
            }
        }
        return filled > 0 ? add(word) : *this;
    }
    constexpr Hasher& add(const char* text) { return add(std::string_view(text)); }

    [[nodiscard]] constexpr std::uint64_t value() const { return state_; }

  private:
    std::uint64_t state_;
};

}  // namespace memwall
