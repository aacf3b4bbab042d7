#include "sim/run/fold.h"

#include <algorithm>
#include <numeric>

#include "sim/core/hash.h"

namespace memwall {
namespace {

using Colour = std::uint64_t;

std::uint32_t size32(std::size_t n) {
    return static_cast<std::uint32_t>(n);
}

Colour join(Colour a, std::uint64_t b) {
    return mix64(a * kGolden64 + b);
}

// Numbers the colours in order of first appearance.
struct Classes {
    std::vector<std::uint32_t> of;     // element -> class
    std::vector<std::uint32_t> first;  // class -> lowest element
    std::vector<std::uint64_t> count;
};

// Open addressing over colours, which are uniform already.
class ColourTable {
  public:
    explicit ColourTable(std::size_t elements) {
        std::size_t size = 16;
        while (size < 2 * elements) {
            size *= 2;
        }
        keys_.resize(size);
        values_.assign(size, kNone32);
    }
    // The number of the colour; a fresh one gets the next number.
    std::uint32_t number(Colour colour) {
        std::size_t at = colour & (keys_.size() - 1);
        while (values_[at] != kNone32 && keys_[at] != colour) {
            at = (at + 1) & (keys_.size() - 1);
        }
        if (values_[at] == kNone32) {
            keys_[at] = colour;
            values_[at] = next_++;
        }
        return values_[at];
    }
    [[nodiscard]] std::uint32_t size() const { return next_; }

  private:
    std::vector<Colour> keys_;
    std::vector<std::uint32_t> values_;
    std::uint32_t next_ = 0;
};

Classes classes_of(const std::vector<Colour>& colours) {
    ColourTable table(colours.size());
    Classes classes;
    classes.of.reserve(colours.size());
    for (std::uint32_t i = 0; i < colours.size(); ++i) {
        const std::uint32_t c = table.number(colours[i]);
        if (c == classes.first.size()) {
            classes.first.push_back(i);
            classes.count.push_back(0);
        }
        ++classes.count[c];
        classes.of.push_back(c);
    }
    return classes;
}

std::uint32_t count_classes(const std::vector<Colour>& colours) {
    ColourTable table(colours.size());
    for (const Colour c : colours) {
        table.number(c);
    }
    return table.size();
}

class Folder {
  public:
    explicit Folder(Bound bound) : bound_(std::move(bound)) {}

    Folded run() {
        start();
        std::uint32_t before = 0;
        while (true) {
            refine();
            const std::uint32_t now = count_classes(ranks_) + count_classes(groups_) +
                                      count_classes(transfers_) + count_classes(links_);
            if (now == before) {
                break;
            }
            before = now;
        }
        return quotient();
    }

  private:
    // What shares a link in time: usages of transfers that are not isolated, on links that can bind.
    // Transfers of one owner over the same links are one user.
    struct Sharing {
        std::uint32_t user = 0;
        std::uint32_t link = 0;  // into links_
        std::uint64_t coefficient = 0;
    };

    void start() {
        ranks_.reserve(bound_.ranks.size());
        for (const BoundRank& rank : bound_.ranks) {
            ranks_.push_back(Hasher(1).add(rank.program).add(rank.kind).value());
        }
        groups_.assign(bound_.groups.size(), 0);
        transfers_.reserve(bound_.transfers.size());
        std::vector<std::uint32_t> number(bound_.links.size(), kNone32);
        for (std::uint32_t t = 0; t < bound_.transfers.size(); ++t) {
            const BoundTransfer& x = bound_.transfers[t];
            transfers_.push_back(Hasher(2)
                                     .add(std::int64_t{x.delay})
                                     .add(std::int64_t{x.flow})
                                     .add(x.bytes)
                                     .add(x.cap)
                                     .add(x.weight)
                                     .add(x.blocks)
                                     .add(x.isolated)
                                     .value());
            const std::uint32_t known = users_;
            user_of_.push_back(x.isolated ? kNone32 : user_of(t));
            if (users_ == known) {
                continue;
            }
            for (std::uint32_t u = x.usage_begin; u < x.usage_end; ++u) {
                const Usage& usage = bound_.usages[u];
                if (bound_.capacities[usage.link] <= 0) {
                    continue;
                }
                if (number[usage.link] == kNone32) {
                    number[usage.link] = size32(links_.size());
                    links_.push_back(Hasher(3).add(bound_.capacities[usage.link]).value());
                }
                sharing_.push_back({user_of_[t],
                                    number[usage.link],
                                    static_cast<std::uint64_t>(usage.coefficient)});
            }
        }
        shared_number_ = std::move(number);
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
        return users_++;
    }

    void refine_rank(std::size_t r) {
        const BoundRank& rank = bound_.ranks[r];
        const CodeProgram& program = bound_.code.programs[rank.program];
        Colour own = ranks_[r];
        for (const std::uint32_t g : rank.groups) {
            own = join(own, g == kNone32 ? 0 : groups_[g]);
        }
        for (std::uint32_t p = 0; p < program.peers.size(); ++p) {
            own = join(own, ranks_[bound_.peers[rank.peers + p]]);
        }
        for (std::uint32_t m = 0; m < program.messages.size(); ++m) {
            own = join(own, transfers_[bound_.message_transfers[rank.messages + m]]);
        }
        ranks_[r] = own;
    }

