// The timeline of a pipeline of four stages as a viewer reads it.
#include "sim/io/chrome_trace.h"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sim/io/load.h"
#include "sim/run/simulate.h"

using namespace memwall;

namespace {

using Json = nlohmann::json;

const std::string kRoot = MEMWALL_SOURCE_DIR;

struct Traced {
    Loaded loaded;
    SimulationParts parts;
    RunResult result;
    Json events;

    Traced(const std::vector<std::string>& sets, const std::vector<std::uint32_t>& ranks) {
        DiskFiles files;
        DataSource source(files, {kRoot});
        Diagnostics diagnostics;
        auto read = load_scenario("gpt2-8xa100", sets, source, diagnostics);
        REQUIRE(read);
        loaded = std::move(*read);
        SimulateOptions options;
        options.timeline_ranks = ranks;
        result = simulate(loaded.plan, options, &parts);
        const Json document =
            Json::parse(chrome_trace(result, parts.programs.front(), loaded.plan));  // strict
        CHECK(document["otherData"]["scenario"] == "gpt2-8xa100");
        events = document["traceEvents"];
    }

    [[nodiscard]] std::string process(int rank) const {
        for (const Json& e : events) {
            if (e["name"] == "process_name" && e["pid"] == rank) {
                return e["args"]["name"];
            }
        }
        return "";
    }
};

// Three layers per stage, dp 2; everything but a straggler folds into one rank of each stage.
const std::vector<std::string> kPipeline = {
    "parallel={dp: 2, pp: 4}", "batch={global: 16, micro: 1}", "stack=megatron-lm-2025"};

constexpr int kHost = 12;

}  // namespace

TEST_CASE("a process says which rank it is, of which stage, and for how many it stands") {
    const Traced folded(kPipeline, {0, 2, 6});
    CHECK(folded.process(0) == "rank 0 \u00b7 stage 0 \u00b7 stands for 2 ranks");
    CHECK(folded.process(2) == "rank 2 \u00b7 stage 1 \u00b7 stands for 2 ranks");
    CHECK(folded.process(6) == "rank 6 \u00b7 stage 3 \u00b7 stands for 2 ranks");
    std::vector<std::string> sets = kPipeline;
    sets.emplace_back("run.fold=false");
    CHECK(Traced(sets, {6}).process(6) == "rank 6 \u00b7 stage 3");
}

TEST_CASE("slices of one thread do not overlap, and no op starts before its host has issued it") {
    const Traced traced(kPipeline, {0, 2, 4, 6});
    // As viewers see it: in doubles of microseconds, exactly, counted from any instant.
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
    std::map<int, std::int64_t> launches;
    for (const Json& e : traced.events) {
        if (e["ph"] == "X") {
            const double start = e["ts"];
            threads[{e["pid"], e["tid"]}].emplace_back(start, start + e["dur"].get<double>());
            launches[e["tid"] == kHost] += 1;
        }
    }
    CHECK(threads.size() > 8);
    CHECK(launches[1] == launches[0]);  // every op has been launched
    for (auto& [thread, slices] : threads) {
        CAPTURE(thread.first);
        CAPTURE(thread.second);
        std::sort(slices.begin(), slices.end());
        for (std::size_t i = 1; i < slices.size(); ++i) {
            const auto& [start, end] = slices[i - 1];
            CHECK(end <= slices[i].first);
            const double first = slices.front().first;
            CHECK((start - first) + (end - start) <= slices[i].first - first);
        }
    }
    for (const TimelineEntry& e : traced.result.timeline) {
        CHECK(e.issued <= e.start);
        CHECK(e.start <= e.end);
    }
}

TEST_CASE("a slice names its layer in the model, its micro-batch, its work and its rate") {
    const Traced traced(kPipeline, {0, 2, 4, 6});
    std::map<int, std::set<int>> layers;  // by rank
    std::set<int> micro_batches;
    int products = 0;
    int sends = 0;
    for (const Json& e : traced.events) {
        if (e["ph"] != "X" || e["tid"] == kHost) {
            continue;
        }
        const Json& args = e["args"];
        CHECK_FALSE(args["work"].get<std::string>().empty());
        if (args.contains("micro_batch")) {
            micro_batches.insert(args["micro_batch"].get<int>());
        }
        if (args.contains("layer")) {
            const int layer = args["layer"];
            layers[e["pid"]].insert(layer);
            CHECK(e["name"].get<std::string>().starts_with("L" + std::to_string(layer) + " "));
            CHECK((args["pass"] == "forward" || args["pass"] == "backward"));
        }
        if (args["work"].get<std::string>().starts_with("gemm 1024 x 3072 x 768 ")) {
            ++products;
            const double flops = 2.0 * 1024 * 3072 * 768;
            CHECK(args["flops"] == flops);
            CHECK(args["TFLOP/s"].get<double>() ==
                  doctest::Approx(flops / e["dur"].get<double>() / 1e6).epsilon(1e-3));
        }
        if (args["work"].get<std::string>().starts_with("send activation to stage")) {
            ++sends;
            CHECK(args["bytes"].get<std::int64_t>() > 0);
        }
    }
    CHECK(layers == std::map<int, std::set<int>>{
                        {0, {0, 1, 2}}, {2, {3, 4, 5}}, {4, {6, 7, 8}}, {6, {9, 10, 11}}});
    CHECK(micro_batches == std::set<int>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(products > 0);
    CHECK(sends > 0);
}

TEST_CASE("a counter of memory is written when it changes, and for classes that are used") {
    const Traced traced(kPipeline, {0});
    std::map<std::string, std::string> before;
    int samples = 0;
    for (const Json& e : traced.events) {
        if (e["ph"] == "C") {
            ++samples;
            CHECK(e["args"].dump() != before[e["name"]]);
            before[e["name"]] = e["args"].dump();
            CHECK_FALSE(e["args"].contains("gathered_shards"));
        }
    }
    CHECK(samples > 10);
    CHECK(before.size() == 2);
}
