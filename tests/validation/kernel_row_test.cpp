// Rows of products and attention as kernels.
#include "sim/validation/kernel_row.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

Table table_of(const std::string& text) {
    Diagnostics diagnostics;
    const auto table = read_table("k.csv", text, diagnostics);
    REQUIRE(table.has_value());
    return *table;
}

const std::string kGemm = "op,B,M,N,K,dtype,layout,accumulate,out_dtype,gpu,time_us,notes\n";

std::string refusal(const std::string& text) {
    const Table table = table_of(text);
    const auto mapped = kernel_case(Row(table, 0));
    REQUIRE_FALSE(mapped.has_value());
    return mapped.error().reason;
}

}  // namespace

TEST_CASE("a product says its sizes, layout and output") {
    const Table table =
        table_of(kGemm + "matmul,1,1536,5120,4096,bf16,NT,1,fp32,a100-80g-pcie,330,\n");
    const auto mapped = kernel_case(Row(table, 0));
    REQUIRE(mapped.has_value());
    const Gemm& g = std::get<Gemm>(mapped->kernel);
    CHECK(g.m == 1536);
    CHECK(g.n == 5120);
    CHECK(g.k == 4096);
    CHECK(g.role == GemmRole::WeightGradient);
    CHECK(g.output_bytes == 8);  // fp32, read and written
    CHECK(mapped->time_s == doctest::Approx(330e-6));
    CHECK(mapped->group == "gemm bf16");
    CHECK(mapped->conditions.clock ==
          ClockState::Sustained);  // it states a layout: a framework's run
    CHECK_FALSE(mapped->conditions.quantise);
}

TEST_CASE("a bare sweep runs at the burst clock, in low precision from 16-bit activations") {
    const Table table = table_of("gpu,M,N,K,dtype,time_us\nh200,256,64,4096,fp8_block,12\n");
    const auto mapped = kernel_case(Row(table, 0));
    REQUIRE(mapped.has_value());
    CHECK(mapped->conditions.clock == ClockState::Burst);
    CHECK(mapped->conditions.quantise);
    CHECK(std::get<Gemm>(mapped->kernel).dtype == Dtype::MxFp8);
    CHECK(mapped->group == "gemm fp8-block narrow");
}

TEST_CASE("attention says its heads, mask and pass") {
    const std::string head =
        "impl,gpu,dtype,mask,batch,q_seqlen,kv_seqlen,q_heads,kv_heads,head_dim_qk,head_dim_vo,"
        "pass,"
        "deterministic,sliding_window,time_ms\n";
    const Table table = table_of(
        head + "cudnn,NVIDIA GB200,bfloat16,no_mask,2,4096,8192,64,8,192,128,bwd,False,1024,3\n");
    const auto mapped = kernel_case(Row(table, 0));
    REQUIRE(mapped.has_value());
    const Attention& a = std::get<Attention>(mapped->kernel);
    CHECK(mapped->gpu == "gb200");
    CHECK_FALSE(a.causal);
    CHECK(a.backward);
    CHECK(a.kind == AttentionKind::Cudnn);
    CHECK(a.queries == 4096);
    CHECK(a.keys == 8192);
    CHECK(a.kv_heads == 8);
    CHECK(a.head_dim_v == 128);
    CHECK(a.window == 1024);
    CHECK(mapped->time_s == doctest::Approx(3e-3));
    CHECK(refusal(head + "cudnn,h200,bf16,causal,2,4096,4096,64,8,128,128,bwd,True,,3\n") ==
          "deterministic backward");
    CHECK(refusal(head + "cudnn,h200,bf16,causal,2,,4096,64,8,128,128,bwd,False,,3\n") ==
          "it does not state batch, heads, sequence and head dimension");
}

TEST_CASE("what is no product that is run, or leaves too much open, is said") {
    CHECK(refusal(kGemm + "matmul (best shape found),1,1,1,1,bf16,,,,h100,3,\n") ==
          "the best of a search over shapes, not a product that is run");
    CHECK(refusal(kGemm + "matmul,1,8,8,8,int8,,,,h100,3,\n") == "dtype 'int8' is not known");
    CHECK(refusal(kGemm + "matmul,1,8,8,8,bf16,,,,warp9,3,\n") == "GPU 'warp9' has no file");
    CHECK(refusal(kGemm + "matmul,1,8,8,8,bf16,,,,,3,\n") == "it names no GPU");
    CHECK(refusal(kGemm + "matmul,1,8,-8,8,bf16,,,,h100,3,\n") == "it does not state M, N and K");
    CHECK(refusal(kGemm + "matmul,1,8,8,8,bf16,,,,h100,0,\n") == "it states no time");
    CHECK(refusal(kGemm + "matmul,1,8,8,8,bf16,,,,h100,nan,\n") == "it states no time");
}
