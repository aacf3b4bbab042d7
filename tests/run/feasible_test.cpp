// What check_feasible refuses, and that it refuses just what a run would.
#include "sim/run/feasible.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/run/calling.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

std::vector<Diagnostic> findings(const Case& c) {
    std::vector<const ProgramSet*> programs;
    for (const ProgramSet& set : c.programs) {
        programs.push_back(&set);
    }
    const DocNode document;
    Diagnostics diagnostics;
    const bool sound = check_feasible(c.plan, document, programs, diagnostics);
    CHECK(sound == diagnostics.sorted().empty());
    return diagnostics.sorted();
}

std::string refused(const Case& c) {
    SimulateOptions options;
    for (const ProgramSet& set : c.programs) {
        options.programs.push_back(&set);
    }
    return simulate(c.plan, options).refused;
}

Case calling_all_reduce(int nodes, int dp, const std::string& algorithm) {
    Case c;
    c.plan.machine = machine_of(nodes);
    c.plan.machine.algorithm = algorithm;
    Job& job =
        c.add_job(0, nodes, 1, {{CollectiveKind::AllReduce, GroupRole::Dp, Bytes(1'000'000)}});
    job.degrees.dp = dp;
    job.degrees.pp = 4 * nodes / dp;
    c.programs[0].programs.resize(static_cast<std::size_t>(job.degrees.pp),
                                  c.programs[0].programs[0]);
    return c;
}

}  // namespace

TEST_CASE("an algorithm that cannot serve a group is refused once, as a run refuses it") {
    // Groups of 6 of 12 ranks on nodes of 4: 4 + 2 and 2 + 4.
    const Case uneven = calling_all_reduce(3, 6, "hierarchical");
    const std::vector<Diagnostic> found = findings(uneven);
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == "E0407");
    CHECK(found[0].text == "hierarchical needs equally many ranks of the group in every node");
    CHECK(found[0].notes.at(0).text == "asked of a dp group of 6 ranks on 2 node(s) 'plain'");
    CHECK(refused(uneven) == found[0].text);
    for (const char* algorithm : {"", "ring", "tree"}) {
        CAPTURE(std::string(algorithm));
        const Case c = calling_all_reduce(3, 6, algorithm);
        CHECK(findings(c).empty());
        CHECK(refused(c).empty());
    }
    CHECK(findings(calling_all_reduce(3, 12, "hierarchical")).empty());
}

TEST_CASE("nvls has no messages and no steps across nodes") {
    Case inside = calling_all_reduce(1, 4, "nvls");
    CHECK(findings(inside).empty());
    inside.plan.machine.fidelity = Fidelity::Stepwise;
    REQUIRE(findings(inside).size() == 1);
    CHECK(findings(inside)[0].text == refused(inside));
    const Case across = calling_all_reduce(2, 8, "nvls");
    REQUIRE(findings(across).size() == 1);
    CHECK(findings(across)[0].text == refused(across));
}

TEST_CASE("collectives that no program calls, of one rank, or of no bytes are not asked") {
    Case c = calling_all_reduce(3, 6, "hierarchical");
    c.programs[0].collectives[0].bytes = Bytes(0);
    CHECK(findings(c).empty());
    Case uncalled = calling_all_reduce(3, 6, "hierarchical");
    uncalled.programs[0].programs.assign(2, Program{});
    CHECK(findings(uncalled).empty());
    CHECK(findings(calling_all_reduce(1, 1, "hierarchical")).empty());
}

TEST_CASE("kernels that the card has no law for are named once each") {
    Case c = calling_all_reduce(1, 4, "");
    ProgramSet& set = c.programs[0];
    set.kernels = {Gemm{.m = 64, .n = 64, .k = 64, .dtype = Dtype::Fp8},
                   Gemm{.m = 64, .n = 128, .k = 64, .dtype = Dtype::Fp8},
                   Attention{.batch = 1, .dtype = Dtype::Fp32}};
    const std::vector<Diagnostic> found = findings(c);
    REQUIRE(found.size() == 2);
    CHECK(found[0].code == "E0401");
    std::vector<std::string> texts = {found[0].text, found[1].text};
    std::sort(texts.begin(), texts.end());
    CHECK(texts == std::vector<std::string>{"plain-gpu has no fp8 arithmetic",
                                            "plain-gpu has no fused attention in fp32"});
}

TEST_CASE("a run longer than the clock counts is refused, with what takes the time") {
    // 10^15 B over links of 10 GB/s in one direction: 2 x 3/4 x 10^15 / 100e9 = 15,000 s a call; 80 calls a step, 2 steps.
    const auto with = [](int calls) {
        Case c = calling_all_reduce(1, 4, "ring");
        const std::vector<CollectiveCall> all(
            static_cast<std::size_t>(calls),
            {CollectiveKind::AllReduce, GroupRole::Dp, Bytes(1'000'000'000'000'000)});
        c.programs[0] = calling(all);
        return c;
    };
    CHECK(findings(with(70)).empty());
    const std::vector<Diagnostic> found = findings(with(80));
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == "E0336");
    CHECK(found[0].text == "2 steps of about 13.9 days are beyond what the clock counts");
    CHECK(found[0].notes.at(0).text.find("most of it is collectives") == 0);
}

TEST_CASE("a pass of more ops than places have numbers is refused") {
    const auto with = [](std::size_t ops) {
        Case c = calling_all_reduce(1, 4, "ring");
        c.plan.machine.cluster.node.gpu.sms = 10;
        c.programs[0].kernels = {Measured{.duration = Duration(1000), .flops = Flops(0)}};
        Op op;
        op.category = Category::Compute;
        Segment segment;
        segment.name = "forward L0..L9";
        segment.ops.assign(ops, op);
        c.programs[0].segments = {segment};
        return c;
    };
    CHECK(findings(with(65'000)).empty());
    const std::vector<Diagnostic> found = findings(with(65'537));
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == "E0336");
    CHECK(found[0].text ==
          "65537 ops of 'forward L0..L9' in one pass of a stage are beyond what is simulated");
}
