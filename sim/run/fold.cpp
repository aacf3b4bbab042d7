#include "sim/run/fold.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "sim/core/check.h"
#include "sim/run/colours.h"

namespace memwall {
namespace {

std::uint32_t size32(std::size_t n) {
    return static_cast<std::uint32_t>(n);
}

// What the members of each class of transfers, or of messages, put together on the lowest link of each class of links.
class FoldedUsage {
  public:
    explicit FoldedUsage(const Classes& links) : class_of_lowest_(links.of.size(), kNone32) {
        for (std::uint32_t c = 0; c < links.first.size(); ++c) {
            class_of_lowest_[links.first[c]] = c;
        }
    }

    void add(std::uint32_t user_class, std::span<const Usage> usages) {
        for (const Usage& usage : usages) {
            const std::uint32_t link = class_of_lowest_[usage.link];
            if (link != kNone32) {
                parts_.push_back({user_class, link, usage.coefficient});
            }
        }
    }
    void sort() {
        std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
            return a.user != b.user ? a.user < b.user : a.link < b.link;
        });
    }
    // Of the class, which must be larger than that of the call before.
    void append(std::uint32_t user_class, std::vector<Usage>& to) {
        const std::size_t begin = to.size();
        for (; next_ < parts_.size() && parts_[next_].user == user_class; ++next_) {
            if (to.size() > begin && to.back().link == parts_[next_].link) {
                to.back().coefficient += parts_[next_].coefficient;
            } else {
                to.push_back({parts_[next_].link, parts_[next_].coefficient});
            }
        }
    }

  private:
    struct Part {
        std::uint32_t user;
        std::uint32_t link;
        std::int64_t coefficient;
    };
    std::vector<std::uint32_t> class_of_lowest_;  // by link; kNone32 for all others of a class
    std::vector<Part> parts_;
    std::size_t next_ = 0;
};

class Folder {
  public:
    explicit Folder(Bound bound) : bound_(std::move(bound)) {}

    Folded run() {
        start();
        std::uint32_t before = 0;
        while (true) {
            refine();
            const std::uint32_t now = count_classes(ranks_) + count_classes(groups_) +
                                      count_classes(messages_) + count_classes(links_);
            if (now == before) {
                break;
            }
            before = now;
        }
        return quotient();
    }

  private:
    // Whose a transfer is: the group's that calls it, or the rank's that sends it. Its colour follows from its owner's, which
    // has seen all its transfers from the start.
    struct Seat {
        std::uint32_t owner = kNone32;  // groups, then ranks; kNone32 where nobody makes it
        std::uint32_t index = 0;        // among the owner's
    };
    // What shares a link in time: usages of transfers that are not isolated, on links that can bind.
    // Transfers of one owner over the same links are one user.
    struct Sharing {
        std::uint32_t user = 0;
        std::uint32_t link = 0;         // into links_
        std::uint64_t coefficient = 0;  // mixed: sums of its products with colours are hashes
    };

    void start() {
        std::vector<Colour> transfers;
        transfers.reserve(bound_.transfers.size());
        for (const BoundTransfer& x : bound_.transfers) {
            transfers.push_back(colour_alone(x));
        }
        seats_.resize(transfers.size());
        groups_.reserve(bound_.groups.size());
        for (const BoundGroup& group : bound_.groups) {
            Colour own = mix64(static_cast<std::uint64_t>(group.role));
            for (std::uint32_t i = 0; i < group.transfers_end - group.transfers; ++i) {
                const std::uint32_t t = bound_.group_transfers[group.transfers + i];
                seats_[t] = {size32(groups_.size()), i};
                own = join(own, transfers[t]);
            }
            groups_.push_back(own);
        }
        ranks_.reserve(bound_.ranks.size());
        for (const BoundRank& rank : bound_.ranks) {
            Colour own = join(rank.program, rank.kind);
            const std::size_t messages = bound_.code.programs[rank.program].messages.size();
            for (std::uint32_t i = 0; i < messages; ++i) {
                const std::uint32_t t = bound_.message_transfers[rank.messages + i];
                seats_[t] = {size32(groups_.size() + ranks_.size()), i};
                own = join(own, transfers[t]);
            }
            ranks_.push_back(own);
        }
        start_links();
    }

