#pragma once
// The report as a person reads it in a terminal.
#include <string>

#include "sim/io/report.h"
#include "sim/io/text_style.h"

namespace memwall {

// --quiet prints the main figures only; --all-stages the memory of every stage, however many.
enum class Detail : unsigned char { Figures, Whole, AllStages };

[[nodiscard]] std::string report_text(const Report& report,
                                      const TextStyle& style,
                                      Detail detail = Detail::Whole);

}  // namespace memwall
