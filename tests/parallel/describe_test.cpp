#include "sim/parallel/describe.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "sim/core/check.h"
#include "tests/parallel/fixture.h"

using namespace memwall;
using namespace memwall::test;

TEST_CASE("a listing has one line per op, and its memory sums to zero over a step") {
    const Shape shape{.tp = 2, .pp = 2, .dp = 2, .m = 2};
    Job job = tiny_job(shape);
    job.parallel.sharding.kind = ShardingKind::Fsdp;
    const ProgramSet set = lower(job, trace_of(shape));
    for (const bool expand : {false, true}) {
        std::int64_t memory = 0;
        std::size_t expected = 0;
        for (const Item& item : set.programs[0].items) {
            const bool segment = item.kind == Item::Kind::Segment;
            expected += segment && expand ? set.segments[item.index].ops.size() : 1;
        }
        const auto lines = list_program(set, 0, expand);
        CHECK(lines.size() == expected);
        for (const ProgramLine& line : lines) {
            memory += line.memory;
            CHECK_FALSE(line.label.empty());
            CHECK_FALSE(line.work.empty());
        }
        CHECK(memory == 0);
    }
}

TEST_CASE("work is described with its shape, group and peers") {
    CHECK(describe_kernel(Gemm{.m = 2, .n = 3, .k = 4}) == "gemm 2 x 3 x 4 bf16");
    CHECK(describe_kernel(Gemm{.m = 2, .n = 3, .k = 4, .batch = 5, .dtype = Dtype::Fp16}) ==
          "gemm 5 of 2 x 3 x 4 fp16");
    CHECK(describe_kernel(MemoryBound{.kind = MemoryKind::Norm, .bytes = Bytes(7)}) == "norm 7 B");
    CHECK(describe_collective(
              {.kind = CollectiveKind::AllGather, .role = GroupRole::Shard, .bytes = Bytes(9)}) ==
          "all-gather shard 9 B");
    const Exchange exchange{
        .transfers = {{.send = true, .stage = 1, .channel = 0, .bytes = Bytes(8)},
                      {.send = false, .stage = 3, .channel = 1, .bytes = Bytes(6)}}};
    CHECK(describe_exchange(exchange) ==
          "send activation to stage 1: 8 B; receive gradient from stage 3: 6 B");
}

TEST_CASE("a program that is not there is our bug") {
    const ProgramSet set = lower(tiny_job({}), trace_of({}));
    CHECK_THROWS_AS((void)list_program(set, 1, false), BugError);
}
