#include "sim/io/astra_text.h"

#include <string>

#include <doctest/doctest.h>

#include "sim/core/units.h"

using namespace memwall;
using namespace memwall::literals;

namespace {

const std::string kTwoLayers =
    "2\n"
    "attn -1 900 ALLGATHER 1000 450 REDUCESCATTER 1000 440 NONE 0 100\n"
    "mlp -1 1400 REDUCESCATTER 2000 700 ALLGATHER 2000 690 ALLREDUCE 4000 110\n";

AstraWorkload good(const std::string& text, Duration unit = 1_ns) {
    Diagnostics d;
    std::optional<AstraWorkload> w = read_astra_text("w.txt", text, unit, d);
    CHECK(d.errors() == 0);
    REQUIRE(w.has_value());
    return *w;
}

std::size_t warnings(const std::string& text) {
    Diagnostics d;
    REQUIRE(read_astra_text("w.txt", text, 1_ns, d).has_value());
    return d.sorted().size();
}

Diagnostic bad(const std::string& text) {
    Diagnostics d;
    CHECK_FALSE(read_astra_text("w.txt", text, 1_ns, d).has_value());
    REQUIRE(d.has_errors());
    for (const Diagnostic& each : d.sorted()) {
        if (each.severity == Severity::Error) {
            return each;
        }
    }
    return {};
}

// "label(waits)>record" of each op, in program order.
std::vector<std::string> listing(const ProgramSet& p) {
    std::vector<std::string> list;
    for (const Item& item : p.programs.front().items) {
        const Op& op = p.ops[item.index];
        std::string text =
            p.labels[op.label] + (op.kind == OpKind::Collective ? " comm" : "") + " (";
        for (const std::uint16_t slot : op.waits) {
            text += slot == kNoSlot ? "" : std::to_string(slot);
        }
        list.push_back(text + ")>" + std::to_string(op.records));
    }
    return list;
}

}  // namespace

TEST_CASE("times are multiplied by the stated unit") {
    const AstraWorkload ns = good("HYBRID_TRANSFORMER\n" + kTwoLayers, 1_ns);
    const AstraWorkload us = good("HYBRID_TRANSFORMER\n" + kTwoLayers, 1_us);
    CHECK(ns.layers[0].forward.compute == 900_ns);
    CHECK(us.layers[0].forward.compute == 900_us);
    CHECK(us.layers[1].update == 110_us);
    CHECK(us.assumptions.front() == "one unit of time in the file is 1us");
}

TEST_CASE("a step of more than an hour is taken for a wrong unit of time") {
    const std::string hour = "MODEL\n1\na -1 3599 NONE 0 1 NONE 0 0 NONE 0 0\n";
    const std::string longer = "MODEL\n1\na -1 3599 NONE 0 1 NONE 0 0 NONE 0 1\n";
    CHECK(good(hour, 1_s).layers.size() == 1);  // 3,600 s
    Diagnostics d;
    CHECK_FALSE(read_astra_text("w.txt", longer, 1_s, d).has_value());
    CHECK(d.sorted().front().code == "E0541");
    CHECK(d.sorted().front().text == "the times of the file add up to 3601 s, if one unit is 1s");
}

TEST_CASE("the keyword decides the groups") {
    const AstraWorkload w = good("HYBRID_MODEL_DATA\n" + kTwoLayers);
    CHECK(w.layers[0].forward.collective ==
          CollectiveCall{CollectiveKind::AllGather, GroupRole::Tp, 1000_B});
    CHECK(w.layers[0].input_gradient.collective ==
          CollectiveCall{CollectiveKind::ReduceScatter, GroupRole::Tp, 1000_B});
    CHECK_FALSE(w.layers[0].weight_gradient.collective.has_value());
    CHECK(w.layers[1].weight_gradient.collective ==
          CollectiveCall{CollectiveKind::AllReduce, GroupRole::Dp, 4000_B});
    CHECK(good("MICRO\n" + kTwoLayers).layers[1].weight_gradient.collective->role ==
          GroupRole::World);
    CHECK(good("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n")
              .layers[0]
              .weight_gradient.collective->role == GroupRole::Dp);
}

TEST_CASE(
    "collectives that a keyword does not use are dropped with a warning, as ASTRA-sim drops them") {
    CHECK(warnings("DATA\n" + kTwoLayers) == 2);
    CHECK_FALSE(good("DATA\n" + kTwoLayers).layers[0].forward.collective.has_value());
    CHECK(warnings("MODEL\n" + kTwoLayers) == 1);
    CHECK_FALSE(good("MODEL\n" + kTwoLayers).layers[1].weight_gradient.collective.has_value());
    CHECK(warnings("HYBRID_TRANSFORMER\n" + kTwoLayers) == 0);
}

