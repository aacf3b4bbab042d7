#include "tests/run/naive.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace memwall::testing {
namespace {

struct NaiveOp {
    const Op* op = nullptr;
    int rank = 0;
    int step = 0;
    int place = 0;                        // in program order, over both steps
    std::vector<int> after;               // ops of the same rank that must have ended
    std::optional<Ps> ready, start, end;  // start: of the activity, when peers have come
    std::vector<int> transfers;           // of an exchange
};

// A collective or a message while it is in progress.
struct NaiveTransfer {
    const BoundTransfer* bound = nullptr;
    std::vector<int> ops;  // that wait for it
    std::vector<int> ranks;
    std::optional<Ps> start, end;
    std::optional<FlowId> flow;
};

class Naive {
  public:
    Naive(const SyntheticCase& c, Bound& bound)
        : c_(c), bound_(bound), network_(bound.capacities, bound.usages) {
        for (int r = 0; r < static_cast<int>(bound.ranks.size()); ++r) {
            add_rank(r);
        }
        add_transfers();
    }

    NaiveResult run() {
        Ps now = 0;
        while (true) {
            while (finish_at(now) || start_at(now)) {
            }
            network_.settle(Time(Duration(now)));
            const std::optional<Ps> next = next_after(now);
            if (!next) {
                break;
            }
            now = *next;
        }
        return result();
    }

  private:
    void add_rank(int r) {
        const int stage = r / (c_.shape.tp * c_.shape.dp);
        const Program& program = c_.programs.programs[static_cast<std::size_t>(stage)];
        std::map<int, int> stream_last;  // stream -> op
        std::map<int, int> slot_last;
        std::vector<int> issued;
        int drain = -1;
        for (int step = 0; step < 2; ++step) {
            for (const Item& item : program.items) {
                const auto add = [&](const Op& op) {
                    NaiveOp n;
                    n.op = &op;
                    n.rank = r;
                    n.step = step;
                    n.place = static_cast<int>(issued.size());
                    if (op.kind == OpKind::Drain) {
                        n.after = issued;
                    } else if (op.kind != OpKind::HostWork) {
                        if (const auto last = stream_last.find(static_cast<int>(op.stream));
                            last != stream_last.end()) {
                            n.after.push_back(last->second);
                        }
                        for (const std::uint16_t w : op.waits) {
                            if (const auto last = slot_last.find(w);
                                w != kNoSlot && last != slot_last.end()) {
                                n.after.push_back(last->second);
                            }
                        }
                    }
                    const int id = static_cast<int>(ops_.size());
                    // The host: after the op before it in program order has been issued, or drained.
                    host_before_.push_back(issued.empty() ? -1 : issued.back());
                    drain_before_.push_back(drain);
                    ops_.push_back(n);
                    issued.push_back(id);
                    if (op.kind == OpKind::Drain) {
                        drain = id;
                    } else if (op.kind != OpKind::HostWork) {
                        stream_last[static_cast<int>(op.stream)] = id;
                        if (op.records != kNoSlot) {
                            slot_last[op.records] = id;
                        }
                    }
                };
                if (item.kind == Item::Kind::Segment) {
                    for (const Op& op : c_.programs.segments[item.index].ops) {
                        add(op);
                    }
                } else {
                    add(c_.programs.ops[item.index]);
                }
            }
        }
    }

