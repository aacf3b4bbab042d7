#include "tests/run/synthetic.h"

#include <cmath>

namespace memwall::testing {
namespace {

constexpr std::uint16_t kRecvForward = 0;  // slots
constexpr std::uint16_t kRecvBackward = 1;
constexpr std::uint16_t kForwardOut = 2;
constexpr std::uint16_t kBackwardOut = 3;
constexpr std::uint16_t kBucket = 4;   // and 5: recorded inside backward segments
constexpr std::uint16_t kReduced = 6;  // and 7
constexpr std::uint16_t kFirstLocal = 8;
constexpr std::uint16_t kSlots = 40;

enum class P2p { Blocking, Batched, Overlapped };

class Generator {
  public:
    Generator(std::uint64_t seed, bool repeating) : dice_(seed), repeating_(repeating) {}

    SyntheticCase make() {
        out_.shape = {static_cast<int>(dice_.range(1, 3)),
                      static_cast<int>(dice_.range(1, 4)),
                      static_cast<int>(dice_.range(1, 2))};
        p2p_ = static_cast<P2p>(dice_.range(0, 2));
        micro_batches_ = static_cast<int>(repeating_ ? dice_.range(12, 40) : dice_.range(1, 5));
        bucket_each_ = dice_.chance(repeating_ ? 30 : 0);
        drain_each_ = dice_.chance(repeating_ ? 30 : 0);
        host_ = dice_.chance(50) ? dice_.range(1, 400) : dice_.range(1, 10);
        const auto kernels = dice_.range(2, 6);
        for (std::int64_t k = 0; k < kernels; ++k) {
            out_.programs.kernels.emplace_back(Measured{});
            out_.kernel_times.push_back(dice_.range(1, 1000));
        }
        set().collectives = {
            {CollectiveKind::AllReduce, GroupRole::Tp, Bytes(dice_.range(0, 600))},
            {CollectiveKind::AllGather, GroupRole::Tp, Bytes(dice_.range(1, 300))},
            {CollectiveKind::AllReduce, GroupRole::Dp, Bytes(dice_.range(1, 3000))},
            {CollectiveKind::AllReduce, GroupRole::Embedding, Bytes(dice_.range(1, 500))}};
        set().labels = {"op"};
        set().slots = kSlots;
        machine();
        for (int s = 0; s < out_.shape.pp; ++s) {
            stage(s);
        }
        return out_;
    }

  private:
    ProgramSet& set() { return out_.programs; }
    int pp() const { return out_.shape.pp; }

    void machine() {
        const int stragglers = dice_.chance(30) ? 10 : 0;
        for (int r = 0; r < out_.shape.world(); ++r) {
            out_.slower.push_back(
                dice_.chance(stragglers) ? static_cast<double>(dice_.range(1, 5)) / 10 : 0);
        }
        out_.growth_per_block =
            dice_.chance(70) ? static_cast<double>(dice_.range(1, 30)) / 100 : 0;
        out_.tp_shares_links = dice_.chance(20);
        out_.nics_shared_by_tp = dice_.chance(30);
        out_.tp_blocks = static_cast<int>(dice_.range(0, 3));
        out_.dp_blocks = static_cast<int>(dice_.range(0, 3));
        out_.message_blocks = static_cast<int>(dice_.range(0, 2));
        out_.nic = dice_.chance(50) ? 1e12 : 4e12;
        out_.message_delay = dice_.chance(30) ? 0 : dice_.range(1, 300);
        out_.tp_delay = dice_.chance(30) ? 0 : dice_.range(1, 100);
        out_.dp_delay = dice_.chance(30) ? 0 : dice_.range(1, 300);
    }

    Op op(OpKind kind, Stream stream, Category category, std::uint32_t work) {
        Op o;
        o.kind = kind;
        o.stream = stream;
        o.category = category;
        o.work = work;
        o.host = Duration(dice_.range(0, host_));
        return o;
    }
    static void wait(Op& o, std::uint16_t slot) {
        for (std::uint16_t& w : o.waits) {
            if (w == kNoSlot) {
                w = slot;
                return;
            }
        }
    }

