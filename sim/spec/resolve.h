#pragma once
// From what a scenario says to a plan in which nothing is left to default: degrees, micro-batches, the layout of the
// pipeline, the padded vocabulary, and every choice that the stack or another value decides. Checks legality on the way
// (glossary.md, "Legal configuration").
#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"
#include "sim/spec/plan.h"
#include "sim/spec/write.h"

namespace memwall {

// `plan` as read from `composed` (field table of Plan). Errors and warnings stand at the places of `composed`; values
// filled in are entered into `derivations`. The plan is complete only when no error was added, and none stands before it:
// after a name that leads nowhere the rules are checked that do not need it.
void resolve(Plan& plan,
             const DocNode& composed,
             Derivations& derivations,
             Diagnostics& diagnostics);

// What a model description leaves to be worked out: kv_heads, head_dim. False after an error.
bool complete_model(Model& model, const DocNode& document, Diagnostics& diagnostics);

}  // namespace memwall
