#pragma once
// Strong types for the quantities of the simulator. Instants and durations are integers (picoseconds), so that sums do
// not depend on the order of addition; rates are doubles. `Bytes + Bandwidth` does not compile.
#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>

namespace memwall {

using Duration = std::chrono::duration<std::int64_t, std::pico>;  // up to 106 days

// The simulated clock: starts at 0 when the first step starts.
struct SimClock {
    // NOLINTBEGIN(readability-identifier-naming): names that std::chrono asks of a clock
    using rep = std::int64_t;
    using period = std::pico;
    using duration = Duration;
    using time_point = std::chrono::time_point<SimClock, Duration>;
    static constexpr bool is_steady = true;
    // NOLINTEND(readability-identifier-naming)
};
using Time = SimClock::time_point;

// A number with a dimension. Tag makes types distinct, Rep is std::int64_t for counts and double for rates.
template <class Tag, class Rep>
struct Quantity {
    Rep value{};

    constexpr Quantity() = default;
    constexpr explicit Quantity(Rep v) : value(v) {}
    constexpr auto operator<=>(const Quantity&) const = default;
    constexpr Quantity& operator+=(Quantity o) {
        value += o.value;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity o) {
        value -= o.value;
        return *this;
    }
};
template <class T, class R>
constexpr Quantity<T, R> operator+(Quantity<T, R> a, Quantity<T, R> b) {
    return Quantity<T, R>(a.value + b.value);
}
template <class T, class R>
constexpr Quantity<T, R> operator-(Quantity<T, R> a, Quantity<T, R> b) {
    return Quantity<T, R>(a.value - b.value);
}
template <class T, class R>
constexpr Quantity<T, R> operator-(Quantity<T, R> a) {
    return Quantity<T, R>(-a.value);
}
template <class T, class R>
constexpr Quantity<T, R> operator*(Quantity<T, R> a, R k) {
    return Quantity<T, R>(a.value * k);
}
template <class T, class R>
constexpr Quantity<T, R> operator*(R k, Quantity<T, R> a) {
    return Quantity<T, R>(k * a.value);
}
template <class T, class R>
constexpr double operator/(Quantity<T, R> a, Quantity<T, R> b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
}

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;          // a number of floating-point operations
using Bandwidth = Quantity<struct BandwidthTag, double>;  // bytes per second
using FlopRate = Quantity<struct FlopRateTag, double>;    // floating-point operations per second

// Rounds up to whole picoseconds: a transfer never ends early. [seconds]
inline Duration duration_from_seconds(double seconds) {
    return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1e12)));
}
constexpr double to_seconds(Duration d) {
    return static_cast<double>(d.count()) * 1e-12;
}
inline Duration operator/(Bytes b, Bandwidth r) {
    return duration_from_seconds(static_cast<double>(b.value) / r.value);
}
inline Duration operator/(Flops f, FlopRate r) {
    return duration_from_seconds(f.value / r.value);
}

namespace literals {
constexpr Duration operator""_ps(unsigned long long v) {
    return Duration(static_cast<std::int64_t>(v));
}
constexpr Duration operator""_ns(unsigned long long v) {
    return Duration(static_cast<std::int64_t>(v) * 1000);
}
constexpr Duration operator""_us(unsigned long long v) {
    return Duration(static_cast<std::int64_t>(v) * 1'000'000);
}
constexpr Duration operator""_ms(unsigned long long v) {
    return Duration(static_cast<std::int64_t>(v) * 1'000'000'000);
}
constexpr Duration operator""_s(unsigned long long v) {
    return Duration(static_cast<std::int64_t>(v) * 1'000'000'000'000);
}
constexpr Bytes operator""_B(unsigned long long v) {
    return Bytes(static_cast<std::int64_t>(v));
}
constexpr Bytes operator""_KiB(unsigned long long v) {
    return Bytes(static_cast<std::int64_t>(v) << 10);
}
constexpr Bytes operator""_MiB(unsigned long long v) {
    return Bytes(static_cast<std::int64_t>(v) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long v) {
    return Bytes(static_cast<std::int64_t>(v) << 30);
}
constexpr Bandwidth operator""_GBps(long double v) {
    return Bandwidth(static_cast<double>(v) * 1e9);
}
constexpr Bandwidth operator""_GBps(unsigned long long v) {
    return Bandwidth(static_cast<double>(v) * 1e9);
}
constexpr Bandwidth operator""_Gbps(unsigned long long v) {
    return Bandwidth(static_cast<double>(v) * 1e9 / 8);
}
constexpr FlopRate operator""_TFLOPS(long double v) {
    return FlopRate(static_cast<double>(v) * 1e12);
}
constexpr FlopRate operator""_TFLOPS(unsigned long long v) {
    return FlopRate(static_cast<double>(v) * 1e12);
}
}  // namespace literals

}  // namespace memwall