    // Kernels and tp collectives; a collective waits for the kernel before it, and mostly the next kernel for it.
    std::uint32_t segment(bool backward) {
        Segment s;
        s.name = backward ? "backward" : "forward";
        std::uint16_t slot = kFirstLocal;
        std::uint16_t last_kernel = kNoSlot;
        std::vector<std::uint16_t> pending;
        const auto ops = dice_.range(1, 9);
        const std::uint16_t in = backward ? kRecvBackward : kRecvForward;
        bool first = true;
        if (dice_.chance(35)) {  // leading collectives, mostly behind all compute ops before them
            Op o = op(OpKind::Collective, Stream::Tp, Category::TpComm, 1);
            wait(o, in);
            if (dice_.chance(80)) {
                wait(o, kForwardOut);
                wait(o, kBackwardOut);
            }
            o.records = slot;
            pending.push_back(slot++);
            s.ops.push_back(o);
        }
        for (std::int64_t i = 0; i < ops; ++i) {
            if (!first && dice_.chance(40)) {
                Op o = op(OpKind::Collective,
                          Stream::Tp,
                          Category::TpComm,
                          static_cast<std::uint32_t>(dice_.range(0, 1)));
                if (last_kernel != kNoSlot && dice_.chance(95)) {
                    wait(o, last_kernel);
                }
                if (slot < kSlots - 1) {
                    o.records = slot;
                    pending.push_back(slot++);
                }
                s.ops.push_back(o);
                continue;
            }
            Op o = op(OpKind::Compute,
                      Stream::Compute,
                      dice_.chance(30) ? Category::Recompute : Category::Compute,
                      static_cast<std::uint32_t>(
                          dice_.range(0, static_cast<std::int64_t>(out_.kernel_times.size()) - 1)));
            if (first) {
                wait(o, in);
                if (dice_.chance(20)) {
                    wait(o, kReduced);  // of a bucket of the step before, or never
                }
            }
            first = false;
            for (const std::uint16_t p : pending) {
                if (dice_.chance(70)) {
                    wait(o, p);
                }
            }
            if (!pending.empty() && dice_.chance(80)) {
                pending.clear();
            }
            if (slot < kSlots - 1) {
                last_kernel = slot;
                o.records = slot++;
            }
            if (backward && dice_.chance(25)) {
                o.records = static_cast<std::uint16_t>(kBucket + dice_.range(0, 1));
                last_kernel = kNoSlot;
            }
            s.ops.push_back(o);
            if (dice_.chance(10)) {
                Op h = op(OpKind::HostWork, Stream::Compute, Category::None, 0);
                s.ops.push_back(h);
            }
        }
        Op last = op(OpKind::Compute, Stream::Compute, Category::Compute, 0);
        for (const std::uint16_t p : pending) {
            if (dice_.chance(80)) {
                wait(last, p);
            }
        }
        if (first) {
            last.waits = {in, last.waits[0], last.waits[1], last.waits[2]};
        }
        last.records = backward ? kBackwardOut : kForwardOut;
        s.ops.push_back(last);
        set().segments.push_back(s);
        return static_cast<std::uint32_t>(set().segments.size() - 1);
    }

    void add_op(const Op& o, int micro_batch = -1) {
        Item item;
        item.kind = Item::Kind::Op;
        item.index = static_cast<std::uint32_t>(set().ops.size());
        item.micro_batch = micro_batch;
        const auto same = [&](const Op& other) {
            return other.kind == o.kind && other.stream == o.stream && other.work == o.work &&
                   other.waits == o.waits && other.records == o.records;
        };
        const auto known = std::find_if(set().ops.begin(), set().ops.end(), same);
        if (repeating_ && known != set().ops.end()) {
            item.index = static_cast<std::uint32_t>(known - set().ops.begin());
        } else {
            set().ops.push_back(o);
        }
        program_->items.push_back(item);
    }
    void add_segment(std::uint32_t index, int micro_batch, bool backward) {
        Item item;
        item.index = index;
        item.micro_batch = micro_batch;
        item.backward = backward;
        program_->items.push_back(item);
    }

