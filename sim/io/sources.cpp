#include "sim/io/sources.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/spec/law.h"
#include "sim/spec/names.h"

namespace memwall {
namespace {

struct Subtree {
    std::string_view prefix;  // in the composed scenario
    std::string_view shown;   // what a reader calls it
};

constexpr std::array<Subtree, 5> kSubtrees = {{
    {"machine.cluster.node.gpu.", "gpu"},
    {"machine.cluster.node.", "node"},
    {"machine.cluster.fabric.", "fabric"},
    {"machine.cluster.", "cluster"},
    {"stack.", "stack"},
}};

// Constants of number formats that the run does not use would only hide the others.
bool of_another_dtype(std::string_view path, Dtype used) {
    for (const Dtype dtype : {Dtype::Fp32,
                              Dtype::Tf32,
                              Dtype::Fp16,
                              Dtype::Bf16,
                              Dtype::Fp8,
                              Dtype::MxFp8,
                              Dtype::NvFp4}) {
        const bool sixteen_bits = (used == Dtype::Fp16 || used == Dtype::Bf16) &&
                                  (dtype == Dtype::Fp16 || dtype == Dtype::Bf16);
        if (dtype != used && !sixteen_bits &&
            path.find("." + std::string(name_of(dtype))) != std::string_view::npos) {
            return true;
        }
    }
    return false;
}

// An executed workload brings its times: of a GPU only what joins it to others counts.
bool of_kernels(std::string_view path) {
    constexpr std::string_view kGpu = "machine.cluster.node.gpu.";
    constexpr std::array<std::string_view, 11> kStarts = {"attention",
                                                          "flash2",
                                                          "gemm",
                                                          "hbm",
                                                          "l2",
                                                          "memory",
                                                          "occupancy",
                                                          "peak",
                                                          "sms",
                                                          "tdp",
                                                          "usable"};
    return path.starts_with(kGpu) &&
           std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) {
               return path.substr(kGpu.size()).starts_with(start);
           });
}

// What the collective law at hand does not read.
bool of_another_law(std::string_view path, const Machine& machine) {
    constexpr std::array<std::string_view, 2> kNccl = {"machine.cluster.node.gpu.nccl.",
                                                       "machine.cluster.fabric.nccl."};
    const bool latency =
        std::find(kLatencyKeys.begin(), kLatencyKeys.end(), path) != kLatencyKeys.end();
    // Closed forms take the channels from it: how many blocks of a GPU a collective holds.
    const bool nccl = !path.ends_with(".channels") &&
                      std::any_of(kNccl.begin(), kNccl.end(), [&](std::string_view start) {
                          return path.starts_with(start);
                      });
    return (latency && !reads_latencies(machine)) || (nccl && machine.law != CollectiveLaw::Nccl);
}

// Constants of one part with one citation share a line.
void add(std::vector<Assumption>& all,
         std::string_view part,
         std::string_view path,
         const std::string& citation) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Assumption& a) {
        return a.source == citation && a.what.starts_with(part);
    });
    if (same != all.end()) {
        same->what += ", " + std::string(path);
    } else {
        all.push_back({std::string(part) + " " + std::string(path), citation});
    }
}

}  // namespace

std::vector<Assumption> assumptions(const Plan& plan, const Provenance& provenance) {
    const bool executed = plan.jobs.front().is_executed();
    const Dtype used = plan.jobs.front().training.precision.compute;
    std::vector<Assumption> all;
    for (const Subtree& subtree : kSubtrees) {
        for (const auto& [path, citation] : provenance.sources) {
            if (!path.starts_with(subtree.prefix) || of_another_dtype(path, used) ||
                of_another_law(path, plan.machine) || (executed && of_kernels(path))) {
                continue;
            }
            const std::string_view rest = std::string_view(path).substr(subtree.prefix.size());
            const bool deeper = subtree.shown == "node" && rest.starts_with("gpu.");
            const bool elsewhere = subtree.shown == "cluster" &&
                                   (rest.starts_with("node.") || rest.starts_with("fabric."));
            if (!deeper && !elsewhere) {
                add(all, subtree.shown, rest, citation);
            }
        }
    }
    return all;
}

}  // namespace memwall