TEST_CASE("SimAI's header is read with and without colons, and its suffixes name expert groups") {
    const std::string layer =
        "moe -1 10 ALLTOALL_EP 64 20 ALLTOALL_EP 64 30 REDUCESCATTER_DP_EP 128 0 extra\n";
    const AstraWorkload w = good(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 2 vpp: 1 ga: 8 "
        "all_gpus: 64 "
        "checkpoints: 0 checkpoint_initiates: 0 pp_comm 16777216\n1\n" +
        layer);
    CHECK(w.header.model_parallel == 4);
    CHECK(w.header.ep == 2);
    CHECK(w.header.gradient_accumulation == 8);
    CHECK(w.header.pipeline_bytes == 16_MiB);
    CHECK(w.layers[0].forward.collective->role == GroupRole::Ep);
    CHECK(w.layers[0].weight_gradient.collective->role == GroupRole::Replicate);
    CHECK(w.layers[0].weight_gradient.collective->kind == CollectiveKind::ReduceScatter);
    bool says_stage = false;
    for (const std::string& text : w.assumptions) {
        says_stage = says_stage || text.starts_with("pp is 2");
    }
    CHECK(says_stage);
}

TEST_CASE("collectives without bytes are none; bytes without a collective are warned about") {
    CHECK_FALSE(good("MODEL\n1\na -1 1 ALLREDUCE 0 1 NONE 0 1 NONE 0 0\n")
                    .layers[0]
                    .forward.collective.has_value());
    CHECK(warnings("MODEL\n1\na -1 1 NONE 64 1 NONE 0 1 NONE 0 0\n") == 1);
    CHECK(warnings("MODEL\n1\na -1 0 ALLREDUCE 8 0 NONE 0 0 NONE 0 0\n") == 1);  // all times 0
}

TEST_CASE("the program of a hybrid workload follows ASTRA-sim's loop") {
    const ProgramSet p = astra_program(good("HYBRID_TRANSFORMER\n" + kTwoLayers));
    // Slots: 0 computed, 1 communicated, 2 and 3 the layers' weight gradients.
    CHECK(listing(p) == std::vector<std::string>{"attn update (21)>0",
                                                 "attn forward (2)>0",
                                                 "attn forward comm (0)>1",
                                                 "mlp update (31)>0",
                                                 "mlp forward (3)>0",
                                                 "mlp forward comm (0)>1",
                                                 "mlp input gradient (1)>0",
                                                 "mlp input gradient comm (0)>1",
                                                 "mlp weight gradient ()>0",
                                                 "mlp weight gradient comm (0)>3",
                                                 "attn input gradient (1)>0",
                                                 "attn input gradient comm (0)>1",
                                                 "attn weight gradient ()>0"});
}

TEST_CASE("the program of a data-parallel workload sends weight gradients beside the rest") {
    const ProgramSet p =
        astra_program(good("DATA\n2\na -1 1 NONE 0 2 NONE 0 3 ALLREDUCE 8 0\nb -1 4 NONE 0 5 NONE "
                           "0 6 ALLREDUCE 8 0\n"));
    CHECK(listing(p) == std::vector<std::string>{"a forward (21)>0",
                                                 "b forward (3)>0",
                                                 "b weight gradient ()>0",
                                                 "b weight gradient comm (0)>3",
                                                 "b input gradient ()>0",
                                                 "a weight gradient ()>0",
                                                 "a weight gradient comm (0)>2"});
    CHECK(p.ops[3].stream == Stream::Dp);
    CHECK(p.ops[3].category == Category::DpComm);
    CHECK(p.collectives.size() == 1);  // equal ones once
    CHECK(std::get<Measured>(p.kernels[p.ops[0].work]).duration == 1_ns);
}

TEST_CASE("a pass without time still waits, so that what follows overlaps as it should") {
    const ProgramSet p = astra_program(
        good("HYBRID_TRANSFORMER\n1\na -1 1 ALLGATHER 8 0 REDUCESCATTER 8 3 NONE 0 0\n"));
    // The weight gradient waits for the all-gather through the empty input gradient, not for the reduce-scatter.
    CHECK(listing(p) == std::vector<std::string>{"a forward (21)>0",
                                                 "a forward comm (0)>1",
                                                 "a input gradient (1)>0",
                                                 "a input gradient comm (0)>1",
                                                 "a weight gradient ()>0"});
    CHECK(std::get<Measured>(p.kernels[p.ops[2].work]).duration == 0_ns);
}

