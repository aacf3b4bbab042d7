// Small programs whose times follow from a formula. Times are picoseconds.
#include "sim/run/engine.h"

#include <array>

#include <doctest/doctest.h>

#include "tests/run/synthetic.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

// Programs are written item by item; each op is an item of its own.
class Writer {
  public:
    explicit Writer(const Shape& shape) {
        c.shape = shape;
        c.slower.assign(static_cast<std::size_t>(shape.world()), 0);
        c.nic = 1e12;
        c.programs.labels = {"op"};
        c.programs.slots = 64;
        c.programs.programs.resize(static_cast<std::size_t>(shape.pp));
    }

    std::uint32_t kernel(Ps time) {
        c.programs.kernels.emplace_back(Measured{});
        c.kernel_times.push_back(time);
        return static_cast<std::uint32_t>(c.kernel_times.size() - 1);
    }
    std::uint32_t collective(GroupRole role, std::int64_t bytes) {
        c.programs.collectives.push_back({CollectiveKind::AllReduce, role, Bytes(bytes)});
        return static_cast<std::uint32_t>(c.programs.collectives.size() - 1);
    }
    Op& op(int stage, OpKind kind, Stream stream, Category category, std::uint32_t work) {
        Op o;
        o.kind = kind;
        o.stream = stream;
        o.category = category;
        o.work = work;
        Item item;
        item.kind = Item::Kind::Op;
        item.index = static_cast<std::uint32_t>(c.programs.ops.size());
        c.programs.programs[static_cast<std::size_t>(stage)].items.push_back(item);
        c.programs.ops.push_back(o);
        return c.programs.ops.back();
    }
    Op& compute(int stage, std::uint32_t work) {
        return op(stage, OpKind::Compute, Stream::Compute, Category::Compute, work);
    }
    Op& exchange(int stage, Stream stream, PeerTransfer transfer) {
        c.programs.exchanges.push_back({{transfer}});
        return op(stage,
                  OpKind::Exchange,
                  stream,
                  Category::PpComm,
                  static_cast<std::uint32_t>(c.programs.exchanges.size() - 1));
    }

    SyntheticCase c;
};

Played run(const SyntheticCase& c, bool coalesce = true) {
    Bound bound = bind_synthetic(c, coalesce);
    return play(bound);
}

Ps step_time(const Played& played) {
    REQUIRE(played.deadlock.empty());
    REQUIRE(played.step_ends.size() == 2);
    return (played.step_ends[1] - played.step_ends[0]).count();
}

constexpr std::uint16_t kForwardIn = 0;
constexpr std::uint16_t kForwardOut = 1;
constexpr std::uint16_t kBackwardIn = 2;
constexpr std::uint16_t kBackwardOut = 3;
constexpr std::uint16_t kTied = 4;

// One forward, one backward in the steady state; p stages, m micro-batches, messages of no bytes.
SyntheticCase one_f_one_b(int p, int m, Ps forward, Ps backward) {
    Writer w({.tp = 1, .pp = p, .dp = 1});
    const std::uint32_t f = w.kernel(forward);
    const std::uint32_t b = w.kernel(backward);
    for (int s = 0; s < p; ++s) {
        const auto run_forward = [&] {
            if (s > 0) {
                w.exchange(s, Stream::PpRecvPrev, {false, s - 1, 0, Bytes(0)}).records = kForwardIn;
            }
            Op& op = w.compute(s, f);
            op.waits[0] = kForwardIn;
            op.records = kForwardOut;
            if (s + 1 < p) {
                w.exchange(s, Stream::PpSendNext, {true, s + 1, 0, Bytes(0)}).waits[0] =
                    kForwardOut;
            }
        };
        const auto run_backward = [&] {
            if (s + 1 < p) {
                w.exchange(s, Stream::PpRecvNext, {false, s + 1, 1, Bytes(0)}).records =
                    kBackwardIn;
            }
            Op& op = w.compute(s, b);
            op.waits[0] = kBackwardIn;
            op.records = kBackwardOut;
            if (s > 0) {
                w.exchange(s, Stream::PpSendPrev, {true, s - 1, 1, Bytes(0)}).waits[0] =
                    kBackwardOut;
            }
        };
        const int warm_up = std::min(m, p - 1 - s);
        for (int i = 0; i < warm_up; ++i) {
            run_forward();
        }
        for (int i = 0; i < m; ++i) {
            if (warm_up + i < m) {
                run_forward();
            }
            run_backward();
        }
    }
    return w.c;
}

}  // namespace

