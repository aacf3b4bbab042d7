#include "sim/collectives/split.h"

#include <algorithm>
#include <cmath>

namespace memwall {

namespace {

// 53 days: sums of instants do not overflow (FluidNetwork holds to the same limit).
constexpr double kSecondsMax = 4.6e6;
constexpr double kPerSecond = 1e12;
// Rounding of a law's arithmetic; what lies this close above a whole picosecond is that picosecond. [picoseconds]
double noise(double ps) {
    return std::min(0.25, ps / static_cast<double>(std::int64_t{1} << 44));
}

// `sum`: of which `seconds` is a part or a difference, and whose rounding it carries.
Duration picoseconds(double seconds, double sum) {
    const double ps = std::clamp(seconds, 0.0, kSecondsMax) * kPerSecond;
    const double slack = noise(std::min(sum, kSecondsMax) * kPerSecond);
    return Duration{static_cast<std::int64_t>(std::ceil(std::max(0.0, ps - slack)))};
}

}  // namespace

void set_split(CollectiveTime& time, LawSplit law, Bytes bytes) {
    const double flow = std::min(law.flow, law.total);
    time.delay = picoseconds(law.total - flow, law.total);
    if (bytes.value <= 0 || flow <= 0) {
        time.delay = picoseconds(law.total, law.total);
        time.alone = time.delay;
        time.cap = 0;
        return;
    }
    const Duration moving = std::max(picoseconds(flow, flow), Duration{1});
    time.alone = time.delay + moving;
    const auto ps = static_cast<double>(moving.count());
    time.cap = static_cast<double>(bytes.value) * kPerSecond / (ps - noise(ps));
}

std::int64_t weight_of(double flows, double load) {
    const double weight =
        std::round(static_cast<double>(kFlowWeight) * flows / std::max(load, 1.0 / (1 << 20)));
    return static_cast<std::int64_t>(std::max(1.0, weight));
}

}  // namespace memwall
