#pragma once
// A small hand-made workload trace and job for the tests of this room, and a replay of programs with unit times.
#include <map>
#include <string>
#include <vector>

#include "sim/model/trace.h"
#include "sim/parallel/lower.h"
#include "sim/spec/plan.h"

namespace memwall::test {

inline constexpr std::int64_t kHidden = 64;
inline constexpr std::int64_t kTokens = 128;
inline constexpr std::int64_t kVocabulary = 512;
inline constexpr std::int64_t kBoundary = 2 * kTokens * kHidden;

// Embedding, `layers` layers of attention projection + MLP (column- and row-parallel), head with loss.
WorkloadTrace tiny_trace(int layers);

struct Shape {
    int tp = 1, pp = 1, vpp = 1, dp = 1, m = 1;
    int layers_per_chunk = 1;
};
// Legal, no host times, no overlap.
Job tiny_job(const Shape& shape);
WorkloadTrace trace_of(const Shape& shape);

// What one step of all stages does, from the programs alone.
struct Totals {
    double flops = 0;            // all stages, one tp and dp rank
    double recompute_flops = 0;  // of flops: replayed
    // Bytes handed to collectives by (role, kind), all stages.
    std::map<std::pair<GroupRole, CollectiveKind>, std::int64_t> collective_bytes;
    std::map<std::pair<GroupRole, CollectiveKind>, int> collective_calls;
    std::int64_t sent = 0;
    std::int64_t received = 0;
};
Totals totals(const ProgramSet& set);

// FLOPs of one micro-batch of the whole, unsharded trace: forward and backward.
double forward_flops(const WorkloadTrace& trace);
double step_flops(const WorkloadTrace& trace, int micro_batches);

struct MemoryWalk {
    std::vector<std::int64_t> left;  // per stage: bytes live after the step, resident not counted
    std::vector<std::int64_t> peak;  // per stage: highest sum of dynamic bytes
    std::vector<std::string>
        errors;  // frees without allocation, double allocations, wrong size or class
};
MemoryWalk walk_memory(const ProgramSet& set);

// Plays the programs of all stages twice, every op one unit of time. Returns what is wrong: a deadlock, an op that waits for
// a slot not yet issued in program order is in the past by definition. `step_time` is the end of the second step minus that of the first.
struct Play {
    std::vector<std::string> errors;
    std::int64_t step_time = 0;
};
// kernel, transfer: duration of each kind of op; a segment counts its kernels.
Play play(const ProgramSet& set, std::int64_t kernel, std::int64_t transfer);

}  // namespace memwall::test