    static Colour colour_alone(const BoundTransfer& x) {
        Colour own = join(static_cast<std::uint64_t>(x.delay), static_cast<std::uint64_t>(x.flow));
        own = join(own, static_cast<std::uint64_t>(x.bytes));
        own = join(own, std::bit_cast<std::uint64_t>(x.cap));
        own = join(own, static_cast<std::uint64_t>(x.weight));
        own = join(own, static_cast<std::uint64_t>(x.blocks));
        return join(own, x.isolated ? 1 : 0);
    }

    void start_links() {
        shared_number_.assign(bound_.links.size(), kNone32);
        user_of_.assign(bound_.transfers.size(), kNone32);
        sharing_.reserve(bound_.usages.size());
        for (std::uint32_t t = 0; t < bound_.transfers.size(); ++t) {
            const BoundTransfer& x = bound_.transfers[t];
            if (seats_[t].owner == kNone32) {
                continue;
            }
            if (x.steps_begin != x.steps_end) {
                start_steps(t);
            } else if (!x.isolated) {
                const std::size_t known = users_.size();
                user_of_[t] = user_of(t);
                if (users_.size() != known) {
                    share(user_of_[t], usages_of(x));
                }
                // Owners of one class have the same transfers on the same links.
                Colour& owner = colour_of(seats_[t].owner);
                owner = join(owner, users_[user_of_[t]].index);
            }
        }
        heard_.resize(groups_.size() + ranks_.size());
        shown_.resize(users_.size());
        used_.resize(users_.size());
        seen_.resize(links_.size());
    }

    void share(std::uint32_t user, std::span<const Usage> usages) {
        for (const Usage& usage : usages) {
            const double capacity = bound_.capacities[usage.link];
            if (capacity <= 0) {
                continue;
            }
            std::uint32_t& number = shared_number_[usage.link];
            if (number == kNone32) {
                number = size32(links_.size());
                links_.push_back(mix64(std::bit_cast<std::uint64_t>(capacity)));
            }
            sharing_.push_back(
                {user, number, mix64(static_cast<std::uint64_t>(usage.coefficient))});
        }
    }

    // Each message of a step is a user of its own.
    void start_steps(std::uint32_t t) {
        const BoundTransfer& x = bound_.transfers[t];
        for (std::uint32_t s = x.steps_begin; s < x.steps_end; ++s) {
            const BoundStep& step = bound_.collective_steps[s];
            MW_CHECK(step.messages_begin == messages_.size(),
                     "steps are not in order of transfers");
            for (std::uint32_t m = step.messages_begin; m < step.messages_end; ++m) {
                const BoundMessage& message = bound_.step_messages[m];
                messages_.push_back(Hasher(5)
                                        .add(std::uint64_t{s - x.steps_begin})
                                        .add(step.repeat)
                                        .add(std::int64_t{message.latency})
                                        .add(message.bytes)
                                        .add(message.cap)
                                        .add(message.weight)
                                        .value());
                transfer_of_message_.push_back(t);
                share(size32(users_.size()), usages_of(message));
                user_of_message_.push_back(size32(users_.size()));
                users_.emplace_back();
            }
        }
    }

    // Transfers of an owner stand together.
    std::uint32_t user_of(std::uint32_t t) {
        const BoundTransfer& x = bound_.transfers[t];
        for (std::uint32_t other = t; other-- > 0 && bound_.transfers[other].owner == x.owner;) {
            if (user_of_[other] != kNone32 &&
                bound_.transfers[other].usage_begin == x.usage_begin &&
                bound_.transfers[other].usage_end == x.usage_end) {
                return user_of_[other];
            }
        }
        users_.push_back(seats_[t]);
        return size32(users_.size() - 1);
    }

