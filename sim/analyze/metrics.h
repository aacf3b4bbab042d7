#pragma once
// The metrics of one run, each with the one meaning of the glossary (README, "Metrics").
//
//   MFU = F_model / (T n peak),  HFU = F_hw / (T n peak), F_hw = F_model + forward products executed again
//   hfu_executed = F_executed / (T n peak): never above 1, while a convention that counts masked scores may take HFU there
//   peak: dense datasheet rate in the precision of most matrix products; the three F: sim/analyze/flops.h
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analyze/breakdown.h"
#include "sim/analyze/fit.h"
#include "sim/core/units.h"
#include "sim/model/trace.h"
#include "sim/network/fabric.h"
#include "sim/parallel/program.h"
#include "sim/run/result.h"
#include "sim/spec/plan.h"

namespace memwall {

// Everything a measurement is made of.
struct RunFacts {
    const Plan& plan;
    const WorkloadTrace& trace;
    const ProgramSet& programs;
    const Fabric& fabric;
    const RunResult& result;
};

struct SelfCheck {
    std::string what;
    bool holds = true;
    std::string detail;
};

struct Metrics {
    bool executed =
        false;  // an executed workload: no tokens, FLOPs or tensors, and no figure made of them
    std::uint64_t gpus = 0;  // of the measured job
    Duration step_time{};    // T: the second, steady step
    Duration first_step_time{};
    double tokens_per_step = 0;
    double tokens_per_s_per_gpu = 0;
    Flops model_flops;
    Flops hardware_flops;
    Flops executed_flops;
    FlopRate peak;
    double tflops_per_gpu = 0;
    double tflops_per_gpu_hardware = 0;
    double mfu = 0;
    double mfu_bf16 = 0;
    double hfu = 0;
    double hfu_executed = 0;
    std::int64_t peak_memory_bytes = 0;  // allocated, max over stages
    std::int64_t peak_reserved_bytes = 0;
    std::int64_t peak_device_bytes = 0;
    std::vector<BreakdownLine> breakdown;
    Duration interference{};   // mean over ranks; part of compute, recompute and optimizer
    Duration communication{};  // mean total communication
    Duration exposed{};        // mean exposed communication
    double bubble_fraction = 0;
    std::vector<StageMemory> stages;
    FitVerdict fit;
    std::string limit;  // what limits the step, one sentence
    std::vector<SelfCheck> checks;
};

[[nodiscard]] Metrics measure(const RunFacts& facts);

// A figure by its --json name, in the unit that the name states; ok is false when this run has no such figure.
struct FigureValue {
    double value = 0;
    bool ok = false;
};
[[nodiscard]] FigureValue figure(const Metrics& metrics, std::string_view name);
[[nodiscard]] const std::vector<std::string_view>& measured_figures();
// Figures made of times alone: the only ones of an executed workload.
[[nodiscard]] bool is_known_of_executed(std::string_view name);

}  // namespace memwall