    void add_transfers() {
        // Collectives: the k-th call of a group on a stream. Messages: the k-th send with the k-th receive.
        std::map<std::tuple<std::uint32_t, int, int>, int> collectives;  // group, stream, k
        std::map<std::tuple<int, int, int>, int> calls;                  // rank, role, stream -> k
        std::map<std::tuple<int, int, int, int>, int> messages;          // from, to, channel, k
        std::map<std::tuple<int, int, int, bool>, int> counts;
        for (int id = 0; id < static_cast<int>(ops_.size()); ++id) {
            NaiveOp& n = ops_[static_cast<std::size_t>(id)];
            const auto r = static_cast<std::uint32_t>(n.rank);
            if (n.op->kind == OpKind::Collective) {
                const CollectiveCall& call = c_.programs.collectives[n.op->work];
                const std::uint32_t g = bound_.ranks[r].groups[static_cast<std::size_t>(call.role)];
                const int stream = static_cast<int>(n.op->stream);
                const int k = calls[{n.rank, static_cast<int>(call.role), stream}]++;
                const auto [found, fresh] =
                    collectives.try_emplace({g, stream, k}, static_cast<int>(transfers_.size()));
                if (fresh) {
                    const BoundGroup& group = bound_.groups[g];
                    NaiveTransfer t;
                    t.bound =
                        &bound_.transfers[bound_.group_transfers[group.transfers +
                                                                 bound_.call_in_role[n.op->work]]];
                    t.ranks.assign(bound_.members.begin() + group.members_begin,
                                   bound_.members.begin() + group.members_end);
                    transfers_.push_back(t);
                }
                transfers_[static_cast<std::size_t>(found->second)].ops.push_back(id);
                n.transfers.push_back(found->second);
            }
            if (n.op->kind != OpKind::Exchange) {
                continue;
            }
            const int per_stage = c_.shape.tp * c_.shape.dp;
            const int stage = n.rank / per_stage;
            for (const PeerTransfer& p : c_.programs.exchanges[n.op->work].transfers) {
                const int peer = n.rank + (p.stage - stage) * per_stage;
                const int from = p.send ? n.rank : peer;
                const int to = p.send ? peer : n.rank;
                const int k = counts[{from, to, p.channel, p.send}]++;
                const auto [found, fresh] = messages.try_emplace(
                    {from, to, p.channel, k}, static_cast<int>(transfers_.size()));
                if (fresh) {
                    NaiveTransfer t;
                    t.ranks = {from, to};
                    t.bound =
                        message(static_cast<std::uint32_t>(from), p.stage, p.bytes, p.send, stage);
                    transfers_.push_back(t);
                }
                transfers_[static_cast<std::size_t>(found->second)].ops.push_back(id);
                n.transfers.push_back(found->second);
            }
        }
    }

    const BoundTransfer* message(
        std::uint32_t from, int peer_stage, Bytes bytes, bool send, int stage) const {
        const CodeProgram& program = bound_.code.programs[bound_.ranks[from].program];
        const int to_stage = send ? peer_stage : stage;
        for (std::size_t m = 0; m < program.messages.size(); ++m) {
            if (program.peers[program.messages[m].peer] == static_cast<std::uint32_t>(to_stage) &&
                program.messages[m].bytes == bytes) {
                return &bound_.transfers[bound_.message_transfers[bound_.ranks[from].messages + m]];
            }
        }
        return nullptr;
    }

    std::optional<Ps> issue(int id) {
        // Host time since the last drain, op by op.
        Ps host = 0;
        for (int i = id; i >= 0; i = host_before_[static_cast<std::size_t>(i)]) {
            if (i != id && ops_[static_cast<std::size_t>(i)].op->kind == OpKind::Drain) {
                const auto& end = ops_[static_cast<std::size_t>(i)].end;
                return end ? std::optional<Ps>(*end + host) : std::nullopt;
            }
            host += ops_[static_cast<std::size_t>(i)].op->host.count();
        }
        return host;
    }

    // When the op can start or join; nothing while that is not known.
    std::optional<Ps> ready(int id) {
        std::optional<Ps> at = issue(id);
        for (const int before : ops_[static_cast<std::size_t>(id)].after) {
            const NaiveOp& b = ops_[static_cast<std::size_t>(before)];
            if (b.op->kind == OpKind::HostWork || b.op->kind == OpKind::Drain) {
                continue;
            }
            if (!at || !b.end) {
                return std::nullopt;
            }
            at = std::max(*at, *b.end);
        }
        return at;
    }

    int blocks(int rank, Ps now) const {
        int sum = 0;
        for (const int t : active_) {
            const NaiveTransfer& x = transfers_[static_cast<std::size_t>(t)];
            if (*x.start < now &&
                std::find(x.ranks.begin(), x.ranks.end(), rank) != x.ranks.end()) {
                sum += x.bound->blocks;
            }
        }
        return sum;
    }

    bool start_at(Ps now) {
        bool any = false;
        for (int id = 0; id < static_cast<int>(ops_.size()); ++id) {
            NaiveOp& n = ops_[static_cast<std::size_t>(id)];
            if (n.ready || n.op->kind == OpKind::HostWork) {
                continue;
            }
            const std::optional<Ps> at = ready(id);
            if (!at || *at > now) {
                continue;
            }
            any = true;
            n.ready = *at;
            if (n.op->kind == OpKind::Drain) {
                n.end = *at;
            } else if (n.op->kind == OpKind::Compute) {
                const bool compute = n.op->stream == Stream::Compute;
                const auto kind = bound_.ranks[static_cast<std::size_t>(n.rank)].kind;
                n.start = *at;
                n.end = *at +
                        bound_.kernels.column(kind, compute ? blocks(n.rank, now) : 0)[n.op->work];
            } else {
                join(id, now);
            }
        }
        return any;
    }

