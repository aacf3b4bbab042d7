// The report of a run as text: what a person sees of jobs, events and memory on a narrow terminal.
#include "sim/io/report_text.h"

#include <sstream>

#include <doctest/doctest.h>

#include "sim/io/memory_table.h"
#include "sim/io/report_json.h"
#include "sim/io/text_style.h"

using namespace memwall;

namespace {

// Stages of `activations` GiB and nothing else, the first the fullest.
Metrics stages_of(const std::vector<int>& activations) {
    constexpr std::int64_t kGiB = std::int64_t{1} << 30;
    Metrics m;
    for (std::size_t s = 0; s < activations.size(); ++s) {
        StageMemory stage;
        stage.stage = static_cast<int>(s);
        stage.peak.allocated = activations[s] * kGiB;
        stage.peak.composition.at(static_cast<std::size_t>(TensorClass::Activations)) =
            activations[s] * kGiB;
        stage.usable = 80 * kGiB;
        m.stages.push_back(stage);
    }
    return m;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

// The words of a row behind its name.
std::string cells(const std::string& line) {
    std::istringstream in(line);
    std::string word;
    std::string all;
    in >> word;
    while (in >> word) {
        all += (all.empty() ? "" : " ") + word;
    }
    return all;
}

TextStyle wide(int width) {
    TextStyle style;
    style.width = width;
    return style;
}

Plan two_jobs() {
    Plan plan;
    plan.name = "measured";
    for (const char* name : {"measured", "neighbour"}) {
        Job& job = plan.jobs.emplace_back();
        job.name = name;
        job.model.name = "m";
        job.nodes = 1;
    }
    plan.jobs[1].first_node = 1;
    plan.jobs[1].nodes = 2;
    plan.jobs[1].start = Duration(3'000'000'000);
    return plan;
}

// Of a plan; nothing of it is simulated.
std::string text_of(const Plan& plan, int width) {
    Metrics metrics = stages_of({1});
    metrics.step_time = Duration(1'000'000'000'000);
    const RunResult result;
    return report_text({plan, metrics, result, {}, {}, {}, {}}, wide(width));
}

}  // namespace

TEST_CASE("neighbouring stages with the same memory share a column") {
    const auto lines = lines_of(memory_table(stages_of({4, 3, 3, 3, 2, 3}), wide(80), false));
    CHECK(cells(lines.at(0)) == "0 1..3 4 5");
    CHECK(cells(lines.at(1)) == "4.00 3.00 2.00 3.00");
}

TEST_CASE(
    "more stages than the width holds: first, last and fullest are shown, and how to see all") {
    std::vector<int> activations;
    for (int s = 0; s < 64; ++s) {
        activations.push_back(64 - s);
    }
    Metrics m = stages_of(activations);
    for (const int fullest : {0, 1, 17, 40, 62, 63}) {
        CAPTURE(fullest);
        m.fit.stage = fullest;
        const std::string text = memory_table(m, wide(80), false);
        const auto lines = lines_of(text);
        const std::string stages = " " + cells(lines.at(0)) + " ";
        CHECK(stages.starts_with(" 0 "));
        CHECK(stages.ends_with(" 63 "));
        CHECK(stages.find(" " + std::to_string(fullest) + " ") != std::string::npos);
        CHECK(text.find("--all-stages shows all 64") != std::string::npos);
        for (const std::string& line : lines) {
            CHECK(line.size() <= 80);
        }
    }
    const auto all = lines_of(memory_table(m, wide(80), true));
    std::string stages;
    for (const std::string& line : all) {
        CHECK(line.size() <= 80);
        stages += line.starts_with("  stage ") ? cells(line) + " " : "";
    }
    std::string wanted;
    for (int s = 0; s < 64; ++s) {
        wanted += std::to_string(s) + " ";
    }
    CHECK(stages == wanted);
}

TEST_CASE("a report of two jobs names both, and which one is measured") {
    const std::string text = text_of(two_jobs(), 80);
    CHECK(text.find("only the first is measured") != std::string::npos);
    CHECK(text.find("neighbour: nodes 1..2, 1 GPU, m, ") != std::string::npos);
    CHECK(text.find("starts at 3 ms") != std::string::npos);
    Plan alone = two_jobs();
    alone.jobs.pop_back();
    CHECK(text_of(alone, 80).find("Jobs") == std::string::npos);
}

TEST_CASE("a report names events, and those without effect") {
    Plan plan = two_jobs();
    CHECK(text_of(plan, 80).find("Events") == std::string::npos);
    plan.machine.stragglers = {{3, 0.1}};
    plan.machine.link_events = {{"node0/nic0->network", 0.5}};
    CHECK(text_of(plan, 80).find("rank 3: every kernel takes 10 % longer") != std::string::npos);
    CHECK(text_of(plan, 80).find("node0/nic0->network: 50 % of its capacity is left\n") !=
          std::string::npos);
    plan.machine.fidelity = Fidelity::AlphaBeta;
    CHECK(text_of(plan, 120).find("no effect: only fidelity fluid has links") != std::string::npos);
}

TEST_CASE("no line of a report is wider than it may be") {
    Plan plan = two_jobs();
    plan.about =
        "a scenario that is about so many things that its line does not fit into the width";
    plan.jobs[1].model.name = "a model with a name of several words that nobody would give to it";
    plan.machine.link_events = {{"node0/nic0->network", 0.5}};
    plan.machine.fidelity = Fidelity::Ideal;
    for (const int width : {60, 80, 120}) {
        for (const std::string& line : lines_of(text_of(plan, width))) {
            CAPTURE(line);
            CHECK(line.size() <= static_cast<std::size_t>(width));
        }
    }
}

TEST_CASE("a number is not torn from its unit") {
    CHECK(wrapped("it is 12.5 % of all", 9, 2) == "it is\n  12.5 %\n  of all");
    CHECK(wrapped("ends in 7", 5, 0) == "ends\nin 7");
}
