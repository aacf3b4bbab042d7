#pragma once
// Tables that the laws themselves made, with other constants than those of the shipped files.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/calibration/calibrate.h"

namespace memwall::testing {

// The data of the source tree, with files in front of it that exist in memory only.
class LayeredFiles : public Files {
  public:
    MemoryFiles front;

    FileContent read(const std::string& path, std::size_t bytes_max) override;
    std::vector<std::string> list(const std::string& directory) override;
    FileStatus status(const std::string& path) override;

  private:
    DiskFiles disk_;
};

// True constants: sets on h100-80g-sxm. Times are multiplied by noise(index).
using Noise = std::function<double(std::size_t)>;
[[nodiscard]] Table gemm_table(const Gpu& truth, const Noise& noise = {});
[[nodiscard]] Table all_gather_table(const Gpu& truth, const std::vector<int>& gpus);
[[nodiscard]] Table all_reduce_table(const Gpu& truth, const std::vector<int>& gpus);

// h100-80g-sxm with some constants of gemm.bf16 and nccl changed.
[[nodiscard]] Gpu true_gpu();

// exp(size * a normal draw).
[[nodiscard]] Noise lognormal(double size, std::uint64_t seed);

[[nodiscard]] CalibrateOptions options_for(const std::string& gpu, std::vector<std::string> fit);
[[nodiscard]] Calibration calibrated(const std::vector<Table>& tables,
                                     const CalibrateOptions& options);
[[nodiscard]] const FittedConstant& constant(const Calibration& calibration,
                                             const std::string& path);

}  // namespace memwall::testing
