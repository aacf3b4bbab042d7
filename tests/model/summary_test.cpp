#include "sim/model/summary.h"

#include <doctest/doctest.h>

#include "tests/model/traces.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

const SummaryRow& row(const SummaryKind& kind, const std::string& op) {
    for (const SummaryRow& r : kind.rows) {
        if (r.op == op) {
            return r;
        }
    }
    throw std::out_of_range("no row " + op);
}

}  // namespace

TEST_CASE("the summary lists embedding, each layer kind with its number of layers, and head") {
    Model m = deepseek_v3();
    const auto kinds =
        summarise(build_trace(m, transformer_engine(), {.micro_batch = 1, .sequence = 4096}));
    REQUIRE(kinds.size() == 4);
    CHECK(kinds[0].kind == "embedding");
    CHECK(kinds[1].kind == "transformer");
    CHECK(kinds[1].layers == 3);
    CHECK(kinds[2].kind == "moe_transformer");
    CHECK(kinds[2].layers == 58);
    CHECK(kinds[3].kind == "head");
    std::int64_t parameters = 0;
    for (const SummaryKind& k : kinds) {
        parameters += k.layers * k.parameters;
    }
    CHECK(parameters == 671'026'419'200);
}

TEST_CASE("a summary row states shape, split, flops, bytes and what stays for backward") {
    const auto kinds = summarise(
        build_trace(llama3_8b(), transformer_engine(), {.micro_batch = 1, .sequence = 8192}));
    const SummaryRow& qkv = row(kinds[1], "qkv");
    CHECK(qkv.kernel == "gemm");
    CHECK(qkv.shape == "[8192, 6144, 4096]");
    CHECK(qkv.split == "n: tp");
    CHECK(qkv.flops.value == 2.0 * 8192 * 6144 * 4096);
    CHECK(qkv.saved.value == 0);  // rotary makes copies
    CHECK(row(kinds[1], "attention").shape == "b 1 h 32/8 s 8192 d 128");
    CHECK(row(kinds[1], "norm 1").saved.value == 2 * 2 * 8192 * 4096);  // input and output
    CHECK(row(kinds[1], "row output").boundary);
    CHECK(row(kinds[1], "row output").bytes.value == 2 * 8192 * 4096);
}

TEST_CASE("conditional kernels say their condition and only those of tp 1 enter the totals") {
    const auto kinds = summarise(build_trace(
        gpt(1, 1024, 16, 51200), megatron_2021(), {.micro_batch = 1, .sequence = 1024}));
    CHECK(row(kinds[1], "softmax").condition == "if 16 / tp is a multiple of 4");
    CHECK(row(kinds[1], "fp32 softmax").condition == "if 16 / tp is not a multiple of 4");
    CHECK(kinds[1].saved.value == 34 * 1024 * 1024 + 5LL * 16 * 1024 * 1024);
    CHECK(kinds[1].input_gradient.value + kinds[1].weight_gradient.value ==
          2 * kinds[1].forward.value);
}

// 25 heads on one rank run the fallback: of its attention core it keeps the fp32 softmax (4), the mask (1) and what was
// dropped (2 bytes per score), not the 16-bit softmax (2) that the fused kernel would keep.
TEST_CASE("the totals keep what the kernels of tp 1 keep") {
    const auto kinds = summarise(build_trace(
        gpt(1, 1600, 25, 51200), megatron_2021(), {.micro_batch = 1, .sequence = 1024}));
    const std::int64_t scores = 25LL * 1024 * 1024;
    CHECK(row(kinds[1], "softmax").saved.value == 2 * scores);
    CHECK(row(kinds[1], "softmax cast").saved.value == 0);
    CHECK(kinds[1].saved.value == 34 * 1024 * 1600 + 7 * scores);
}