// The first stage waits (p-1)(f+b) of every step of (m+p-1)(f+b). Source: Narayanan et al., SC21, section 2.2.
TEST_CASE("the bubble of 1F1B is (p-1)/(m+p-1) of the step") {
    const Ps f = 1000;
    const Ps b = 2000;
    for (const auto& [p, m] :
         {std::array{2, 2}, std::array{4, 8}, std::array{4, 4}, std::array{8, 24}}) {
        CAPTURE(p);
        CAPTURE(m);
        const Played played = run(one_f_one_b(p, m, f, b));
        CHECK(step_time(played) == (m + p - 1) * (f + b));
        CHECK(played.ranks[0].breakdown.bubble.count() == (p - 1) * (f + b));
        for (const RankClass& rank : played.ranks) {
            CHECK(rank.breakdown.compute.count() == m * (f + b));
            CHECK(rank.breakdown.bubble.count() == (p - 1) * (f + b));
        }
    }
}

// What a stage waits at the end of the step, in a collective with a stage that still drains, is bubble too.
TEST_CASE("waiting for another stage in a collective is bubble") {
    const int p = 4;
    SyntheticCase c = one_f_one_b(p, 6, 1000, 2000);
    c.programs.collectives.push_back(
        {CollectiveKind::AllReduce, GroupRole::Embedding, Bytes(1'000'000)});
    for (const int stage : {0, p - 1}) {
        Op op;
        op.kind = OpKind::Collective;
        op.stream = Stream::Dp;
        op.category = Category::DpComm;
        op.waits[0] = kBackwardOut;
        op.records = kTied;
        Op optimizer;
        optimizer.category = Category::Optimizer;
        optimizer.waits[0] = kTied;
        for (const Op& o : {op, optimizer}) {
            Item item;
            item.kind = Item::Kind::Op;
            item.index = static_cast<std::uint32_t>(c.programs.ops.size());
            c.programs.programs[static_cast<std::size_t>(stage)].items.push_back(item);
            c.programs.ops.push_back(o);
        }
    }
    const Played played = run(c);
    for (const int stage : {0, p - 1}) {
        const Breakdown& of = played.ranks[static_cast<std::size_t>(stage)].breakdown;
        CHECK(of.bubble.count() == (p - 1) * 3000);
        CHECK(of.imbalance.count() == 0);
        CHECK(of.exposed[static_cast<std::size_t>(Category::DpComm)].count() > 0);
    }
}

TEST_CASE("a pipeline of one stage has no bubble") {
    const Played played = run(one_f_one_b(1, 5, 10, 20));
    CHECK(step_time(played) == 5 * 30);
    CHECK(played.ranks[0].breakdown.bubble.count() == 0);
}

// 1,000 bytes over a link of 10^12 B/s take 1,000 ps, rounded up to at most 1,001; two groups whose members share their NIC
// get half of its rate each.
TEST_CASE("two rings through one link get half of it each") {
    for (const int tp : {1, 2}) {
        Writer w({.tp = tp, .pp = 1, .dp = 2});
        const std::uint32_t ring = w.collective(GroupRole::Dp, 1000);
        w.op(0, OpKind::Collective, Stream::Dp, Category::DpComm, ring).records = 0;
        w.compute(0, w.kernel(1)).waits[0] = 0;
        w.c.nics_shared_by_tp = true;
        const Played played = run(w.c);
        // The next step's ring is launched at once and runs beside the kernel.
        const Ps rounding = step_time(played) - Ps{1000} * tp;
        CHECK(rounding >= 0);
        CHECK(rounding <= 1);
    }
}

