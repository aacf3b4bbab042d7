// What the forms of a report say of memory: what is shown sums to what is stated.
#include <numeric>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sim/io/chrome_trace.h"
#include "sim/io/report_json.h"
#include "sim/io/report_text.h"

using namespace memwall;

namespace {

constexpr std::int64_t kGiB = 1LL << 30;

TensorBytes some_bytes() {
    TensorBytes bytes{};
    bytes[static_cast<std::size_t>(TensorClass::Parameters)] = 3 * kGiB;
    bytes[static_cast<std::size_t>(TensorClass::Activations)] = 5 * kGiB;
    bytes[static_cast<std::size_t>(TensorClass::Context)] = kGiB;
    return bytes;
}

// 3 + 5 GiB allocated, 9 reserved, 1 beside the allocator.
struct Sample {
    Plan plan;
    Metrics metrics;
    RunResult result;
    Sample() {
        plan.jobs.emplace_back();
        StageMemory stage;
        stage.peak.allocated = 8 * kGiB;
        stage.peak.reserved = 9 * kGiB;
        stage.peak.device = 10 * kGiB;
        stage.peak.composition = some_bytes();
        stage.usable = 79 * kGiB;
        stage.margin = 69 * kGiB;
        metrics.stages = {stage};
        metrics.step_time = Duration(1'000'000);
    }
    [[nodiscard]] Report report() const { return {plan, metrics, result, {}, {}, {}, {}}; }
};

}  // namespace

TEST_CASE("the composition in JSON sums to the allocated bytes, the context stands beside it") {
    const Sample sample;
    const auto json = nlohmann::json::parse(report_json(sample.report()));
    const auto& stage = json["memory"]["stages"][0];
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : stage["composition"].items()) {
        sum += bytes.get<std::int64_t>();
        CHECK(name != "context_bytes");
    }
    CHECK(sum == stage["allocated_bytes"].get<std::int64_t>());
    CHECK(stage["context_bytes"] == kGiB);
    CHECK(stage["reserved_bytes"].get<std::int64_t>() +
              stage["context_bytes"].get<std::int64_t>() ==
          stage["device_bytes"].get<std::int64_t>());
}

TEST_CASE("the table of memory lists the allocated classes, their sum, then the context") {
    const Sample sample;
    const std::string text = report_text(sample.report(), TextStyle{}, Detail::Whole);
    const std::size_t parameters = text.find("  parameters              3.00\n");
    const std::size_t activations = text.find("  activations             5.00\n");
    const std::size_t allocated = text.find("  allocated               8.00\n");
    const std::size_t reserved = text.find("  reserved                9.00\n");
    const std::size_t context = text.find("  context                 1.00\n");
    const std::size_t device = text.find("  device                 10.00\n");
    CHECK(parameters < activations);
    CHECK(activations < allocated);
    CHECK(allocated < reserved);
    CHECK(reserved < context);
    CHECK(context < device);
    CHECK(device != std::string::npos);
}

TEST_CASE("the memory counter of a timeline stacks to the allocated bytes") {
    RunResult result;
    result.memory_timeline = {{0, Time(Duration(5'000'000)), some_bytes()}};
    Plan plan;
    plan.jobs.emplace_back();
    const auto json = nlohmann::json::parse(chrome_trace(result, {}, plan));
    double allocated = 0;
    double outside = 0;
    for (const auto& event : json["traceEvents"]) {
        if (event["ph"] != "C") {
            continue;
        }
        for (const auto& [name, value] : event["args"].items()) {
            (event["name"] == "allocated memory (GiB)" ? allocated : outside) +=
                value.get<double>();
            CHECK((name == "context") == (event["name"] == "memory outside the allocator (GiB)"));
        }
    }
    CHECK(allocated == 8);
    CHECK(outside == 1);
}
