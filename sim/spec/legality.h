#pragma once
// The rules that make a configuration legal, one function per topic. Each reports at the value's place, with a note at
// the other culprit and a hint that names legal values.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"
#include "sim/spec/plan.h"

namespace memwall {

// A job under check: the part of the composed scenario that describes it.
struct JobCheck {
    const Job& job;
    const Machine& machine;
    const DocNode& document;
    Diagnostics& diagnostics;
    // False after a name that leads nowhere: what follows from that part is not checked.
    bool machine_known = true;
    bool model_known = true;
    bool stack_known = true;

    // Place of a key, or of the nearest part of it that is there.
    [[nodiscard]] Place at(std::string_view path) const;
    Diagnostic& error(const char* code, std::string_view path, std::string text) const;
    Diagnostic& warning(const char* code, std::string_view path, std::string text) const;
};
[[nodiscard]] Place place_at(const DocNode& document, std::string_view path);
// False below a name that leads nowhere, which has been reported.
[[nodiscard]] bool is_known(const DocNode& document, std::string_view path);

void check_sizes(const JobCheck& check);
// Gradient buckets beyond what is simulated; `stage_gradients`: on one rank of the fullest stage.
void check_buckets(const JobCheck& check, double stage_gradients);
[[nodiscard]] double stage_gradients(const Job& job);
void check_tensor_parallel(const JobCheck& check);
// Tensor-parallel groups whose GPUs NVLink does not join.
void warn_beyond_nvlink(const JobCheck& check);
void check_context_parallel(const JobCheck& check);
void check_recipe(const JobCheck& check);
void check_experts(const JobCheck& check);
void check_expert_ranks(const JobCheck& check);
void check_schedule(const JobCheck& check);
void check_rounds(const JobCheck& check);  // of micro-batches, when their number is known
void check_recompute(const JobCheck& check);
void warn_shapes(const JobCheck& check);
void check_placement(const Plan& plan, const DocNode& composed, Diagnostics& diagnostics);

// "1, 2, 3, 4, 6, 8, 12": the divisors of n up to `limit`, at most a dozen.
[[nodiscard]] std::string divisors_of(std::int64_t n, std::int64_t limit);
// a x b, at most the largest integer.
[[nodiscard]] std::int64_t product(std::int64_t a, std::int64_t b);

}  // namespace memwall
