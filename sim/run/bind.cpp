#include "sim/run/bind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sim/core/check.h"
#include "sim/hardware/kernel_time.h"
#include "sim/hardware/stack_rates.h"
#include "sim/run/call_streams.h"
#include "sim/run/groups.h"
#include "sim/run/patterns.h"
#include "sim/run/skew.h"
#include "sim/run/stepwise.h"

namespace memwall {
namespace {

std::uint32_t size32(std::size_t n) {
    return static_cast<std::uint32_t>(n);
}

class Binder {
  public:
    Binder(const Plan& plan,
           const Fabric& fabric,
           const std::vector<const ProgramSet*>& programs,
           bool coalesce)
        : plan_(plan), fabric_(fabric), patterns_(fabric, bound_), stepwise_(fabric, bound_) {
        bound_.code = compile_programs(programs, coalesce);
        bound_.steps = plan.run.steps;
    }

    tl::expected<Bound, std::string> run() {
        add_links();
        bound_.transfers.emplace_back();  // stands for calls that a group never makes
        bound_.transfers.back().streams = 0;
        for (std::uint32_t j = 0; j < plan_.jobs.size(); ++j) {
            add_ranks(j);
            add_groups(j);
            add_messages(j);
            if (!patterns_.error().empty()) {
                return tl::unexpected(patterns_.error());
            }
            if (!error_.empty()) {
                return tl::unexpected(error_);
            }
            bound_.job_start.push_back(plan_.jobs[j].start.count());
        }
        add_kernels();
        find_isolated(bound_);
        return std::move(bound_);
    }

  private:
    void add_links() {
        bound_.links.reserve(fabric_.links().size());
        for (std::uint32_t l = 0; l < fabric_.links().size(); ++l) {
            const Link& link = fabric_.links()[l];
            const std::uint32_t outgoing = fabric_.leaves_node(LinkId(l)) ? 1 : 0;
            bound_.links.push_back({l,
                                    1,
                                    link.available().value,
                                    2 * static_cast<std::uint32_t>(link.tier) + outgoing});
        }
        bound_.capacities = link_capacities(fabric_);
    }

    void add_ranks(std::uint32_t j) {
        const Job& job = plan_.jobs[j];
        ranks_ = ranks_of(job.degrees, size32(bound_.ranks.size()));
        const std::uint32_t per_stage = ranks_.tp * ranks_.cp * ranks_.dp;
        const std::size_t world = bound_.ranks.size() + std::size_t{per_stage} * ranks_.pp;
        bound_.ranks.reserve(world);
        bound_.transfers.reserve(4 *
                                 world);  // about what a pipeline needs: two messages, a few calls
        bound_.usages.reserve(24 * world);
        for (std::uint32_t r = 0; r < per_stage * ranks_.pp; ++r) {
            BoundRank rank;
            rank.program = bound_.code.first_program[j] + r / per_stage;
            rank.representative = r;
            rank.kind = j == 0 ? kind_of(static_cast<int>(r)) : 0;
            rank.groups.fill(kNone32);
            bound_.ranks.push_back(rank);
            devices_.push_back(device_of(plan_, job, r));
        }
    }

    // Kind 0 is the healthy device; stragglers are ranks of the first job.
    std::uint32_t kind_of(int rank) {
        for (const Straggler& s : plan_.machine.stragglers) {
            if (s.rank == rank && s.slower != 0) {
                const auto found = std::find(slower_.begin(), slower_.end(), s.slower);
                if (found == slower_.end()) {
                    slower_.push_back(s.slower);
                    return size32(slower_.size() - 1);
                }
                return size32(static_cast<std::size_t>(found - slower_.begin()));
            }
        }
        return 0;
    }

    void add_groups(std::uint32_t j) {
        const ProgramSet& set = *bound_.code.jobs[j];
        count_calls(j);
        std::vector<std::uint32_t> members;
        const auto used = [&](GroupRole role) {
            return calls_[static_cast<std::size_t>(role)] > 0;
        };
        for_each_group(ranks_, plan_.jobs[j].degrees, used, [&](const GroupRanks& group) {
            members.clear();
            for (std::uint32_t i = 0; i < group.n; ++i) {
                members.push_back(group.from + i * group.step);
            }
            add_group(j, set, group.role, members);
        });
    }

