#include "sim/run/kernel_times.h"

#include <utility>

namespace memwall {

KernelTimes::KernelTimes(std::uint32_t kinds, std::uint32_t kernels, Law law)
    : kernels_(kernels), law_(std::move(law)), offsets_(kinds) {}

void KernelTimes::compute(std::uint32_t kind, std::size_t blocks) {
    auto& offsets = offsets_[kind];
    if (blocks >= offsets.size()) {
        offsets.resize(blocks + 1, kNone32);
    }
    offsets[blocks] = static_cast<std::uint32_t>(durations_.size());
    std::vector<Ps> column;
    column.reserve(kernels_);
    for (std::uint32_t k = 0; k < kernels_; ++k) {
        column.push_back(law_(kind, k, static_cast<int>(blocks)).count());
    }
    durations_.push_back(std::move(column));
}

}  // namespace memwall
