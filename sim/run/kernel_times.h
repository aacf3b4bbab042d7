#pragma once
// Durations of all kernels, by kind of device and number of resident communication blocks. The block counts that occur are
// few; a column of the table is computed when its count is first met.
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/run/code.h"

namespace memwall {

class KernelTimes {
  public:
    // duration(kind, kernel, blocks)
    using Law = std::function<Duration(std::uint32_t, std::uint32_t, int)>;

    KernelTimes() = default;
    KernelTimes(std::uint32_t kinds, std::uint32_t kernels, Law law);

    // By kernel.
    [[nodiscard]] const Ps* column(std::uint32_t kind, int blocks) {
        const auto b = static_cast<std::size_t>(blocks);
        if (b >= offsets_[kind].size() || offsets_[kind][b] == kNone32) {
            compute(kind, b);
        }
        return durations_[offsets_[kind][b]].data();
    }

  private:
    void compute(std::uint32_t kind, std::size_t blocks);

    std::uint32_t kernels_ = 0;
    Law law_;
    std::vector<std::vector<std::uint32_t>> offsets_;  // [kind][blocks] -> durations_
    std::vector<std::vector<Ps>> durations_;
};

}  // namespace memwall
