// Whatever the report prints can be asked for: every label of the text and every key of the JSON has an explanation.
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sim/analyze/explanation.h"
#include "sim/io/report_json.h"
#include "sim/io/report_text.h"

using namespace memwall;

namespace {

void collect(const nlohmann::json& value, std::set<std::string>& keys) {
    if (!value.is_structured()) {
        return;
    }
    for (const auto& [key, inner] : value.items()) {
        if (value.is_object()) {
            keys.insert(key);
        }
        collect(inner, keys);
    }
}

// A report in which no part is empty.
struct Full {
    Plan plan;
    Metrics metrics;
    RunResult result;

    explicit Full(bool executed) {
        plan.machine.stragglers = {{0, 0.1}};
        plan.machine.link_events = {{"node0/nic0->network", 0.5}};
        plan.jobs.resize(2);
        plan.jobs.front().astra_file = executed ? "work.txt" : "";
        StageMemory stage;
        for (std::int64_t& bytes : stage.peak.composition) {
            bytes = std::int64_t{1} << 30;
        }
        metrics.stages = {stage};
        metrics.executed = executed;
        metrics.step_time = Duration(1'000'000);
        metrics.hardware_flops = Flops(2);
        metrics.executed_flops = Flops(1);
        // Every label, none of them zero.
        RankClass rank;
        rank.multiplicity = 1;
        Breakdown& b = rank.breakdown;
        for (Duration* d :
             {&b.compute, &b.recompute, &b.optimizer, &b.bubble, &b.imbalance, &b.host, &b.idle}) {
            *d = Duration(1);
        }
        b.exposed.fill(Duration(1));
        metrics.breakdown = breakdown_lines({rank}, b.sum());
        metrics.checks = {{"x", true, "y"}};
    }
    [[nodiscard]] Report report() const {
        return {plan,
                metrics,
                result,
                {{"x", "y"}},
                {Diagnostic{}},
                {{"x", "mfu", 1, true}},
                {{"mfu", 1, 1, true, "x"}}};
    }
};

bool known(const std::string& name) {
    return !explain(name, nullptr, nullptr).meaning.empty();
}

}  // namespace

TEST_CASE("every key of the JSON report is explained") {
    for (const bool executed : {false, true}) {
        const Full full(executed);
        std::set<std::string> keys;
        collect(nlohmann::json::parse(report_json(full.report())), keys);
        CHECK(keys.size() > 80);
        for (const std::string& key : keys) {
            CHECK_MESSAGE(known(key), key);
        }
    }
}

TEST_CASE("every label of the report is explained as it is printed") {
    const Full full(false);
    std::istringstream text(report_text(full.report(), {}));
    std::set<std::string> labels;
    bool tables = false;
    for (std::string line; std::getline(text, line);) {
        tables = (tables || line.starts_with("  step time")) && !line.starts_with("Published");
        const std::size_t end = line.find("  ", 2);
        if (tables && line.starts_with("  ") && line[2] != ' ' && end != std::string::npos) {
            labels.insert(line.substr(2, end - 2));
        }
    }
    CHECK(labels.size() > 35);
    CHECK(labels.contains("exposed fsdp gather"));
    CHECK(labels.contains("communication_buffers"));
    CHECK(labels.contains("TFLOP/s per GPU"));
    labels.insert({"communication",
                   "exposed",
                   "interference",
                   "fullest",
                   "limit",
                   "signature",
                   "kernel",
                   "collective"});
    for (const std::string& label : labels) {
        CHECK_MESSAGE(known(label), label);
    }
}

TEST_CASE("every name that can be explained is, once, and under its own name") {
    std::set<std::string_view> seen;
    for (const std::string_view name : explainable()) {
        CAPTURE(name);
        CHECK(seen.insert(name).second);
        CHECK(explain(name, nullptr, nullptr).name == name);
    }
    for (const char* name : {"", " ", "_s", "nothing"}) {
        CAPTURE(name);
        CHECK_FALSE(known(name));
    }
}

TEST_CASE("a key of a scenario is explained with and without its path") {
    for (const char* key : {"parallel.gradients.bucket",
                            "bucket",
                            "training.precision",
                            "precision",
                            "parallel.vpp",
                            "vpp",
                            "machine.network.law"}) {
        CAPTURE(key);
        CHECK(known(key));
    }
    CHECK(explain("parallel.gradients.bucket", nullptr, nullptr).name == "bucket");
}

TEST_CASE("a label of the report leads to the figure that it stands for") {
    CHECK(explain("TFLOP/s per GPU", nullptr, nullptr).name == "tflops_per_gpu");
    CHECK(explain("tokens/s per GPU", nullptr, nullptr).name == "tokens_per_s_per_gpu");
    CHECK(explain("step time", nullptr, nullptr).name == "step_time_s");
    CHECK(explain("MFU", nullptr, nullptr).name == "mfu");
    CHECK(explain("margin", nullptr, nullptr).name == "memory_margin_bytes");
    CHECK(explain("exposed tp", nullptr, nullptr).name == "exposed tp");
    CHECK(explain("interference", nullptr, nullptr).name == "interference_s");
    CHECK(explain("recompute", nullptr, nullptr).name == "recompute");
    CHECK(explain("allocated", nullptr, nullptr).name == "allocated_bytes");
}
