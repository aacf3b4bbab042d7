// Allocated bytes move in issue order, so the peak follows from the program alone.
#include "sim/run/memory_curve.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

Op kernel() {
    return {};
}

// Two micro-batches: forward keeps 100 bytes and works with 50 more, backward frees the 100.
ProgramSet two_micro_batches() {
    ProgramSet set;
    set.labels = {"op"};
    Segment forward;
    forward.name = "forward";
    forward.ops = {kernel(), kernel()};
    forward.memory = {{TensorClass::Activations, 100, 0, 0},
                      {TensorClass::Recompute, 50, 1, 1},
                      {TensorClass::Recompute, -50, 1, 2}};
    Segment backward;
    backward.name = "backward";
    backward.ops = {kernel()};
    backward.memory = {{TensorClass::Activations, -100, 0, 1}};
    set.segments = {forward, backward};
    Program program;
    for (const int segment : {0, 0, 1, 1}) {
        Item item;
        item.index = static_cast<std::uint32_t>(segment);
        item.micro_batch = static_cast<int>(program.items.size()) % 2;
        program.items.push_back(item);
    }
    program.resident = {{TensorClass::Parameters, 1000, 2, 0}, {TensorClass::Context, 7, 3, 0}};
    set.programs = {program};
    return set;
}

Job job_with(double reserved_over_dynamic) {
    Job job;
    job.stack.memory.reserved_over_dynamic = reserved_over_dynamic;
    return job;
}

}  // namespace

TEST_CASE("the peak is where most is live, with its composition and its place") {
    const MemoryPeak peak = memory_peaks(two_micro_batches(), job_with(0.5), 0).front();
    CHECK(peak.allocated == 1000 + 2 * 100 + 50);
    CHECK(peak.composition[static_cast<std::size_t>(TensorClass::Activations)] == 200);
    CHECK(peak.composition[static_cast<std::size_t>(TensorClass::Recompute)] == 50);
    CHECK(peak.item == 1);
    CHECK(peak.where == "forward, micro-batch 1, op");
    CHECK(peak.left_over == 0);
}

TEST_CASE("the context is outside the allocator") {
    const MemoryPeak peak = memory_peaks(two_micro_batches(), job_with(0.5), 0).front();
    // reserved = allocated + half of the dynamic part (250)
    CHECK(peak.reserved == 1250 + 125);
    CHECK(peak.device == peak.reserved + 7);
}

TEST_CASE("without a ratio the caching allocator is replayed") {
    const MemoryPeak peak = memory_peaks(two_micro_batches(), job_with(0), 0).front();
    CHECK(peak.reserved == 2 << 20);  // one segment of the small pool
}

TEST_CASE("bytes that a step leaves behind are said, and live in the steady step") {
    ProgramSet set = two_micro_batches();
    set.segments[1].memory.clear();
    const MemoryPeak peak = memory_peaks(set, job_with(0.5), 0).front();
    CHECK(peak.left_over == 200);
    CHECK(peak.allocated == 1000 + 4 * 100 + 50);
}

TEST_CASE("a program that moves no memory peaks at what is resident") {
    ProgramSet set = two_micro_batches();
    set.programs[0].items.clear();
    const MemoryPeak peak = memory_peaks(set, job_with(0.5), 0).front();
    CHECK(peak.allocated == 1000);
    CHECK(peak.where.empty());
}
