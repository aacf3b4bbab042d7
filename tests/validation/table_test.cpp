// Tables of measurements, and what rows call things.
#include "sim/validation/table.h"

#include <doctest/doctest.h>

#include "sim/core/rendering.h"
#include "sim/validation/words.h"

using namespace memwall;

namespace {

std::string error_of(const std::string& text) {
    Diagnostics diagnostics;
    const auto table = read_table("t.csv", text, diagnostics);
    CHECK_FALSE(table.has_value());
    REQUIRE(diagnostics.errors() > 0);
    return diagnostics.sorted().front().code;
}

}  // namespace

TEST_CASE("cells may hold commas, quotes and line ends; columns are found by name") {
    Diagnostics diagnostics;
    const auto table = read_table("t.csv",
                                  "\xEF\xBB\xBFid,notes,step_time_s,n_gpus\r\n"
                                  "a,\"8x200, \"\"HDR\"\"\nfast\",1.5,64\r\n"
                                  "b,, 2 ,\r\n",
                                  diagnostics);
    REQUIRE(table.has_value());
    CHECK(table->kind == RowKind::Training);
    REQUIRE(table->rows.size() == 2);
    const Row a(*table, 0);
    CHECK(a.id() == "a");
    CHECK(a.text("notes") == "8x200, \"HDR\"\nfast");
    CHECK(a.number("step_time_s") == 1.5);
    CHECK(a.whole("n_gpus") == 64);
    CHECK_FALSE(a.whole("step_time_s").has_value());
    CHECK_FALSE(a.has("tp"));
    const Row b(*table, 1);
    CHECK(b.number("step_time_s") == 2);
    CHECK_FALSE(b.number("n_gpus").has_value());
    CHECK_FALSE(b.number("notes").has_value());
}

TEST_CASE("the kind of a table follows from its columns") {
    const auto kind = [](const std::string& header) {
        Diagnostics diagnostics;
        const auto table =
            read_table("t.csv", header + "\n" + std::string(9, ',') + "\n", diagnostics);
        return table ? table->kind : RowKind::Unknown;
    };
    CHECK(kind("gpu,M,N,K,dtype,time_us,a,b,c,d") == RowKind::Gemm);
    CHECK(kind("gpu,batch,seq_len,heads,time_us,a,b,c,d,e") == RowKind::Attention);
    CHECK(kind("gpu,n_gpus,message_bytes,time_us,a,b,c,d,e,f") == RowKind::Collective);
    CHECK(kind("id,layers,forward_ms,a,b,c,d,e,f,g") == RowKind::Training);
}

TEST_CASE("a table that cannot be read is told where and why") {
    CHECK(error_of("") == "E0702");
    CHECK(error_of("step_time_s\n") == "E0702");
    CHECK(error_of("step_time_s,step_time_s\n1,2\n") == "E0703");
    CHECK(error_of("id,step_time_s\na,1,2\n") == "E0704");
    CHECK(error_of("id,step_time_s\na,\"1\n") == "E0701");
    Diagnostics diagnostics;
    const auto other = read_table("t.csv", "colour,size\nred,2\n", diagnostics);
    REQUIRE(other.has_value());
    CHECK(other->kind == RowKind::Unknown);
}

TEST_CASE("GPUs are known by the names that people write") {
    CHECK(known_gpu("a100-80g-sxm")->file == "a100-80g-sxm");
    CHECK(known_gpu("NVIDIA H100 80GB")->file == "h100-80g-sxm");
    CHECK(known_gpu("RTX 4090")->file == "rtx4090");
    CHECK(known_gpu("h100-96g-500w")->node == "grand-teton-h100-96g");
    CHECK_FALSE(known_gpu("a100")->assumption.empty());
    CHECK_FALSE(known_gpu("tpu-v5p").has_value());
    CHECK_FALSE(known_gpu("").has_value());
}

TEST_CASE("networks are read from words") {
    const auto rate = [](double gigabits) { return gigabits * 1e9 / 8; };
    const StatedNetwork selene = stated_network("8x200Gb/s HDR IB (Selene)");
    CHECK(selene.nics == 8);
    CHECK(selene.nic_rate.value == rate(200));
    CHECK(stated_network("800 Gb/s per node (config inter_node_bandwidth)").node_rate.value ==
          rate(800));
    CHECK(stated_network("1600 Gb/s node-node RoCE").node_rate.value == rate(1600));
    const StatedNetwork jean_zay = stated_network("4 Omni-Path links per node (Jean Zay)");
    CHECK(jean_zay.nics == 4);
    CHECK(jean_zay.nic_rate.value == rate(100));
    CHECK(jean_zay.fabric == "opa-100g");
    const StatedNetwork listed = stated_network(
        "Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s, Management: "
        "100Gb/s Ethernet NIC");
    CHECK(listed.nics == 8);
    CHECK(listed.nic_rate.value == rate(400));
    CHECK(stated_network("").nics == 0);
    CHECK(stated_network("RoCE RDMA (bandwidth not stated)").nics == 0);
}
