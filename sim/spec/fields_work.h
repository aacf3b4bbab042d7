#pragma once
// Field tables of the work: model, strategy, training policy, software stack, and of the scenario as a whole.
#include "sim/spec/fields.h"
#include "sim/spec/plan.h"

namespace memwall {

void describe(Fields& f, Mla& v);
void describe(Fields& f, Moe& v);
void describe(Fields& f, Model& v);

void describe(Fields& f, StackHost& v);
void describe(Fields& f, StackKernels& v);
void describe(Fields& f, OptimizerPasses& v);
void describe(Fields& f, StackOverlap& v);
void describe(Fields& f, StackInterference& v);
void describe(Fields& f, StackRates& v);
void describe(Fields& f, StackMemory& v);
void describe(Fields& f, Stack& v);

void describe(Fields& f, Batch& v);
void describe(Fields& f, Sharding& v);
void describe(Fields& f, Gradients& v);
void describe(Fields& f, Parallel& v);
void describe(Fields& f, Precision& v);
void describe(Fields& f, Training& v);

void describe(Fields& f, RunOptions& v);
void describe(Fields& f, Published& v);

// A scenario: the layout of its file, bound onto a plan whose derived parts are not filled in. plan.jobs must not be empty.
void describe(Fields& f, Plan& v);

}  // namespace memwall