    // Calls by role, and the streams that each is made on.
    void count_calls(std::uint32_t j) {
        const ProgramSet& set = *bound_.code.jobs[j];
        calls_.fill(0);
        first_call_ = bound_.call_in_role.size();
        for (const CollectiveCall& call : set.collectives) {
            bound_.call_in_role.push_back(calls_[static_cast<std::size_t>(call.role)]++);
        }
        streams_of_call_ = call_streams(set);
        messages_at_once_ = count_messages_at_once(set);
        for (std::size_t p = 0; p < set.programs.size(); ++p) {
            made_.push_back(calls_made(set, set.programs[p]));
        }
    }

    // One exchange per stream is in progress; it may send a peer several messages.
    static std::int32_t count_messages_at_once(const ProgramSet& set) {
        std::array<std::int32_t, kStreams> most{};
        for (const Op& op : set.ops) {
            if (op.kind != OpKind::Exchange) {
                continue;
            }
            const auto& transfers = set.exchanges[op.work].transfers;
            for (const PeerTransfer& t : transfers) {
                const auto same = static_cast<std::int32_t>(std::count_if(
                    transfers.begin(), transfers.end(), [&](const PeerTransfer& other) {
                        return t.send && other.send && other.stage == t.stage;
                    }));
                std::int32_t& of_stream = most[static_cast<std::size_t>(op.stream)];
                of_stream = std::max(of_stream, same);
            }
        }
        return std::max(1, std::accumulate(most.begin(), most.end(), 0));
    }

    void add_group(std::uint32_t j,
                   const ProgramSet& set,
                   GroupRole role,
                   const std::vector<std::uint32_t>& members) {
        BoundGroup group;
        group.role = role;
        group.members_begin = size32(bound_.members.size());
        bound_.members.insert(bound_.members.end(), members.begin(), members.end());
        group.members_end = size32(bound_.members.size());
        group.transfers = size32(bound_.group_transfers.size());
        group.transfers_end = group.transfers + calls_[static_cast<std::size_t>(role)];
        for (const std::uint32_t m : members) {
            bound_.ranks[m].groups[static_cast<std::size_t>(role)] = size32(bound_.groups.size());
        }
        bound_.groups.push_back(group);
        ++owner_;
        if (group.transfers_end == group.transfers) {
            return;
        }
        const bool spans_stages =
            role == GroupRole::Pp || role == GroupRole::Embedding || role == GroupRole::World;
        const std::vector<bool>& made = made_[bound_.ranks[members.front()].program];
        group_devices_.clear();
        for (const std::uint32_t m : members) {
            group_devices_.push_back(devices_[m]);
        }
        patterns_.begin_group(group_devices_);
        for (std::size_t c = 0; c < set.collectives.size(); ++c) {
            if (set.collectives[c].role != role) {
                continue;
            }
            std::uint32_t t = 0;  // the one that is never made
            if (spans_stages || made[c]) {
                const CollectiveCall& call = set.collectives[c];
                const TimedLinks alone = patterns_.collective(first_call_ + c, call);
                const CollectiveTime time = in_step(alone.time,
                                                    plan_.machine,
                                                    plan_.jobs[j].stack,
                                                    static_cast<int>(group_devices_.size()));
                t = add_transfer(j, {time, alone.links}, call.bytes, false);
                bound_.transfers[t].streams = streams_of_call_[c];
                if (plan_.machine.fidelity == Fidelity::Stepwise && error_.empty() &&
                    patterns_.error().empty()) {
                    error_ = stepwise_.add(t, call, group_devices_);
                }
            }
            bound_.group_transfers.push_back(t);
        }
    }

    void add_messages(std::uint32_t j) {
        const Code& code = bound_.code;
        const std::uint32_t per_stage = ranks_.tp * ranks_.cp * ranks_.dp;
        for (std::uint32_t r = ranks_.first; r < ranks_.first + per_stage * ranks_.pp; ++r) {
            BoundRank& rank = bound_.ranks[r];
            const CodeProgram& program = code.programs[rank.program];
            rank.peers = size32(bound_.peers.size());
            rank.messages = size32(bound_.message_transfers.size());
            for (const std::uint32_t stage : program.peers) {
                bound_.peers.push_back(r + (stage - program.program) * per_stage);
            }
            std::uint16_t at = kNone16;
            for (const Message& m : program.messages) {
                if (m.peer != at) {
                    patterns_.begin_pair(devices_[r], devices_[bound_.peers[rank.peers + m.peer]]);
                    at = m.peer;
                    ++owner_;
                }
                bound_.message_transfers.push_back(
                    add_transfer(j, patterns_.message(m.bytes), m.bytes, true));
            }
        }
    }

