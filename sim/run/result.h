#pragma once
// The facts that a simulation returns. sim/analyze turns them into metrics.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/parallel/program.h"
#include "sim/spec/memory_class.h"

namespace memwall {

// Labels of the breakdown (glossary.md), in integer picoseconds; they sum to the measured step exactly, per rank.
struct Breakdown {
    Duration compute{};
    Duration recompute{};
    Duration optimizer{};
    std::array<Duration, kCategories> exposed{};  // by kind of communication
    Duration bubble{};
    Duration imbalance{};
    Duration host{};
    Duration idle{};
    Duration
        interference{};  // part of compute, recompute, optimizer: growth through communication beside it
    [[nodiscard]] Duration sum() const;  // without interference
    void add(const Breakdown& other, std::int64_t times);
    Breakdown& operator+=(const Breakdown& other) {
        add(other, 1);
        return *this;
    }
};

using TensorBytes = std::array<std::int64_t, kTensorClasses>;

struct MemoryPeak {
    std::int64_t allocated = 0;  // bytes
    std::int64_t reserved = 0;
    std::int64_t device = 0;
    TensorBytes composition{};  // at the instant of the allocated peak
    std::uint32_t item = 0;     // program item at whose issue it is reached
    std::int64_t left_over =
        0;              // bytes live after a step that were not before it; 0 in a steady step
    std::string where;  // "backward chunk 2, micro-batch 0, head loss"
};

// Outside the allocator: CUDA context, NCCL, driver. device = reserved + context.
[[nodiscard]] std::int64_t context_bytes(const MemoryPeak& peak);

// Ranks proven to behave identically.
struct RankClass {
    std::uint32_t program = 0;         // = stage
    std::uint32_t representative = 0;  // lowest rank
    std::uint64_t multiplicity = 0;
    Breakdown breakdown;       // of the measured step
    Duration communication{};  // union of all transfers in progress on the rank, measured step
    Time finished{};           // last op of the measured step
};

struct LinkLoad {
    std::uint32_t link = 0;  // representative link
    std::uint64_t multiplicity = 1;
    double bytes = 0;        // per link, in the measured step
    double utilisation = 0;  // mean over the measured step
};

struct TimelineEntry {
    std::uint32_t rank = 0;
    OpKind kind = OpKind::Compute;
    Stream stream = Stream::Compute;
    Category category = Category::Compute;
    std::uint32_t work = 0;   // as Op::work
    std::uint32_t label = 0;  // ProgramSet::labels
    std::int32_t micro_batch = -1;
    std::int16_t chunk = -1;
    bool backward = false;
    Duration host{};  // that it took to issue it,
    Time issued{};    // up to here
    Time start{};
    Time end{};
};

// A rank of the timeline, and whom it stands for.
struct TimelineRank {
    std::uint32_t rank = 0;
    std::uint32_t rank_class = 0;  // of RunResult::classes
};

// Live bytes by class at an instant of GPU time, for the memory counters of a timeline.
struct MemorySample {
    std::uint32_t rank = 0;
    Time at{};
    TensorBytes bytes{};
};

struct BlockedRank {
    std::uint32_t rank = 0;
    std::string op;
    std::string waits_for;
};

struct RunResult {
    std::vector<Time> step_ends;  // end of each simulated step
    std::vector<RankClass> classes;
    std::vector<MemoryPeak> memory;  // per program
    std::vector<LinkLoad> links;
    std::vector<TimelineEntry> timeline;        // when asked for
    std::vector<TimelineRank> timeline_ranks;   // of it
    std::vector<MemorySample> memory_timeline;  // of the same ranks
    std::uint64_t ranks = 0;
    std::uint64_t events = 0;  // retirements
    std::uint64_t ops = 0;     // ops of the first job that they stand for, in the folded programs
    std::uint64_t signature =
        0;  // hash over step ends, breakdowns and peaks, independent of folding and coalescing
    std::string
        refused;  // not empty: why the plan cannot run as asked (an algorithm named for a group it does not fit)
    std::vector<BlockedRank> deadlock;  // not empty: the programs cannot finish
};

}  // namespace memwall