    [[nodiscard]] Colour& colour_of(std::uint32_t owner) {
        const std::size_t groups = groups_.size();
        return owner < groups ? groups_[owner] : ranks_[owner - groups];
    }
    [[nodiscard]] Colour colour_at(Seat seat) { return join(colour_of(seat.owner), seat.index); }

    // Owners of transfers see the links of theirs; so do the messages of steps, and their owners see them.
    void see_links() {
        std::fill(used_.begin(), used_.end(), 0);
        for (const Sharing& s : sharing_) {
            used_[s.user] += links_[s.link] * s.coefficient;
        }
        std::fill(heard_.begin(), heard_.end(), 0);
        for (std::size_t u = 0; u < users_.size(); ++u) {
            if (users_[u].owner != kNone32) {
                heard_[users_[u].owner] += join(used_[u], users_[u].index);
            }
        }
        for (std::size_t m = 0; m < messages_.size(); ++m) {
            const Seat seat = seats_[transfer_of_message_[m]];
            messages_[m] = join(join(messages_[m], used_[user_of_message_[m]]), colour_at(seat));
            heard_[seat.owner] += mix64(messages_[m]);
        }
    }

    // Links see what is on them.
    void refine_links() {
        for (std::size_t u = 0; u < users_.size(); ++u) {
            shown_[u] = users_[u].owner == kNone32 ? 0 : colour_at(users_[u]);
        }
        for (std::size_t m = 0; m < messages_.size(); ++m) {
            shown_[user_of_message_[m]] = mix64(messages_[m]);
        }
        std::fill(seen_.begin(), seen_.end(), 0);
        for (const Sharing& s : sharing_) {
            seen_[s.link] += shown_[s.user] * s.coefficient;
        }
        for (std::size_t l = 0; l < links_.size(); ++l) {
            links_[l] = join(links_[l], seen_[l]);
        }
    }

    void refine_rank(std::size_t r) {
        const BoundRank& rank = bound_.ranks[r];
        Colour own = join(ranks_[r], heard_[groups_.size() + r]);
        for (const std::uint32_t g : rank.groups) {
            if (g != kNone32) {
                own = join(own, groups_[g]);
            }
        }
        const std::size_t peers = bound_.code.programs[rank.program].peers.size();
        for (std::uint32_t p = 0; p < peers; ++p) {
            own = join(own, ranks_[bound_.peers[rank.peers + p]]);
        }
        ranks_[r] = own;
    }

