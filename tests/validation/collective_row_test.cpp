// Rows of collectives as calls on a machine.
#include "sim/validation/collective_row.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

const std::string kHeader =
    "gpu,n_gpus,n_nodes,gpus_per_node,inter_node,collective,message_bytes,time_us\n";

Table table_of(const std::string& line) {
    Diagnostics diagnostics;
    const auto table = read_table("c.csv", kHeader + line + "\n", diagnostics);
    REQUIRE(table.has_value());
    return *table;
}

std::string refusal(const std::string& line) {
    const Table table = table_of(line);
    const auto mapped = collective_case(Row(table, 0));
    REQUIRE_FALSE(mapped.has_value());
    return mapped.error().reason;
}

}  // namespace

TEST_CASE("a group takes the same GPUs of every node") {
    const Table table = table_of("a100-80g-sxm,8,2,8,8x200 Gb/s HDR,all_gather,1048576,120");
    const auto mapped = collective_case(Row(table, 0));
    REQUIRE(mapped.has_value());
    CHECK(mapped->call.kind == CollectiveKind::AllGather);
    CHECK(mapped->call.bytes == Bytes(1048576));
    const auto members = mapped->members();
    REQUIRE(members.size() == 8);
    CHECK(members[3].index == 3);
    CHECK(members[4].index == 8);
    CHECK(members[7].index == 11);
    CHECK(mapped->scenario.find("node.nics: 8") != std::string::npos);
    CHECK(mapped->group == "all-gather across nodes, 64 KiB-16 MiB");
}

TEST_CASE("a table of one node needs no more than GPUs, size and time") {
    const Table table = table_of("h100,4,,,,,4096,9.5");
    const auto mapped = collective_case(Row(table, 0));
    REQUIRE(mapped.has_value());
    CHECK(mapped->call.kind == CollectiveKind::AllReduce);
    CHECK(mapped->nodes == 1);
    CHECK(mapped->time_s == doctest::Approx(9.5e-6));
}

TEST_CASE("rows that are no collective of a known machine are refused with the reason") {
    CHECK(refusal("h800,8,1,8,,moe_dispatch,4096,9") ==
          "'moe-dispatch' is not a collective that is modelled alone");
    CHECK(refusal("h100,9,2,8,,all_reduce,4096,9") ==
          "it does not state the GPUs, or not as many on every node");
    CHECK(refusal("h100,1,1,8,,all_reduce,4096,9") ==
          "it does not state the GPUs, or not as many on every node");
    CHECK(refusal("h100,8,1,8,,all_reduce,,9") == "it states no size or no time");
    CHECK(refusal("h100,8,1,8,,all_reduce,4096,-9") == "it states no size or no time");
    CHECK(refusal("abacus,8,1,8,,all_reduce,4096,9") == "GPU 'abacus' has no file");
}
