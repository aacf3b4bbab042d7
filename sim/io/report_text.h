#pragma once
// The report as a person reads it in a terminal.
#include <string>

#include "sim/io/report.h"
#include "sim/io/text_style.h"

namespace memwall {

enum class Detail : unsigned char { Figures, Whole };  // --quiet prints the main figures only

[[nodiscard]] std::string report_text(const Report& report,
                                      const TextStyle& style,
                                      Detail detail = Detail::Whole);

}  // namespace memwall