    void refine() {
        // Links and transfers see each other.
        std::vector<Colour> users(users_, 0);
        for (std::size_t t = 0; t < transfers_.size(); ++t) {
            if (user_of_[t] != kNone32) {
                users[user_of_[t]] += mix64(transfers_[t]);
            }
        }
        std::vector<Colour> seen(links_.size(), 0);
        std::vector<Colour> used(users_, 0);
        for (const Sharing& s : sharing_) {
            seen[s.link] += join(users[s.user], s.coefficient);
            used[s.user] += join(links_[s.link], s.coefficient);
        }
        for (std::size_t l = 0; l < links_.size(); ++l) {
            links_[l] = join(links_[l], seen[l]);
        }
        // Transfers see who makes them.
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const BoundGroup& group = bound_.groups[g];
            Colour members = 0;
            for (std::uint32_t m = group.members_begin; m < group.members_end; ++m) {
                members += mix64(ranks_[bound_.members[m]]);
            }
            Colour own = join(join(groups_[g], static_cast<std::uint64_t>(group.role)), members);
            for (std::uint32_t t = group.transfers; t < group.transfers_end; ++t) {
                own = join(own, transfers_[bound_.group_transfers[t]]);
            }
            groups_[g] = own;
        }
        // Ranks see their groups and peers. Peers run other programs and ranks stand program by program, so that what is
        // known runs down all stages in one sweep, and up in the next; ranks of one program see the same.
        const std::size_t n = ranks_.size();
        for (std::size_t i = 0; i < n; ++i) {
            refine_rank(downwards_ ? i : n - 1 - i);
        }
        downwards_ = !downwards_;
        for (std::size_t t = 0; t < transfers_.size(); ++t) {
            transfers_[t] = join(transfers_[t], user_of_[t] == kNone32 ? 0 : used[user_of_[t]]);
        }
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const BoundGroup& group = bound_.groups[g];
            for (std::uint32_t t = group.transfers; t < group.transfers_end; ++t) {
                Colour& transfer = transfers_[bound_.group_transfers[t]];
                transfer = join(join(transfer, groups_[g]), t - group.transfers);
            }
        }
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            const BoundRank& rank = bound_.ranks[r];
            const std::size_t messages = bound_.code.programs[rank.program].messages.size();
            for (std::uint32_t m = 0; m < messages; ++m) {
                Colour& transfer = transfers_[bound_.message_transfers[rank.messages + m]];
                transfer = join(join(transfer, ranks_[r]), m);
            }
        }
    }

    Folded quotient() {
        const Classes ranks = classes_of(ranks_);
        const Classes groups = classes_of(groups_);
        const Classes transfers = classes_of(transfers_);
        const Classes links = link_classes();
        Folded out;
        out.class_of = ranks.of;
        Bound& to = out.bound;
        fold_ranks(to, ranks, groups, transfers);
        fold_groups(to, ranks, groups, transfers);
        fold_transfers(to, transfers, links);
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

    // Links of one colour that carry the same, isolated transfers included: for the counters. All unused links are one.
    Classes link_classes() const {
        std::vector<Colour> carried(bound_.links.size(), 0);
        for (std::uint32_t t = 0; t < bound_.transfers.size(); ++t) {
            const BoundTransfer& x = bound_.transfers[t];
            for (std::uint32_t u = x.usage_begin; u < x.usage_end; ++u) {
                carried[bound_.usages[u].link] +=
                    join(transfers_[t], static_cast<std::uint64_t>(bound_.usages[u].coefficient));
            }
        }
        for (std::size_t l = 0; l < carried.size(); ++l) {
            if (carried[l] != 0) {
                const Colour shared = shared_number_[l] == kNone32 ? 0 : links_[shared_number_[l]];
                carried[l] = Hasher(4)
                                 .add(carried[l])
                                 .add(shared)
                                 .add(bound_.links[l].capacity)
                                 .add(bound_.links[l].side)
                                 .value();
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
        struct Part {
            std::uint32_t transfer;
            std::uint32_t link;
            std::int64_t coefficient;
        };
        std::vector<Part> parts;
        for (std::uint32_t t = 0; t < bound_.transfers.size(); ++t) {
            const BoundTransfer& x = bound_.transfers[t];
            for (std::uint32_t u = x.usage_begin; u < x.usage_end; ++u) {
                const Usage& usage = bound_.usages[u];
                const std::uint32_t link = links.of[usage.link];
                if (links.first[link] == usage.link) {
                    parts.push_back({transfers.of[t], link, usage.coefficient});
                }
            }
        }
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
            return a.transfer != b.transfer ? a.transfer < b.transfer : a.link < b.link;
        });
        std::size_t next = 0;
        for (std::uint32_t c = 0; c < transfers.first.size(); ++c) {
            BoundTransfer x = bound_.transfers[transfers.first[c]];
            x.usage_begin = size32(to.usages.size());
            for (; next < parts.size() && parts[next].transfer == c; ++next) {
                if (to.usages.size() > x.usage_begin && to.usages.back().link == parts[next].link) {
                    to.usages.back().coefficient += parts[next].coefficient;
                } else {
                    to.usages.push_back({parts[next].link, parts[next].coefficient});
                }
            }
            x.usage_end = size32(to.usages.size());
            to.transfers.push_back(x);
        }
    }

    Bound bound_;
    std::vector<Colour> ranks_;
    std::vector<Colour> groups_;
    std::vector<Colour> transfers_;
    std::vector<Colour> links_;  // that are shared
    std::vector<Sharing> sharing_;
    std::vector<std::uint32_t> user_of_;  // by transfer; kNone32 where nothing is shared
    std::uint32_t users_ = 0;
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
