#include "sim/hardware/measured.h"

#include "sim/core/check.h"
#include "sim/hardware/law.h"

namespace memwall {

KernelBreakdown measured_time(const Gpu& gpu,
                              const Measured& kernel,
                              const KernelConditions& conditions) {
    // No time is a measurement too: an op of an executed trace that only waits.
    MW_CHECK(kernel.duration.count() >= 0, "measured kernel: duration must not be negative");
    MW_CHECK(conditions.blocks >= 0, "measured kernel: communication blocks must not be negative");
    MW_CHECK(conditions.blocks < gpu.sms,
             "measured kernel: communication blocks must leave an SM of " + gpu.name);
    Duration duration = kernel.duration;
    if (kernel.flops.value > 0 && conditions.blocks > 0) {
        duration = duration_from_us(us_of(duration) * gpu.sms /
                                    static_cast<double>(gpu.sms - conditions.blocks));
    }
    const bool computes = kernel.flops.value > 0;
    return {.duration = duration,
            .limit = "measured",
            .compute = computes ? duration : Duration{},
            .memory = computes ? Duration{} : duration};
}

}  // namespace memwall
