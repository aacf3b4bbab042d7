#pragma once
// A calibration as a GPU or stack file: `base:` and the constants that were fitted, each with its source.
#include <string>

#include "sim/calibration/calibrate.h"

namespace memwall {

struct OverlayRequest {
    std::string name;  // of the file, without its suffix
    std::string base;  // a name, or a path relative to the file
};

// What kept its value is not in the file but in its comments, with the reason. A list of the base (rates of a stack) is
// written in full, since a list replaces the list it overrides.
[[nodiscard]] std::string overlay_yaml(const Calibration& calibration,
                                       const OverlayRequest& request);

}  // namespace memwall
