#pragma once
// Helpers that the kernel laws share. Inside the laws times are microseconds in double; they become integer picoseconds
// once, at the end. Only + - * / sqrt and ceil are used, which IEEE 754 fixes to the last bit on every compiler.
#include <algorithm>
#include <cmath>

#include "sim/core/check.h"
#include "sim/core/units.h"

namespace memwall {

// (a^4 + b^4)^(1/4): a smooth maximum of two limits that overlap, 19 % above either where they are equal.
inline double norm4(double a, double b) {
    const double a2 = a * a;
    const double b2 = b * b;
    return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

inline double us_of(Duration d) {
    return static_cast<double>(d.count()) * 1e-6;
}
inline double per_us(Bandwidth b) {
    return b.value * 1e-6;
}
inline double per_us(FlopRate r) {
    return r.value * 1e-6;
}

// Rounds up. Saturates at 53 days, as collectives do: sums of instants do not overflow, and such a run is refused before it is
// played (sim/run/feasible.h).
inline Duration duration_from_us(double us) {
    constexpr double kPsMax = 4.6e18;
    const double ps = std::ceil(us * 1e6);
    const bool is_time = ps >= 0 && std::isfinite(ps);
    MW_CHECK(is_time,
             "a kernel time that is no number: check the kernel's sizes and the GPU's constants");
    return Duration(static_cast<std::int64_t>(std::min(ps, kPsMax)));
}

// The slow-down under the power limit. In a burst benchmark the controller reacts after some time of load, so it grows
// with the kernel's own duration; in training it is always there.
struct ClockDrop {
    double drop = 0;         // rb
    double reaction_us = 0;  // tau; 0 = at once
    bool burst = false;
    [[nodiscard]] double applied_to(double us) const {
        if (!burst || reaction_us <= 0) {
            return us * (1 + drop);
        }
        return us * (1 + drop * (1 - 1 / (1 + us / reaction_us)));
    }
};

}  // namespace memwall
