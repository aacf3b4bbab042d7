#pragma once
// A calibration for a person and for a script.
#include <string>

#include "sim/calibration/calibrate.h"

namespace memwall {

[[nodiscard]] std::string calibration_text(const Calibration& calibration);
[[nodiscard]] std::string calibration_json(const Calibration& calibration);

}  // namespace memwall