TEST_CASE("a rank that launches slower than its kernels run is bound by its host") {
    Writer w({});
    for (int i = 0; i < 10; ++i) {
        w.compute(0, w.kernel(30)).host = Duration(100);
    }
    const Played played = run(w.c);
    CHECK(step_time(played) == 10 * 100);
    CHECK(played.ranks[0].breakdown.compute.count() == 10 * 30);
    CHECK(played.ranks[0].breakdown.host.count() == 10 * 70);
}

TEST_CASE("a drain makes the host wait for the device") {
    Writer w({});
    w.compute(0, w.kernel(500)).host = Duration(10);
    w.op(0, OpKind::Drain, Stream::Compute, Category::None, 0).host = Duration(1);
    // Nothing is launched ahead: each step pays its launch after the step before has ended.
    CHECK(step_time(run(w.c)) == 500 + 10);
    w.c.programs.ops[1].kind = OpKind::HostWork;
    CHECK(step_time(run(w.c)) == 500);
}

// A kernel counts the communication that started strictly before it and ends strictly after its start.
TEST_CASE("a kernel that starts together with a transfer is not slowed by it") {
    Writer w({.tp = 1, .pp = 1, .dp = 2});
    w.c.dp_blocks = 1;
    w.c.growth_per_block = 0.5;
    w.c.dp_delay = 250;
    const std::uint32_t ring = w.collective(GroupRole::Dp, 0);
    w.compute(0, w.kernel(100)).records = 0;
    w.op(0, OpKind::Collective, Stream::Dp, Category::DpComm, ring).waits[0] = 0;
    w.compute(0, 0);  // starts with the ring, at 100
    w.compute(0, 0);  // at 200, inside of it: takes 150
    w.compute(0, 0);  // at 350, when it ends
    w.op(0, OpKind::Drain, Stream::Compute, Category::None, 0);
    const Played played = run(w.c);
    CHECK(step_time(played) == 100 + 100 + 150 + 100);
    CHECK(played.ranks[0].breakdown.interference.count() == 50);
}

TEST_CASE("ranks that wait for each other are named with what they wait for") {
    Writer w({.tp = 1, .pp = 2, .dp = 1});
    for (int s = 0; s < 2; ++s) {
        w.exchange(s, Stream::Compute, {false, 1 - s, 0, Bytes(8)});
        w.exchange(s, Stream::Compute, {true, 1 - s, 0, Bytes(8)});
    }
    const Played played = run(w.c);
    CHECK(played.step_ends.empty());
    REQUIRE(played.deadlock.size() == 2);
    CHECK(played.deadlock[0].rank == 0);
    CHECK(played.deadlock[0].waits_for == "rank 1 (stage 1) to send");
    CHECK(played.deadlock[1].waits_for == "rank 0 (stage 0) to send");
}

TEST_CASE("a message that nobody receives is named by its stages") {
    Writer w({.tp = 1, .pp = 2, .dp = 1});
    w.exchange(0, Stream::PpSendNext, {true, 1, 0, Bytes(8)});
    w.compute(1, w.kernel(1));
    const Played played = run(w.c);
    REQUIRE(played.deadlock.size() >= 1);
    CHECK(played.deadlock[0].op ==
          "stage 0 sends 1 messages to stage 1 on channel 0 in a step, which receives 0");
}

TEST_CASE("a program without ops ends when it starts") {
    Writer w({});
    CHECK(step_time(run(w.c)) == 0);
}

TEST_CASE("the same programs give the same result twice") {
    const SyntheticCase c = random_case(77);
    const Played a = run(c);
    const Played b = run(c);
    CHECK(a.step_ends == b.step_ends);
    CHECK(a.events == b.events);
    CHECK(a.link_bytes == b.link_bytes);
}
