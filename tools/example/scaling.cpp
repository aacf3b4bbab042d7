// How a training step scales: the same scenario with the data-parallel degree doubled again and again, the global batch with
// it (weak scaling). Usage: scaling SCENARIO DATA_ROOT
#include <cstdio>
#include <string>
#include <vector>

#include "sim/analyze/metrics.h"
#include "sim/core/rendering.h"
#include "sim/io/load.h"
#include "sim/run/simulate.h"

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: scaling SCENARIO DATA_ROOT\n", stderr);
        return 2;
    }
    memwall::DiskFiles files;
    memwall::DataSource data(files, {argv[2]});
    std::puts("   GPUs   step (s)   tokens/s per GPU");
    for (int doublings = 0; doublings < 4; ++doublings) {
        memwall::Diagnostics diagnostics;
        auto loaded = memwall::load_scenario(argv[1], {}, data, diagnostics);
        if (!loaded) {
            std::fputs(memwall::render(diagnostics, nullptr).c_str(), stderr);
            return 2;
        }
        const memwall::Job& job = loaded->plan.jobs.front();
        const int factor = 1 << doublings;
        const std::vector<std::string> sets = {
            "machine.nodes=" + std::to_string(loaded->plan.machine.nodes * factor),
            "batch.global=" + std::to_string(job.batch.global * factor),
        };
        const auto grown = memwall::load_scenario(argv[1], sets, data, diagnostics);
        if (!grown) {
            std::fputs(memwall::render(diagnostics, nullptr).c_str(), stderr);
            return 2;
        }
        memwall::SimulationParts parts;
        const memwall::RunResult result = memwall::simulate(grown->plan, {}, &parts);
        const memwall::Fabric fabric(grown->plan.machine);
        const memwall::Metrics metrics = memwall::measure(
            {grown->plan, parts.traces.front(), parts.programs.front(), fabric, result});
        std::printf("%7llu %10.3f %18.1f\n",
                    static_cast<unsigned long long>(metrics.gpus),
                    memwall::to_seconds(metrics.step_time),
                    metrics.tokens_per_s_per_gpu);
    }
    return 0;
}