    void exchange(const std::vector<PeerTransfer>& transfers,
                  Stream overlapped_stream,
                  std::uint16_t waits,
                  const std::vector<std::uint16_t>& receives) {
        if (transfers.empty()) {
            return;
        }
        const Stream stream = p2p_ == P2p::Blocking  ? Stream::Compute
                              : p2p_ == P2p::Batched ? Stream::PpSendNext
                                                     : overlapped_stream;
        const auto known = std::find_if(
            set().exchanges.begin(), set().exchanges.end(), [&](const Exchange& other) {
                return repeating_ && other.transfers == transfers;
            });
        const auto index = static_cast<std::uint32_t>(known - set().exchanges.begin());
        if (known == set().exchanges.end()) {
            set().exchanges.push_back({transfers});
        }
        Op o = op(OpKind::Exchange, stream, Category::PpComm, index);
        if (waits != kNoSlot && p2p_ != P2p::Blocking) {
            wait(o, waits);
        }
        for (const std::uint16_t r : receives) {
            o.records = r;
        }
        add_op(o);
    }

    // 1F1B. Sends and receives of one place are one exchange, apart when overlapped.
    void stage(int s) {
        set().programs.emplace_back();
        program_ = &set().programs.back();
        program_->stage = s;
        const std::uint32_t forward = segment(false);
        const std::uint32_t backward = segment(true);
        const int warm_up = std::min(micro_batches_, pp() - 1 - s);
        const Bytes activation(700);
        const Bytes gradient(500);
        const auto receive_forward = [&] {
            if (s > 0) {
                exchange(
                    {{false, s - 1, 0, activation}}, Stream::PpRecvPrev, kNoSlot, {kRecvForward});
            }
        };
        const auto send_forward = [&] {
            if (s + 1 < pp()) {
                exchange({{true, s + 1, 0, activation}}, Stream::PpSendNext, kForwardOut, {});
            }
        };
        const auto receive_backward = [&] {
            if (s + 1 < pp()) {
                exchange(
                    {{false, s + 1, 1, gradient}}, Stream::PpRecvNext, kNoSlot, {kRecvBackward});
            }
        };
        const auto send_backward = [&] {
            if (s > 0) {
                exchange({{true, s - 1, 1, gradient}}, Stream::PpSendPrev, kBackwardOut, {});
            }
        };
        int f = 0;
        for (; f < warm_up; ++f) {
            receive_forward();
            add_segment(forward, f, false);
            send_forward();
        }
        for (int b = 0; b < micro_batches_; ++b) {
            const bool together = p2p_ != P2p::Overlapped && f < micro_batches_ && s + 1 < pp();
            if (f < micro_batches_) {
                receive_forward();
                add_segment(forward, f++, false);
                if (together) {
                    exchange({{true, s + 1, 0, activation}, {false, s + 1, 1, gradient}},
                             Stream::PpSendNext,
                             kForwardOut,
                             {kRecvBackward});
                } else {
                    send_forward();
                }
            }
            if (!together) {
                receive_backward();
            }
            add_segment(backward, b, true);
            send_backward();
            if (dice_.chance(repeating_ ? 1 : 40) || bucket_each_) {
                const auto which = static_cast<std::uint16_t>(bucket_each_ ? 0 : dice_.range(0, 1));
                Op bucket = op(OpKind::Collective, Stream::Dp, Category::DpComm, 2);
                wait(bucket, static_cast<std::uint16_t>(kBucket + which));
                bucket.records = static_cast<std::uint16_t>(kReduced + which);
                buckets_wanted_.push_back(bucket);
                add_op(bucket, b);
            }
            if (dice_.chance(repeating_ ? 0 : 10) || drain_each_) {
                add_op(op(OpKind::Drain, Stream::Compute, Category::None, 0));
            }
        }
        if (pp() > 1 && (s == 0 || s + 1 == pp())) {
            Op tied = op(OpKind::Collective, Stream::Dp, Category::DpComm, 3);
            wait(tied, kBackwardOut);
            tied.records = kReduced;
            add_op(tied);
        }
        Op optimizer = op(OpKind::Compute, Stream::Compute, Category::Optimizer, 0);
        wait(optimizer, kReduced);
        wait(optimizer, kReduced + 1);
        optimizer.records = dice_.chance(70) ? kForwardOut : kNoSlot;
        add_op(optimizer);
        if (dice_.chance(30)) {
            Op gather = op(OpKind::Collective, Stream::Gather, Category::FsdpGather, 2);
            wait(gather, kReduced);
            add_op(gather);
        }
        if (dice_.chance(20)) {
            Op copy = op(OpKind::Compute, Stream::Copy, Category::OffloadCopy, 0);
            copy.records = kReduced;
            add_op(copy);
        }
    }

