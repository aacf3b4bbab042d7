// Any bytes as a small legal plan (random_scenario.h): folded and coalesced, it gives what every op of every rank gives on
// its own, to the picosecond; times add up; no link carries more than it can. The scenario is printed before the abort.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/core/rendering.h"
#include "sim/io/load.h"
#include "sim/run/simulate.h"
#include "sim/spec/supported.h"
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/random_scenario.h"

using namespace memwall;

namespace {

struct Input {
    const std::string& text;
    const Plan& plan;
};

void expect(bool holds, const Input& input, std::string_view what) {
    if (!holds) {
        fmt::print(stderr, "{}\n---- this does not hold: {}\n", input.text, what);
        std::abort();
    }
}

RunResult run(const Input& input, bool fold, bool coalesce) {
    Plan plan = input.plan;
    plan.run.fold = fold;
    plan.run.coalesce = coalesce;
    return simulate(plan);
}

// Rates are shared by all transfers on a link only where the fidelity says so.
bool shares_links(const Plan& plan) {
    return plan.machine.fidelity == Fidelity::Fluid || plan.machine.fidelity == Fidelity::Stepwise;
}

double bytes_on_links(const RunResult& result) {
    double sum = 0;
    for (const LinkLoad& link : result.links) {
        sum += link.bytes * static_cast<double>(link.multiplicity);
    }
    return sum;
}

void check_one(const RunResult& result, const Input& input) {
    const std::size_t steps = result.step_ends.size();
    expect(steps == static_cast<std::size_t>(input.plan.run.steps), input, "all steps are run");
    const Duration step =
        result.step_ends.back() - (steps > 1 ? result.step_ends[steps - 2] : Time{});
    std::uint64_t ranks = 0;
    for (const RankClass& c : result.classes) {
        expect(c.breakdown.sum() == step, input, "the breakdown of a rank sums to the step");
        expect(c.communication >= Duration{} && c.communication <= step,
               input,
               "communication is within the step");
        ranks += c.multiplicity;
    }
    expect(ranks == result.ranks, input, "every rank is in one class");
    for (const LinkLoad& link : result.links) {
        expect(std::isfinite(link.utilisation) &&
                   (link.utilisation <= 1 + 1e-6 || !shares_links(input.plan)),
               input,
               fmt::format("link {} is used {} of the time", link.link, link.utilisation));
    }
    for (const MemoryPeak& peak : result.memory) {
        expect(peak.allocated >= 0 && peak.reserved >= peak.allocated &&
                   peak.device >= peak.reserved && peak.left_over == 0,
               input,
               "allocated <= reserved <= device, and a step leaves nothing behind");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static MemoryFiles files = testing::read_data();
    static DataSource source(files, {""});
    const std::string text = testing::random_scenario({data, size});
    Diagnostics diagnostics;
    const std::optional<Loaded> loaded =
        load_scenario_text("f.yaml", text, {}, source, diagnostics);
    if (!loaded || !check_supported(loaded->plan, loaded->composed, diagnostics)) {
        if (std::getenv("MEMWALL_FUZZ_SHOW") != nullptr) {
            for (const Diagnostic& problem : diagnostics.sorted()) {
                fmt::print(stderr, "{}: {}\n", to_text(problem.place), problem.text);
            }
        }
        return -1;  // not a plan: not worth keeping
    }
    const Input input{text, loaded->plan};
    const RunResult fast = run(input, true, true);
    const RunResult reference = run(input, false, false);
    expect(fast.refused == reference.refused, input, "both are refused for the same reason");
    if (!fast.refused.empty()) {
        return 0;
    }
    expect(fast.deadlock.empty() && reference.deadlock.empty(), input, "programs finish");
    check_one(fast, input);
    check_one(reference, input);
    expect(fast.step_ends == reference.step_ends, input, "steps end at the same instants");
    expect(fast.signature == reference.signature, input, "signatures are equal");
    const double bytes = bytes_on_links(reference);
    expect(input.plan.jobs.size() > 1 || std::abs(bytes_on_links(fast) - bytes) <= 1e-6 * bytes,
           input,
           fmt::format("links carry {} bytes, not {}", bytes, bytes_on_links(fast)));
    const bool fold = size % 2 == 0;
    expect(run(input, fold, !fold).signature == reference.signature,
           input,
           fold ? "folding alone changes nothing" : "coalescing alone changes nothing");
    return 0;
}
