#include "sim/hardware/memory_bound.h"

#include "sim/core/check.h"
#include "sim/hardware/law.h"

namespace memwall {

double occupancy_rate(const std::vector<OccupancyPoint>& table, double threads) {
    OccupancyPoint below{};
    for (const OccupancyPoint& point : table) {
        if (threads < point.threads) {
            const double part = (threads - below.threads) / (point.threads - below.threads);
            return below.rate + part * (point.rate - below.rate);
        }
        below = point;
    }
    if (below.threads >= 1) {
        return below.rate;
    }
    const double part = (threads - below.threads) / (1 - below.threads);
    return below.rate + part * (1 - below.rate);
}

KernelBreakdown memory_bound_time(const Gpu& gpu,
                                  const MemoryBound& kernel,
                                  const KernelConditions& conditions) {
    MW_CHECK(kernel.bytes.value > 0, "memory-bound kernel: bytes must be positive");
    MW_CHECK(conditions.blocks >= 0,
             "memory-bound kernel: communication blocks must not be negative");
    MW_CHECK(conditions.blocks < gpu.sms,
             "memory-bound kernel: communication blocks must leave an SM of " + gpu.name);
    auto found = gpu.memory_kernels.find(kernel.kind);
    if (found == gpu.memory_kernels.end()) {
        found = gpu.memory_kernels.find(MemoryKind::Elementwise);
    }
    MW_CHECK(found != gpu.memory_kernels.end(), "no elementwise memory constants for " + gpu.name);
    const MemoryRates& rates = found->second;

    double rate = per_us(gpu.hbm) * rates.efficiency;
    if (conditions.blocks > 0) {
        rate *= occupancy_rate(gpu.occupancy,
                               static_cast<double>(gpu.sms - conditions.blocks) / gpu.sms);
    }
    const auto bytes = static_cast<double>(kernel.bytes.value);
    const double memory = bytes / rate;
    const double fixed = us_of(rates.fixed);
    const double total = fixed + memory;
    return {.duration = duration_from_us(total),
            .limit = memory >= fixed ? "memory" : "fixed",
            .memory = duration_from_us(memory),
            .fixed = duration_from_us(fixed),
            .efficiency = bytes / (total * per_us(gpu.hbm))};
}

}  // namespace memwall