    Dice dice_;
    bool repeating_;
    bool bucket_each_ = false;  // after each micro-batch
    bool drain_each_ = false;
    SyntheticCase out_;
    Program* program_ = nullptr;
    P2p p2p_ = P2p::Batched;
    int micro_batches_ = 1;
    std::int64_t host_ = 1;
    std::vector<Op> buckets_wanted_;
};

}  // namespace

SyntheticCase random_case(std::uint64_t seed) {
    return Generator(seed, false).make();
}

SyntheticCase repeating_case(std::uint64_t seed) {
    return Generator(seed, true).make();
}

Bound bind_synthetic(const SyntheticCase& c, bool coalesce) {
    Bound bound;
    bound.code = compile_programs({&c.programs}, coalesce);
    bound.job_start = {0};
    const auto [tp, pp, dp] = c.shape;
    const auto world = static_cast<std::uint32_t>(c.shape.world());
    // Links: out, in of each rank's NIC, then one NVLink port per rank.
    const auto nic = [&](std::uint32_t r) {
        return c.nics_shared_by_tp
                   ? r / static_cast<std::uint32_t>(tp) * static_cast<std::uint32_t>(tp)
                   : r;
    };
    for (std::uint32_t l = 0; l < 3 * world; ++l) {
        bound.links.push_back({l, 1, l < 2 * world ? c.nic : 2e12});
        bound.capacities.push_back(bound.links.back().capacity);
    }
    std::uint32_t owner = 0;
    const auto add_transfer =
        [&](std::vector<Usage> usage, std::int64_t bytes, Ps delay, int blocks, bool message) {
            std::sort(usage.begin(), usage.end());
            usage.erase(std::unique(usage.begin(), usage.end()), usage.end());
            BoundTransfer t;
            t.delay = delay;
            t.bytes = bytes;
            t.cap = 1.5e12;
            t.blocks = blocks;
            t.at_once = message ? 4 : 1;
            t.owner = owner;
            t.usage_begin = static_cast<std::uint32_t>(bound.usages.size());
            double rate = t.cap;
            for (const Usage& u : usage) {
                rate = std::min(rate, bound.capacities[u.link]);
                bound.usages.push_back(u);
            }
            t.usage_end = static_cast<std::uint32_t>(bound.usages.size());
            t.flow = static_cast<Ps>(std::ceil(static_cast<double>(bytes) / rate * 1e12));
            bound.transfers.push_back(t);
            return static_cast<std::uint32_t>(bound.transfers.size() - 1);
        };
    const std::vector<CollectiveCall>& calls = c.programs.collectives;
    std::array<std::uint32_t, kGroupRoles> counts{};
    for (const CollectiveCall& call : calls) {
        bound.call_in_role.push_back(counts[static_cast<std::size_t>(call.role)]++);
    }
    bound.ranks.resize(world);
    for (BoundRank& rank : bound.ranks) {
        rank.groups.fill(kNone32);
    }
    const auto add_group = [&](GroupRole role, const std::vector<std::uint32_t>& members) {
        BoundGroup g;
        g.role = role;
        g.members_begin = static_cast<std::uint32_t>(bound.members.size());
        bound.members.insert(bound.members.end(), members.begin(), members.end());
        g.members_end = static_cast<std::uint32_t>(bound.members.size());
        g.transfers = static_cast<std::uint32_t>(bound.group_transfers.size());
        ++owner;
        for (const CollectiveCall& call : calls) {
            if (call.role != role) {
                continue;
            }
            std::vector<Usage> usage;
            for (const std::uint32_t m : members) {
                const bool port = role == GroupRole::Tp && !c.tp_shares_links;
                if (members.size() > 1) {
                    usage.push_back({port ? 2 * world + m : nic(m), std::int64_t{1} << 20});
                }
            }
            const bool alone = members.size() == 1;
            bound.group_transfers.push_back(
                add_transfer(usage,
                             alone ? 0 : call.bytes.value,
                             alone                   ? 0
                             : role == GroupRole::Tp ? c.tp_delay
                                                     : c.dp_delay,
                             role == GroupRole::Tp ? c.tp_blocks : c.dp_blocks,
                             false));
            const auto bit = [](Stream stream) { return 1U << static_cast<unsigned>(stream); };
            bound.transfers.back().streams = static_cast<std::uint16_t>(
                role == GroupRole::Tp ? bit(Stream::Tp) : bit(Stream::Dp) | bit(Stream::Gather));
        }
        g.transfers_end = static_cast<std::uint32_t>(bound.group_transfers.size());
        for (const std::uint32_t m : members) {
            bound.ranks[m].groups[static_cast<std::size_t>(role)] =
                static_cast<std::uint32_t>(bound.groups.size());
        }
        bound.groups.push_back(g);
    };
    const auto rank_at = [&, tp = tp, dp = dp](int t, int d, int s) {
        return static_cast<std::uint32_t>(t + tp * (d + dp * s));
    };
    for (int s = 0; s < pp; ++s) {
        for (int d = 0; d < dp; ++d) {
            std::vector<std::uint32_t> members;
            for (int t = 0; t < tp; ++t) {
                members.push_back(rank_at(t, d, s));
            }
            add_group(GroupRole::Tp, members);
        }
        for (int t = 0; t < tp; ++t) {
            std::vector<std::uint32_t> members;
            for (int d = 0; d < dp; ++d) {
                members.push_back(rank_at(t, d, s));
            }
            add_group(GroupRole::Dp, members);
        }
    }
    for (int d = 0; d < dp && pp > 1; ++d) {
        for (int t = 0; t < tp; ++t) {
            add_group(GroupRole::Embedding, {rank_at(t, d, 0), rank_at(t, d, pp - 1)});
        }
    }
    for (int s = 0; s < pp; ++s) {
        for (int d = 0; d < dp; ++d) {
            for (int t = 0; t < tp; ++t) {
                const std::uint32_t r = rank_at(t, d, s);
                BoundRank& rank = bound.ranks[r];
                const CodeProgram& program = bound.code.programs[static_cast<std::size_t>(s)];
                rank.program = static_cast<std::uint32_t>(s);
                rank.representative = r;
                rank.kind = static_cast<std::uint32_t>(c.slower[r] * 10 + 0.5);
                rank.peers = static_cast<std::uint32_t>(bound.peers.size());
                for (const std::uint32_t p : program.peers) {
                    bound.peers.push_back(rank_at(t, d, static_cast<int>(p)));
                }
                rank.messages = static_cast<std::uint32_t>(bound.message_transfers.size());
                for (const Message& m : program.messages) {
                    const std::uint32_t q = rank_at(t, d, static_cast<int>(program.peers[m.peer]));
                    ++owner;
                    bound.message_transfers.push_back(add_transfer(
                        {{nic(r), std::int64_t{1} << 20}, {world + nic(q), std::int64_t{1} << 20}},
                        m.bytes.value,
                        c.message_delay,
                        c.message_blocks,
                        true));
                }
            }
        }
    }
    const std::vector<Ps> times = c.kernel_times;
    const double growth = c.growth_per_block;
    bound.kernels = KernelTimes(
        6,
        static_cast<std::uint32_t>(times.size()),
        [times, growth](std::uint32_t kind, std::uint32_t kernel, int blocks) {
            return Duration(static_cast<Ps>(std::ceil(static_cast<double>(times[kernel]) *
                                                      (1 + 0.1 * kind) * (1 + growth * blocks))));
        });
    find_isolated(bound);
    return bound;
}

}  // namespace memwall::testing
