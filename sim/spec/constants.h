#pragma once
// What a run reads of the gpu and fabric files: datasheet values describe a card, the constants of its kernel and NCCL laws
// say what it reaches. Files without them can be listed, drawn and varied, but not run.
#include <string_view>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"
#include "sim/spec/plan.h"

namespace memwall {

// E0408 where constants contradict each other. E0401 with all keys that are missing, at the file that lacks them; for attention also where it is chosen.
void check_constants(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics);

// A shipped card of that architecture with every constant measured or derived; empty for others.
[[nodiscard]] std::string_view measured_card(std::string_view architecture);

}  // namespace memwall
