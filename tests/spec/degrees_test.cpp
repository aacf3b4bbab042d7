#include "sim/spec/degrees.h"

#include <doctest/doctest.h>

using namespace memwall;

namespace {

struct Case {
    Job job;
    Machine machine;
    DocNode document;
    Diagnostics diagnostics;
    std::vector<std::string> derived;

    explicit Case(int nodes) {
        job.nodes = nodes;
        machine.cluster.node.gpus = 8;
    }
    std::optional<Degrees> find() {
        const FoundDegrees found = find_degrees({job, machine, document, diagnostics}, derived);
        return found.sound ? std::optional(found.degrees) : std::nullopt;
    }
    [[nodiscard]] std::string code() const {
        return diagnostics.has_errors() ? diagnostics.sorted()[0].code : "";
    }
    [[nodiscard]] std::string hint() const {
        return diagnostics.has_errors() ? diagnostics.sorted()[0].hint : "";
    }
};

}  // namespace

TEST_CASE("the degree that is auto fills the machine, whichever it is") {
    Case dp(128);
    dp.job.parallel.tp = 8;
    dp.job.parallel.pp = 8;
    REQUIRE(dp.find());
    CHECK(dp.find()->dp == 16);
    CHECK(dp.derived.front() == "parallel.dp");
    Case pp(128);
    pp.job.parallel.tp = 8;
    pp.job.parallel.pp = std::nullopt;
    pp.job.parallel.dp = 4;
    REQUIRE(pp.find());
    CHECK(pp.find()->pp == 32);
}

TEST_CASE("a product that is not the number of GPUs is refused with the dp that would do") {
    Case c(128);
    c.job.parallel.tp = 8;
    c.job.parallel.pp = 8;
    c.job.parallel.dp = 15;
    CHECK_FALSE(c.find());
    CHECK(c.code() == "E0310");
    CHECK(c.hint() == "say `dp: 16`, or `dp: auto`");
}

TEST_CASE("two autos, and a product too large for any integer, are refused") {
    Case two(1);
    two.job.parallel.tp = std::nullopt;
    CHECK_FALSE(two.find());
    CHECK(two.code() == "E0311");
    Case huge(1);
    huge.job.parallel.tp = 2'000'000'000;
    huge.job.parallel.pp = 2'000'000'000;
    huge.job.parallel.cp = 2'000'000'000;
    huge.job.parallel.dp = 2'000'000'000;
    CHECK_FALSE(huge.find());
    CHECK(huge.code() == "E0310");
}

TEST_CASE("shard x replicate is dp x cp") {
    const auto sharded =
        [](ShardingKind kind, std::optional<int> shard, std::optional<int> replicate) {
            Case c(8);
            c.job.parallel.sharding.kind = kind;
            c.job.parallel.sharding.shard = shard;
            c.job.parallel.sharding.replicate = replicate;
            const std::optional<Degrees> d = c.find();
            return std::tuple(d ? d->shard : 0, d ? d->replicate : 0, c.code());
        };
    CHECK(sharded(ShardingKind::None, {}, {}) == std::tuple(1, 64, ""));
    CHECK(sharded(ShardingKind::Fsdp, {}, {}) == std::tuple(64, 1, ""));
    CHECK(sharded(ShardingKind::Hsdp, 8, {}) == std::tuple(8, 8, ""));
    CHECK(sharded(ShardingKind::Hsdp, {}, 4) == std::tuple(16, 4, ""));
    CHECK(sharded(ShardingKind::Zero1, {}, {}) == std::tuple(64, 1, ""));
    CHECK(sharded(ShardingKind::Hsdp, {}, {}) == std::tuple(0, 0, "E0319"));
    CHECK(sharded(ShardingKind::Hsdp, 8, 4) == std::tuple(0, 0, "E0319"));
    CHECK(sharded(ShardingKind::Fsdp, 3, {}) == std::tuple(0, 0, "E0319"));
    CHECK(sharded(ShardingKind::Fsdp, 8, {}) == std::tuple(0, 0, "E0319"));  // that is hsdp
    CHECK(sharded(ShardingKind::Fsdp, 128, {}) == std::tuple(0, 0, "E0319"));
}

TEST_CASE("a shard that does not divide the ranks is named, without numbers that nobody gave") {
    Case c(4);
    c.job.parallel.sharding.kind = ShardingKind::Fsdp;
    c.job.parallel.sharding.shard = 64;
    CHECK_FALSE(c.find());
    CHECK(c.diagnostics.sorted()[0].text == "shard 64 does not divide dp 32 x cp 1 = 32");
    CHECK(c.hint() == "leave shard out: the states are then shared by all 32 ranks");
    Case h(4);
    h.job.parallel.sharding.kind = ShardingKind::Hsdp;
    h.job.parallel.sharding.replicate = 5;
    CHECK_FALSE(h.find());
    CHECK(h.diagnostics.sorted()[0].text == "replicate 5 does not divide dp 32 x cp 1 = 32");
    CHECK(h.hint() == "divisors of 32: 1, 2, 4, 8, 16, 32");
}

TEST_CASE(
    "micro-batches are the global batch over micro x dp, or an error with the nearest that "
    "divide") {
    Case c(8);
    c.job.degrees.dp = 64;
    c.job.batch = {128, 1};
    CHECK(find_micro_batches({c.job, c.machine, c.document, c.diagnostics}) == 2);
    c.job.batch = {130, 1};
    CHECK_FALSE(find_micro_batches({c.job, c.machine, c.document, c.diagnostics}));
    CHECK(c.code() == "E0320");
    CHECK(c.hint() == "the nearest that are: 128 and 192");
    Case huge(8);
    huge.job.degrees.dp = 1;
    huge.job.batch = {std::int64_t{1} << 40, 1};
    CHECK_FALSE(find_micro_batches({huge.job, huge.machine, huge.document, huge.diagnostics}));
    CHECK(huge.code() == "E0336");
}