TEST_CASE("every stage runs the program of the file") {
    const ProgramSet p = astra_program(good("HYBRID_TRANSFORMER pp: 3\n" + kTwoLayers), 3);
    REQUIRE(p.programs.size() == 3);
    CHECK(p.programs[2].stage == 2);
    CHECK(p.programs[2].items.size() == p.programs[0].items.size());
}

TEST_CASE("a micro-benchmark is its collectives") {
    const ProgramSet p =
        astra_program(good("MICRO\n1\nar -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1048576 0\n"));
    REQUIRE(p.ops.size() == 1);
    CHECK(p.ops[0].kind == OpKind::Collective);
    CHECK(p.collectives[0].role == GroupRole::World);
    CHECK(p.kernels.empty());
}

TEST_CASE("a degree of 0 in SimAI's header is refused") {
    const std::string layers = "\n1\na -1 900 NONE 0 450 NONE 0 440 NONE 0 100\n";
    for (const char* key : {"all_gpus", "ep", "pp", "vpp", "ga", "model_parallel_NPU_group"}) {
        const Diagnostic error =
            bad("HYBRID_TRANSFORMER_FWD_IN_BCKWD " + std::string(key) + ": 0" + layers);
        CHECK(error.text == std::string(key) + " is 0; 1 or more is wanted");
        CHECK(error.place.line == 1);
    }
}

TEST_CASE("wrong workloads are refused at their place") {
    CHECK(bad("").code == "E0540");
    CHECK(bad("DATA\n").text ==
          "a workload has a line of its parallelism and a line of its number of layers");
    CHECK(bad("DATUM\n" + kTwoLayers).text == "'DATUM' is not a parallelism keyword");
    CHECK(bad("HYBRID_DLRM 3\n" + kTwoLayers).text == "HYBRID_DLRM workloads are not read");
    CHECK(bad("DATA\n3\n" + kTwoLayers.substr(2)).text == "3 layers are announced, 2 lines follow");
    CHECK(bad("DATA\n0\n").code == "E0540");
    CHECK(bad("DATA\n99999999\n").code == "E0540");
    CHECK(bad("DATA\n2 3\n" + kTwoLayers.substr(2)).text ==
          "the second line holds the number of layers only");
    CHECK(bad("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n").text == "11 fields; a layer has 12");
    CHECK(bad("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0 x y\n").text ==
          "14 fields; a layer has 12");
    CHECK(bad("DATA\n1\na b 1 NONE 0 1 NONE 0 1 NONE 0 0\n").text ==
          "the dependency is 'b'; a whole number is wanted");
    CHECK(bad("DATA\n1\na -1 -5 NONE 0 1 NONE 0 1 NONE 0 0\n").text ==
          "the forward time is '-5'; a whole number of 0 or more is wanted");
    CHECK(bad("DATA\n1\na -1 1.5 NONE 0 1 NONE 0 1 NONE 0 0\n").code == "E0540");
    CHECK(bad("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE x 0\n").code == "E0540");
    CHECK(bad("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1125899906842625 0\n").text ==
          "a collective of 1125899906842625 bytes is larger than 1 PiB");
    CHECK(bad("DATA\n1\na -1 9000000000000000000 NONE 0 1 NONE 0 1 NONE 0 0\n").text ==
          "the forward time is 9000000000000000000, which is too long in this time unit");
    CHECK(bad("HYBRID_TRANSFORMER checkpoints: 2\n" + kTwoLayers).text ==
          "recomputation checkpoints are not read");
    CHECK(bad("HYBRID_TRANSFORMER pp:\n" + kTwoLayers).text == "'pp' has no value");
    const Diagnostic d = bad("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 BROADCAST 8 0\n");
    CHECK(d.text == "'BROADCAST' is not a collective");
    CHECK(d.place == Place{"w.txt", 3, 26});
}

TEST_CASE("Windows line ends and blank lines do not matter") {
    CHECK(good("DATA\r\n\r\n1\r\n\r\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\r\n").layers.size() ==
          1);
    CHECK(warnings("HYBRID_TRANSFORMER color: 3\n" + kTwoLayers) == 1);
}