    void join(int id, Ps now) {
        for (const int t : ops_[static_cast<std::size_t>(id)].transfers) {
            NaiveTransfer& x = transfers_[static_cast<std::size_t>(t)];
            const bool all = x.ops.size() == x.ranks.size() &&
                             std::all_of(x.ops.begin(), x.ops.end(), [&](int o) {
                                 return ops_[static_cast<std::size_t>(o)].ready.has_value();
                             });
            if (!all) {
                continue;
            }
            x.start = now;
            active_.insert(t);
            if (x.bound->isolated) {
                x.end = now + x.bound->delay + x.bound->flow;
            }
        }
    }

    // Delays that are over, transfers that have ended.
    bool finish_at(Ps now) {
        bool any = false;
        for (const int t : std::vector<int>(active_.begin(), active_.end())) {
            NaiveTransfer& x = transfers_[static_cast<std::size_t>(t)];
            if (!x.bound->isolated && !x.flow && *x.start + x.bound->delay == now) {
                x.flow = network_.start(
                    {x.bound->usage_begin, x.bound->usage_end, x.bound->cap, x.bound->weight},
                    Bytes(x.bound->bytes),
                    Time(Duration(now)));
                continue;
            }
            const std::optional<Ps> end = end_of(x);
            if (!end || *end != now) {
                continue;
            }
            any = true;
            x.end = now;
            if (x.flow) {
                network_.stop(*x.flow, Time(Duration(now)));
            }
            active_.erase(t);
            for (const int o : x.ops) {
                NaiveOp& n = ops_[static_cast<std::size_t>(o)];
                const bool done =
                    std::all_of(n.transfers.begin(), n.transfers.end(), [&](int other) {
                        const NaiveTransfer& y = transfers_[static_cast<std::size_t>(other)];
                        return y.end && *y.end <= now && active_.count(other) == 0;
                    });
                n.end = done ? std::optional<Ps>(now) : std::nullopt;
            }
        }
        return any;
    }

    std::optional<Ps> end_of(const NaiveTransfer& x) const {
        if (x.bound->isolated) {
            return x.end;
        }
        return x.flow ? std::optional<Ps>(network_.completion(*x.flow).time_since_epoch().count())
                      : std::nullopt;
    }

    std::optional<Ps> next_after(Ps now) {
        std::optional<Ps> next;
        const auto offer = [&](std::optional<Ps> at) {
            if (at && *at > now && (!next || *at < *next)) {
                next = at;
            }
        };
        for (const int t : active_) {
            const NaiveTransfer& x = transfers_[static_cast<std::size_t>(t)];
            offer(end_of(x));
            offer(*x.start + x.bound->delay);
        }
        for (int id = 0; id < static_cast<int>(ops_.size()); ++id) {
            if (!ops_[static_cast<std::size_t>(id)].ready &&
                ops_[static_cast<std::size_t>(id)].op->kind != OpKind::HostWork) {
                offer(ready(id));
            }
        }
        return next;
    }

    NaiveResult result() const {
        NaiveResult out;
        out.step_ends.assign(2, 0);
        out.finished.assign(bound_.ranks.size(), 0);
        out.compute.assign(bound_.ranks.size(), 0);
        for (const NaiveOp& n : ops_) {
            if (n.op->kind == OpKind::HostWork || n.op->kind == OpKind::Drain) {
                continue;
            }
            if (!n.end) {
                out.deadlock = true;
                continue;
            }
            Ps& end = out.step_ends[static_cast<std::size_t>(n.step)];
            end = std::max(end, *n.end);
            Ps& finished = out.finished[static_cast<std::size_t>(n.rank)];
            finished = n.step == 1 ? std::max(finished, *n.end) : finished;
        }
        for (const NaiveOp& n : ops_) {
            if (n.step == 1 && n.op->kind == OpKind::Compute && n.op->stream == Stream::Compute &&
                n.end) {
                out.compute[static_cast<std::size_t>(n.rank)] +=
                    std::max<Ps>(0, *n.end - std::max(*n.start, out.step_ends[0]));
            }
        }
        return out;
    }

    const SyntheticCase& c_;
    Bound& bound_;
    FluidNetwork network_;
    std::vector<NaiveOp> ops_;
    std::vector<int> host_before_;
    std::vector<int> drain_before_;
    std::vector<NaiveTransfer> transfers_;
    std::set<int> active_;
};

}  // namespace

NaiveResult play_naively(const SyntheticCase& c, Bound& bound) {
    return Naive(c, bound).run();
}

}  // namespace memwall::testing