    // What one step finds out the next one sees.
    void refine() {
        see_links();
        // Peers run other programs and ranks stand program by program, so that what is known runs down all stages in one
        // sweep, and up in the next; ranks of one program see the same.
        const std::size_t n = ranks_.size();
        for (std::size_t i = 0; i < n; ++i) {
            refine_rank(downwards_ ? i : n - 1 - i);
        }
        downwards_ = !downwards_;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const BoundGroup& group = bound_.groups[g];
            Colour members = 0;
            for (std::uint32_t m = group.members_begin; m < group.members_end; ++m) {
                members += mix64(ranks_[bound_.members[m]]);
            }
            groups_[g] = join(join(groups_[g], heard_[g]), members);
        }
        refine_links();
    }

    Folded quotient() {
        const Classes ranks = classes_of(ranks_);
        const Classes groups = classes_of(groups_);
        transfers_.reserve(seats_.size());
        for (const Seat seat : seats_) {
            transfers_.push_back(seat.owner == kNone32 ? 0 : colour_at(seat));
        }
        const Classes transfers = classes_of(transfers_);
        const Classes links = link_classes();
        Folded out;
        out.class_of = ranks.of;
        Bound& to = out.bound;
        fold_ranks(to, ranks, groups, transfers);
        fold_groups(to, ranks, groups, transfers);
        fold_transfers(to, transfers, links);
        fold_steps(to, transfers, links);
        for (std::size_t l = 0; l < links.first.size(); ++l) {
            const BoundLink& link = bound_.links[links.first[l]];
            to.links.push_back({link.representative, links.count[l], link.capacity, link.side});
            to.capacities.push_back(bound_.capacities[links.first[l]]);
        }
        to.call_in_role = std::move(bound_.call_in_role);
        to.job_start = std::move(bound_.job_start);
        to.kernels = std::move(bound_.kernels);
        to.steps = bound_.steps;
        to.code = std::move(bound_.code);
        return out;
    }

    template <class User>
    [[nodiscard]] std::span<const Usage> usages_of(const User& user) const {
        return std::span(bound_.usages)
            .subspan(user.usage_begin, user.usage_end - user.usage_begin);
    }

    // Links of one colour that carry the same, isolated transfers included: for the counters. All unused links are one.
    Classes link_classes() const {
        std::vector<Colour> carried(bound_.links.size(), 0);
        for (std::uint32_t t = 0; t < bound_.transfers.size(); ++t) {
            std::int64_t coefficient = 0;  // of the usage before: most transfers have few
            Colour load = 0;
            for (const Usage& usage : usages_of(bound_.transfers[t])) {
                if (usage.coefficient != coefficient) {
                    coefficient = usage.coefficient;
                    load = join(transfers_[t], static_cast<std::uint64_t>(coefficient));
                }
                carried[usage.link] += load;
            }
        }
        for (std::size_t l = 0; l < carried.size(); ++l) {
            if (carried[l] != 0) {
                const Colour shared = shared_number_[l] == kNone32 ? 0 : links_[shared_number_[l]];
                const auto capacity = std::bit_cast<std::uint64_t>(bound_.links[l].capacity);
                carried[l] = join(join(join(carried[l], shared), capacity), bound_.links[l].side);
            }
        }
        return classes_of(carried);
    }

    void fold_ranks(Bound& to,
                    const Classes& ranks,
                    const Classes& groups,
                    const Classes& transfers) const {
        for (std::size_t c = 0; c < ranks.first.size(); ++c) {
            const BoundRank& from = bound_.ranks[ranks.first[c]];
            const CodeProgram& program = bound_.code.programs[from.program];
            BoundRank rank = from;
            rank.multiplicity = ranks.count[c];
            for (std::uint32_t& g : rank.groups) {
                g = g == kNone32 ? kNone32 : groups.of[g];
            }
            rank.peers = size32(to.peers.size());
            for (std::uint32_t p = 0; p < program.peers.size(); ++p) {
                to.peers.push_back(ranks.of[bound_.peers[from.peers + p]]);
            }
            rank.messages = size32(to.message_transfers.size());
            for (std::uint32_t m = 0; m < program.messages.size(); ++m) {
                to.message_transfers.push_back(
                    transfers.of[bound_.message_transfers[from.messages + m]]);
            }
            to.ranks.push_back(rank);
        }
    }

    void fold_groups(Bound& to,
                     const Classes& ranks,
                     const Classes& groups,
                     const Classes& transfers) const {
        std::vector<std::uint32_t> members;
        for (const std::uint32_t g : groups.first) {
            BoundGroup group = bound_.groups[g];
            members.clear();
            for (std::uint32_t m = group.members_begin; m < group.members_end; ++m) {
                members.push_back(ranks.of[bound_.members[m]]);
            }
            std::sort(members.begin(), members.end());
            members.erase(std::unique(members.begin(), members.end()), members.end());
            group.members_begin = size32(to.members.size());
            to.members.insert(to.members.end(), members.begin(), members.end());
            group.members_end = size32(to.members.size());
            const std::uint32_t first = group.transfers;
            const std::uint32_t calls = group.transfers_end - group.transfers;
            group.transfers = size32(to.group_transfers.size());
            group.transfers_end = group.transfers + calls;
            for (std::uint32_t t = 0; t < calls; ++t) {
                to.group_transfers.push_back(transfers.of[bound_.group_transfers[first + t]]);
            }
            to.groups.push_back(group);
        }
    }

    void fold_transfers(Bound& to, const Classes& transfers, const Classes& links) const {
        FoldedUsage usage(links);
        for (std::uint32_t t = 0; t < bound_.transfers.size(); ++t) {
            usage.add(transfers.of[t], usages_of(bound_.transfers[t]));
        }
        usage.sort();
        for (std::uint32_t c = 0; c < transfers.first.size(); ++c) {
            BoundTransfer x = bound_.transfers[transfers.first[c]];
            x.usage_begin = size32(to.usages.size());
            usage.append(c, to.usages);
            x.usage_end = size32(to.usages.size());
            to.transfers.push_back(x);
        }
    }

    // A class of messages is in one step of one class of transfers, and is played once there.
    void fold_steps(Bound& to, const Classes& transfers, const Classes& links) const {
        if (messages_.empty()) {
            return;
        }
        const Classes messages = classes_of(messages_);
        FoldedUsage usage(links);
        for (std::uint32_t m = 0; m < messages_.size(); ++m) {
            usage.add(messages.of[m], usages_of(bound_.step_messages[m]));
        }
        usage.sort();
        std::vector<BoundMessage> folded;
        for (std::uint32_t c = 0; c < messages.first.size(); ++c) {
            BoundMessage message = bound_.step_messages[messages.first[c]];
            message.usage_begin = size32(to.usages.size());
            usage.append(c, to.usages);
            message.usage_end = size32(to.usages.size());
            folded.push_back(message);
        }
        std::vector<std::uint32_t> step_of(messages.first.size(),
                                           kNone32);  // last one that it was met in
        for (std::uint32_t c = 0; c < transfers.first.size(); ++c) {
            BoundTransfer& x = to.transfers[c];
            const std::uint32_t begin = size32(to.collective_steps.size());
            for (std::uint32_t s = x.steps_begin; s < x.steps_end; ++s) {
                BoundStep step = bound_.collective_steps[s];
                const std::uint32_t first = size32(to.step_messages.size());
                for (std::uint32_t m = step.messages_begin; m < step.messages_end; ++m) {
                    const std::uint32_t of = messages.of[m];
                    if (step_of[of] != s) {
                        step_of[of] = s;
                        to.step_messages.push_back(folded[of]);
                    }
                }
                step.messages_begin = first;
                step.messages_end = size32(to.step_messages.size());
                to.collective_steps.push_back(step);
            }
            x.steps_begin = begin;
            x.steps_end = size32(to.collective_steps.size());
        }
    }

    Bound bound_;
    std::vector<Colour> ranks_;
    std::vector<Colour> groups_;
    std::vector<Colour> transfers_;  // when all others are stable
    std::vector<Colour> messages_;   // of steps
    std::vector<Seat> seats_;        // of transfers
    std::vector<std::uint32_t> transfer_of_message_;
    std::vector<std::uint32_t> user_of_message_;
    std::vector<Colour> links_;  // that are shared
    std::vector<Sharing> sharing_;
    std::vector<std::uint32_t> user_of_;  // by transfer; kNone32 where nothing is shared
    std::vector<Seat> users_;             // of its first transfer; of nobody for messages of steps
    std::vector<Colour> heard_;           // by owner: from the links of its transfers
    std::vector<Colour> shown_;           // by user: to links
    std::vector<Colour> used_;            // by user: from links
    std::vector<Colour> seen_;            // by link: from users
    bool downwards_ = true;
    std::vector<std::uint32_t> shared_number_;  // link -> links_
};

}  // namespace

Folded fold(Bound bound) {
    return Folder(std::move(bound)).run();
}

Folded unfolded(Bound bound) {
    Folded out;
    out.class_of.resize(bound.ranks.size());
    std::iota(out.class_of.begin(), out.class_of.end(), 0U);
    out.bound = std::move(bound);
    return out;
}

}  // namespace memwall
