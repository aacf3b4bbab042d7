// Rows as scenarios: what they state, what is assumed, what cannot be run.
#include "sim/validation/training_row.h"

#include <doctest/doctest.h>

#include "sim/validation/validate.h"

using namespace memwall;

namespace {

const std::string kHeader =
    "id,framework,gpu,n_gpus,gpus_per_node,layers,hidden,heads,vocab,seq_len,gated_mlp,precision,"
    "tp,pp,"
    "dp,ep,micro_batch,global_batch,step_time_s,tokens_per_s_per_gpu\n";

Table table_of(const std::string& line) {
    Diagnostics diagnostics;
    const auto table = read_table("t.csv", kHeader + line + "\n", diagnostics);
    REQUIRE(table.has_value());
    return *table;
}

}  // namespace

TEST_CASE("tokens per second and GPU are a step time") {
    const Table table =
        table_of("a,megatron-lm,a100-80g-sxm,16,8,24,2048,16,51200,1024,0,fp16,2,1,8,,2,64,,4096");
    const auto mapped = training_case(Row(table, 0));
    REQUIRE(mapped.has_value());
    CHECK(mapped->step_time_s == doctest::Approx(64.0 * 1024 / (4096 * 16)));
    CHECK(mapped->gpus == 16);
    CHECK(mapped->stack == "megatron-lm-2021");
    // The row leaves open: ffn_hidden, sharding, recompute.
    CHECK(mapped->assumptions.size() == 3);
}

TEST_CASE("what a row leaves open or asks too much is the reason why it is not run") {
    const auto why = [](const std::string& line) {
        const Table table = table_of(line);
        const auto mapped = training_case(Row(table, 0));
        REQUIRE_FALSE(mapped.has_value());
        return mapped.error();
    };
    CHECK(why("a,megatron-lm,tpu,16,8,24,2048,16,51200,1024,0,fp16,2,1,8,,2,64,1,").reason ==
          "GPU 'tpu' has no file");
    CHECK(why("a,megatron-lm,a100,,8,24,2048,16,51200,1024,0,fp16,2,1,8,,2,64,1,").reason ==
          "it does not state the number of GPUs");
    CHECK(why("a,megatron-lm,a100,16,8,24,2048,16,51200,1024,0,fp16,3,1,8,,2,64,1,").reason ==
          "tp 3 x pp 1 x cp 1 does not divide 16 GPUs");
    CHECK(why("a,magic,a100,16,8,24,2048,16,51200,1024,0,fp16,2,1,8,,2,64,1,").reason ==
          "framework 'magic' has no stack file");
    CHECK(why("a,megatron-lm,a100,16,8,,2048,16,51200,1024,0,fp16,2,1,8,,2,64,1,").reason ==
          "it does not state layers");
    CHECK(why("a,megatron-lm,a100,16,8,24,2048,16,51200,1024,0,fp16,2,1,8,,2,64,,").reason ==
          "it states neither a step time, nor tokens/s, nor a memory peak");
    CHECK(why("a,nemo,h100,16,8,24,2048,16,51200,1024,0,,2,1,8,,2,64,1,").reason ==
          "it does not state a precision");
    const NotMapped experts =
        why("a,megatron-lm,a100,16,8,24,2048,16,51200,1024,0,fp16,2,1,8,4,2,64,1,");
    CHECK(experts.not_yet);
    CHECK(experts.reason == "expert parallelism");
}

TEST_CASE("a low precision is the recipe of the framework's generation") {
    const auto scenario = [](const std::string& framework, const std::string& precision) {
        const Table table = table_of("a," + framework + ",b200,16,8,24,2048,16,51200,1024,0," +
                                     precision + ",2,1,8,,2,64,1,");
        const auto mapped = training_case(Row(table, 0));
        REQUIRE(mapped.has_value());
        return mapped->scenario;
    };
    const auto says = [](const std::string& text, const char* what) {
        return text.find(what) != std::string::npos;
    };
    CHECK(says(scenario("nemo", "fp8"), "recipe: fp8_delayed\n"));
    CHECK(says(scenario("nemo", "fp8"), "stack: nemo-2024\n"));
    CHECK(says(scenario("nemo (megatron-bridge)", "fp8"), "recipe: fp8_tensorwise\n"));
    CHECK(says(scenario("nemo (megatron-bridge)", "mxfp8"), "recipe: mxfp8\n"));
    CHECK(says(scenario("torchtitan", "fp8"), "recipe: fp8_tensorwise\n"));
    CHECK_FALSE(says(scenario("nemo", "bf16"), "recipe: fp8"));
}

TEST_CASE("a row is predicted, the same on any number of threads") {
    const std::vector<Table> tables = {
        table_of("a,megatron-lm,a100-80g-sxm,2,8,4,1024,16,51200,1024,0,fp16,2,1,1,,2,4,1,\n"
                 "b,megatron-lm,a100-80g-sxm,8,8,4,1024,16,51200,1024,0,fp16,2,1,4,,2,16,1,\n"
                 "c,megatron-lm,a100-80g-sxm,7,8,4,1024,16,51200,1024,0,fp16,2,1,4,,2,16,1,")};
    DiskFiles files;
    ValidateOptions options;
    options.data_roots = {MEMWALL_SOURCE_DIR};
    options.threads = 1;
    const auto alone = validate(tables, files, options);
    options.threads = 3;
    const auto several = validate(tables, files, options);
    REQUIRE(alone.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(alone[i].predicted_time == several[i].predicted_time);
        CHECK(alone[i].reason == several[i].reason);
    }
    CHECK(alone[1].status == RowStatus::Scored);
    CHECK(alone[1].predicted_time > 0);
    CHECK(alone[2].status == RowStatus::Unmapped);
}

TEST_CASE("FSDP of Composer, of fms-fsdp and InternEvo have stacks of their own") {
    const std::string row = ",a100-80g-sxm,8,8,4,1024,16,51200,1024,0,bf16,1,1,8,,2,16,1,";
    const std::vector<Table> tables = {
        table_of("a,fsdp (Composer)" + row + "\nb,fsdp" + row + "\nc,internevo" + row)};
    const std::vector<std::string> stacks = {"composer-2023", "fsdp1-2024", "internevo-2024"};
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        const auto mapped = training_case(Row(tables[0], i));
        REQUIRE(mapped.has_value());
        CHECK(mapped->stack == stacks[i]);
        // Composer's own optimizer is not fused.
        CHECK((mapped->scenario.find("optimizer: adamw\n") != std::string::npos) == (i == 0));
    }
    DiskFiles files;
    ValidateOptions options;
    options.data_roots = {MEMWALL_SOURCE_DIR};
    for (const ValidatedRow& predicted : validate(tables, files, options)) {
        CAPTURE(predicted.reason);
        CHECK(predicted.status == RowStatus::Scored);
    }
}
