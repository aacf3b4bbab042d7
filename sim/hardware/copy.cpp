#include "sim/hardware/copy.h"

#include "sim/core/check.h"
#include "sim/hardware/law.h"

namespace memwall {

KernelBreakdown copy_time(const Gpu& gpu, const Copy& copy) {
    MW_CHECK(copy.bytes.value > 0, "copy: bytes must be positive");
    const auto bytes = static_cast<double>(copy.bytes.value);
    const double link = bytes / (per_us(gpu.pcie) * gpu.pcie_efficiency);
    const double fixed = us_of(gpu.pcie_fixed);
    const double total = fixed + link;
    return {.duration = duration_from_us(total),
            .limit = link >= fixed ? "host link" : "fixed",
            .memory = duration_from_us(link),
            .fixed = duration_from_us(fixed),
            .efficiency = bytes / (total * per_us(gpu.pcie))};
}

}  // namespace memwall