    std::uint32_t add_transfer(std::uint32_t j,
                               const TimedLinks& planned,
                               Bytes bytes,
                               bool message) {
        const auto& [time, links] = planned;
        const StackInterference& interference = plan_.jobs[j].stack.interference;
        BoundTransfer t;
        t.delay = time.delay.count();
        t.flow = (time.alone - time.delay).count();
        t.cap = time.cap;
        t.bytes = time.cap > 0 ? bytes.value : 0;
        t.weight = time.weight;
        if (plan_.machine.interference && interference.enabled) {
            const double share = time.crosses_nodes ? interference.cross_node_share : 1;
            t.blocks = static_cast<std::int32_t>(std::lround(time.blocks * share));
        }
        t.at_once = message ? messages_at_once_ : 1;
        t.owner = owner_;
        if (t.bytes > 0) {
            t.usage_begin = links.begin;
            t.usage_end = links.end;
            if (links.limit < t.cap) {
                t.flow = duration_from_seconds(static_cast<double>(t.bytes) / links.limit).count();
            }
        }
        bound_.transfers.push_back(t);
        return size32(bound_.transfers.size() - 1);
    }

    void add_kernels() {
        struct Work {
            const Kernel* kernel;
            std::size_t job;
        };
        std::vector<Work> kernels;
        std::vector<Gpu> gpus;  // as the stack of each job uses it
        for (std::size_t j = 0; j < bound_.code.jobs.size(); ++j) {
            gpus.push_back(as_used_by(plan_.machine.cluster.node.gpu, plan_.jobs[j].stack));
            for (const Kernel& kernel : bound_.code.jobs[j]->kernels) {
                kernels.push_back({&kernel, j});
            }
        }
        const auto count = size32(kernels.size());
        bound_.kernels = KernelTimes(
            size32(slower_.size()),
            count,
            [kernels = std::move(kernels), slower = slower_, gpus = std::move(gpus)](
                std::uint32_t kind, std::uint32_t kernel, int blocks) {
                const Work& work = kernels[kernel];
                const Gpu& gpu = gpus[work.job];
                // Kernels of several groups at once may ask for more blocks than the card has SMs.
                const int held = std::min(blocks, gpu.sms - 1);
                const Duration healthy = kernel_time(gpu, *work.kernel, held).duration;
                return slower[kind] == 0
                           ? healthy
                           : Duration(std::llround(static_cast<double>(healthy.count()) *
                                                   (1 + slower[kind])));
            });
    }

    const Plan& plan_;
    const Fabric& fabric_;
    Bound bound_;
    Patterns patterns_;
    StepwiseBinder stepwise_;
    std::string error_;
    JobRanks ranks_;
    std::vector<DeviceId> devices_;  // by rank of Bound
    std::vector<double> slower_ = {0};
    std::array<std::uint32_t, kGroupRoles> calls_{};
    std::size_t first_call_ = 0;  // of the job at hand, of Bound::call_in_role
    std::vector<std::uint16_t> streams_of_call_;
    std::int32_t messages_at_once_ = 1;
    std::vector<std::vector<bool>> made_;  // by program of all jobs, by collective of its job
    std::uint32_t owner_ = 0;
    std::vector<DeviceId> group_devices_;
};

}  // namespace

DeviceId device_of(const Plan& plan, const Job& job, std::uint32_t rank) {
    const auto per_node = static_cast<std::uint32_t>(plan.machine.cluster.node.gpus);
    const auto first = static_cast<std::uint32_t>(job.first_node);
    const auto world = static_cast<std::uint32_t>(job.degrees.world());
    const std::uint32_t nodes = (world + per_node - 1) / per_node;
    const std::uint32_t node =
        plan.machine.node_order == NodeOrder::Block ? rank / per_node : rank % nodes;
    const std::uint32_t local =
        plan.machine.node_order == NodeOrder::Block ? rank % per_node : rank / nodes;
    return DeviceId{std::size_t{first + node} * per_node + local};
}

tl::expected<Bound, std::string> bind_plan(const Plan& plan,
                                           const Fabric& fabric,
                                           const std::vector<const ProgramSet*>& programs,
                                           bool coalesce) {
    MW_CHECK(programs.size() == plan.jobs.size(), "one set of programs per job");
    return Binder(plan, fabric, programs, coalesce).run();
}

}  // namespace memwall
