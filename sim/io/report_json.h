#pragma once
// The report as one JSON document. Names end with the unit; times in s, memory in B, rates per s.
#include <string>

#include "sim/io/report.h"

namespace memwall {

[[nodiscard]] std::string report_json(const Report& report);

}  // namespace memwall
