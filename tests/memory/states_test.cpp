#include "sim/memory/states.h"

#include <array>
#include <vector>

#include <doctest/doctest.h>

#include "sim/core/check.h"

using namespace memwall;

namespace {

constexpr std::int64_t kLlama3 = 8'030'261'248;  // parameters of Llama-3 8B
const Precision kBf16;                           // 2 + 2 + 4 + 8 bytes

double gib(const StateBytes& states) {
    return static_cast<double>(states.sum()) / (1 << 30);
}

StateBytes states(std::int64_t parameters, ShardingKind kind, int shard) {
    const std::array units = {RankParameters{.trained = parameters}};
    return model_states(units, kBf16, kind, shard);
}

}  // namespace

// Glossary: 16 B, 4 + 12/d, 2 + 14/d, 16/d per parameter at d = 8.
TEST_CASE("model states of Llama-3 8B over 8 ranks are the published figures") {
    CHECK(gib(states(kLlama3, ShardingKind::None, 1)) == doctest::Approx(119.66).epsilon(1e-4));
    CHECK(gib(states(kLlama3, ShardingKind::Zero1, 8)) == doctest::Approx(41.13).epsilon(2e-4));
    CHECK(gib(states(kLlama3, ShardingKind::Zero2, 8)) == doctest::Approx(28.05).epsilon(2e-4));
    CHECK(gib(states(kLlama3, ShardingKind::Zero3, 8)) == doctest::Approx(14.96).epsilon(3e-4));
    CHECK(states(kLlama3, ShardingKind::None, 1).sum() == 16 * kLlama3);
    CHECK(states(kLlama3, ShardingKind::Zero1, 8).sum() == 4 * kLlama3 + 12 * kLlama3 / 8);
    CHECK(states(kLlama3, ShardingKind::Zero2, 8).sum() == 2 * kLlama3 + 14 * kLlama3 / 8);
    CHECK(states(kLlama3, ShardingKind::Fsdp, 8).sum() == 2 * kLlama3);
}

TEST_CASE("the shards of all ranks hold the whole and less than one padding per rank more") {
    for (const ShardingKind kind :
         {ShardingKind::Zero1, ShardingKind::Zero2, ShardingKind::Zero3, ShardingKind::Hsdp}) {
        for (int shard = 1; shard <= 17; ++shard) {
            for (const std::int64_t parameters : {1LL, 7LL, 16LL, 1000LL, 12345LL}) {
                const std::int64_t optimizer = states(parameters, kind, shard).optimizer;
                CHECK(optimizer * shard >= 8 * parameters);
                CHECK(optimizer * shard < 8 * (parameters + shard));
            }
        }
    }
}

TEST_CASE("a fully sharded rank pads each unit, ZeRO-1 pads once") {
    // 3 units of 9 parameters over 8 ranks: 3 x 2 against ceil(27/8) = 4 parameters per rank.
    const std::array units = {
        RankParameters{.trained = 9}, RankParameters{.trained = 9}, RankParameters{.trained = 9}};
    CHECK(model_states(units, kBf16, ShardingKind::Fsdp, 8).optimizer == 6 * 8);
    CHECK(model_states(units, kBf16, ShardingKind::Zero1, 8).optimizer == 4 * 8);
}

TEST_CASE("frozen parameters are held without gradient, master copy and moments") {
    const std::array units = {RankParameters{.trained = 100, .frozen = 50}};
    const StateBytes bytes = model_states(units, kBf16, ShardingKind::None, 1);
    CHECK(bytes.parameters == 300);
    CHECK(bytes.gradients == 200);
    CHECK(bytes.master == 400);
    CHECK(bytes.optimizer == 800);
}

TEST_CASE("tensor parallelism divides matrices and repeats norms") {
    LayerTrace layer;
    layer.parameters = {{.name = "norm", .rows = 64},
                        {.name = "up", .rows = 256, .columns = 64, .split = Split::Tp},
                        {.name = "bias", .rows = 10, .trained = false}};
    const RankParameters rank = rank_parameters(layer, 4);
    CHECK(rank.trained == 64 + 256 * 64 / 4);
    CHECK(rank.frozen == 10);
    CHECK(rank.tied == 0);
}

TEST_CASE("weights kept in fp32 are gathered in 16 bits, unless products run in fp32") {
    Precision precision;
    precision.weight_bytes = 4;
    CHECK(gathered_bytes_per_parameter(precision) == 2);
    precision.compute = Dtype::Fp8;
    CHECK(gathered_bytes_per_parameter(precision) == 2);
    precision.compute = Dtype::Tf32;
    CHECK(gathered_bytes_per_parameter(precision) == 4);
}

TEST_CASE("no states are counted over an empty shard group") {
    CHECK_THROWS_AS((void)states(100, ShardingKind::Zero1, 0), BugError);
    CHECK_THROWS_AS((void)rank_parameters({}, 0), BugError);
    CHECK(model_states({}, kBf16, ShardingKind::Fsdp, 8).sum() == 0);
}
