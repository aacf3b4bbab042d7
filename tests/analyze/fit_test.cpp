#include "sim/analyze/fit.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "sim/core/check.h"

using namespace memwall;

namespace {

Plan plan_with(Bytes usable) {
    Plan plan;
    plan.jobs.emplace_back();
    plan.machine.cluster.node.gpu.name = "card";
    plan.machine.cluster.node.gpu.usable = usable;
    plan.machine.cluster.node.gpu.memory = Bytes(2 * usable.value);
    plan.machine.cluster.node.gpus = 8;
    return plan;
}

MemoryPeak peak(TensorClass largest, std::int64_t device) {
    MemoryPeak p;
    p.allocated = device;
    p.device = device;
    p.composition.at(static_cast<std::size_t>(largest)) = device;
    p.where = "backward chunk 0";
    return p;
}

bool mentions(const FitVerdict& verdict, std::string_view word) {
    return std::any_of(verdict.levers.begin(), verdict.levers.end(), [&](const std::string& lever) {
        return lever.find(word) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("the fullest stage decides, and its margin is usable minus device peak") {
    const Plan plan = plan_with(Bytes(100));
    RunResult result;
    result.memory = {peak(TensorClass::Parameters, 40), peak(TensorClass::Activations, 90)};
    const FitVerdict verdict = fit_verdict(plan, stage_memory(plan, result), Bytes(0));
    CHECK(verdict.fits);
    CHECK(verdict.stage == 1);
    CHECK(verdict.margin == 10);
    CHECK(verdict.levers.empty());
}

TEST_CASE("a peak of exactly the usable memory fits, one byte more does not") {
    const Plan plan = plan_with(Bytes(100));
    RunResult result;
    result.memory = {peak(TensorClass::Parameters, 100)};
    CHECK(fit_verdict(plan, stage_memory(plan, result), Bytes(0)).fits);
    result.memory = {peak(TensorClass::Parameters, 101)};
    const FitVerdict verdict = fit_verdict(plan, stage_memory(plan, result), Bytes(0));
    CHECK_FALSE(verdict.fits);
    CHECK(verdict.margin == -1);
    CHECK(verdict.tensor_class == "parameters");
}

TEST_CASE("levers name only what the configuration does not use yet") {
    Plan plan = plan_with(Bytes(10));
    RunResult result;
    result.memory = {peak(TensorClass::Activations, 20)};
    CHECK(mentions(fit_verdict(plan, stage_memory(plan, result), Bytes(0)), "recompute"));
    plan.jobs.front().training.recompute = RecomputeKind::Full;
    CHECK_FALSE(mentions(fit_verdict(plan, stage_memory(plan, result), Bytes(0)), "recompute"));
}

TEST_CASE("optimizer states ask for sharding only where there are replicas") {
    Plan plan = plan_with(Bytes(10));
    RunResult result;
    result.memory = {peak(TensorClass::OptimizerStates, 20)};
    CHECK_FALSE(mentions(fit_verdict(plan, stage_memory(plan, result), Bytes(0)), "zero1"));
    plan.jobs.front().degrees.dp = 4;
    CHECK(mentions(fit_verdict(plan, stage_memory(plan, result), Bytes(0)), "zero1"));
}

TEST_CASE("host memory of a node is a limit of its own") {
    Plan plan = plan_with(Bytes(100));
    plan.machine.cluster.node.host_memory = Bytes(79);
    RunResult result;
    result.memory = {peak(TensorClass::Parameters, 50)};
    CHECK_FALSE(
        fit_verdict(plan, stage_memory(plan, result), Bytes(10)).fits);  // 8 ranks x 10 B > 79 B
    plan.machine.cluster.node.host_memory = Bytes(80);
    CHECK(fit_verdict(plan, stage_memory(plan, result), Bytes(10)).fits);
}

TEST_CASE("a verdict on no stages is refused") {
    CHECK_THROWS_AS(fit_verdict(plan_with(Bytes(1)), {}, Bytes(0)), BugError);
}
