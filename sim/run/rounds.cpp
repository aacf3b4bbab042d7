#include "sim/run/rounds.h"

#include <algorithm>
#include <numeric>

namespace memwall {
namespace {

// Micro-batches per round that are looked for, at most this many nodes apart.
constexpr std::uint32_t kNodesMax = 4096;
constexpr std::uint32_t kRoundsMin = 4;  // fewer are not worth it

class RoundFinder {
  public:
    RoundFinder(const Code& code, std::uint32_t program)
        : code_(code), program_(code.programs[program]), set_(*code.jobs[program_.job]) {}

    // The shortest round around the middle of the program that fills a third of it, so that short runs inside a round are
    // not taken for one.
    [[nodiscard]] Rounds shortest() {
        const auto count = static_cast<std::uint32_t>(program_.nodes.size());
        std::uint32_t at = count / 2;
        while (at < count && item_of(at).micro_batch < 0) {
            ++at;
        }
        for (std::uint32_t nodes = 1; nodes <= std::min(kNodesMax, count / kRoundsMin); ++nodes) {
            if (at + 2 * nodes > count) {
                break;
            }
            micro_batches_ = item_of(at + nodes).micro_batch - item_of(at).micro_batch;
            if (micro_batches_ <= 0 ||
                program_.nodes[at + nodes].piece != program_.nodes[at].piece) {
                continue;
            }
            Rounds rounds = round_of(at, nodes);
            while (rounds.end < at + nodes && alike(rounds, rounds.end)) {
                ++rounds.end;
            }
            if (rounds.end == at + nodes) {
                extend(rounds);
                if (is_long(rounds)) {
                    return rounds;
                }
            }
        }
        return {};
    }

    [[nodiscard]] std::int32_t micro_batches() const { return micro_batches_; }

    // Several rounds as one.
    void lengthen(Rounds& rounds, std::int32_t micro_batches) {
        const std::uint32_t at = rounds.begin;
        const auto times = static_cast<std::uint32_t>(micro_batches / micro_batches_);
        if (times == 1) {
            return;
        }
        micro_batches_ = micro_batches;
        if (at + rounds.nodes * times >= program_.nodes.size()) {
            rounds = {};
            return;
        }
        rounds = round_of(at, rounds.nodes * times);
        extend(rounds);
    }

    // Messages meet their counterparts one round later. Keeps the part around the middle where they do.
    void keep_paired(Rounds& rounds, const std::vector<Rounds>& all) const {
        const std::uint32_t middle = rounds.begin + (rounds.end - rounds.begin) / 2;
        std::uint32_t begin = middle;
        while (begin > rounds.begin && is_paired(rounds, begin - 1, all)) {
            --begin;
        }
        std::uint32_t end = middle;
        while (end < rounds.end && is_paired(rounds, end, all)) {
            ++end;
        }
        rounds.begin = begin;
        rounds.end = end;
        if (end - begin < (kRoundsMin - 1) * rounds.nodes) {
            rounds = {};
        }
    }

  private:
    [[nodiscard]] bool is_long(const Rounds& rounds) const {
        return std::size_t{3} * (rounds.end - rounds.begin + rounds.nodes) >=
                   program_.nodes.size() &&
               rounds.end - rounds.begin >= (kRoundsMin - 1) * rounds.nodes;
    }

    [[nodiscard]] const Item& item_of(std::uint32_t n) const {
        return set_.programs[program_.program].items[program_.nodes[n].item];
    }

    [[nodiscard]] Rounds round_of(std::uint32_t at, std::uint32_t nodes) const {
        const CodeNode& a = program_.nodes[at];
        const CodeNode& b = program_.nodes[at + nodes];
        return {at,
                at,
                nodes,
                b.records - a.records,
                b.transfers - a.transfers,
                static_cast<std::uint32_t>(b.drains - a.drains),
                b.issue - a.issue};
    }

    void extend(Rounds& rounds) const {
        const auto count = static_cast<std::uint32_t>(program_.nodes.size());
        while (rounds.end + rounds.nodes < count && alike(rounds, rounds.end)) {
            ++rounds.end;
        }
        while (rounds.begin > 0 && alike(rounds, rounds.begin - 1)) {
            --rounds.begin;
        }
    }

    // Whether node n and its counterpart do the same, apart from whom their messages meet.
    [[nodiscard]] bool alike(const Rounds& rounds, std::uint32_t n) const {
        const CodeNode& a = program_.nodes[n];
        const CodeNode& b = program_.nodes[n + rounds.nodes];
        const Item& x = item_of(n);
        const Item& y = item_of(n + rounds.nodes);
        const bool same_batches =
            x.micro_batch < 0 ? y.micro_batch < 0 : y.micro_batch - x.micro_batch == micro_batches_;
        const bool same_before = a.stream_before == kNone32
                                     ? b.stream_before == kNone32
                                     : b.stream_before - a.stream_before == rounds.records;
        return a.piece == b.piece && x.chunk == y.chunk && x.backward == y.backward &&
               same_batches && same_host(rounds, a, b) && b.records - a.records == rounds.records &&
               same_before && !a.before_previous_step && !b.before_previous_step &&
               b.transfers - a.transfers == rounds.transfers && same_waits(rounds, a, b);
    }

    // The host issues it so much later, or as long after the same drain; and what it waits for next is the same.
    [[nodiscard]] bool same_host(const Rounds& rounds, const CodeNode& a, const CodeNode& b) const {
        if (b.issue - a.issue != rounds.host ||
            std::uint32_t{b.drains} - a.drains != rounds.drains ||
            (rounds.drains > 0 && (rounds.host != 0 || a.drains == 0))) {
            return false;
        }
        if (rounds.drains == 0) {
            return true;
        }
        const auto same = [&](std::uint32_t d) {
            const std::vector<DrainPoint>& all = program_.drains;
            return d + rounds.drains < all.size() && all[d + rounds.drains].host == all[d].host &&
                   all[d + rounds.drains].node - all[d].node == rounds.nodes;
        };
        return same(a.drains - 1U) && same(a.drains);
    }

    [[nodiscard]] bool same_waits(const Rounds& rounds,
                                  const CodeNode& a,
                                  const CodeNode& b) const {
        const auto waits = program_.waits.begin();
        return std::equal(waits + a.waits_begin,
                          waits + a.waits_end,
                          waits + b.waits_begin,
                          waits + b.waits_end,
                          [&](const OutsideWait& x, const OutsideWait& y) {
                              return x.op == y.op && !x.previous_step && !y.previous_step &&
                                     y.record - x.record == rounds.records;
                          });
    }

    [[nodiscard]] std::uint32_t transfers_end(std::uint32_t n) const {
        return n + 1 < program_.nodes.size()
                   ? program_.nodes[n + 1].transfers
                   : static_cast<std::uint32_t>(program_.transfers.size());
    }

    [[nodiscard]] bool is_paired(const Rounds& rounds,
                                 std::uint32_t n,
                                 const std::vector<Rounds>& all) const {
        const std::uint32_t begin = program_.nodes[n].transfers;
        const std::uint32_t end = transfers_end(n);
        if (transfers_end(n + rounds.nodes) - (begin + rounds.transfers) != end - begin) {
            return false;
        }
        for (std::uint32_t t = begin; t < end; ++t) {
            const CodeTransfer& x = program_.transfers[t];
            const CodeTransfer& y = program_.transfers[t + rounds.transfers];
            const std::uint32_t peer = program_.peers[x.peer];
            const std::uint32_t job_first = code_.first_program[program_.job];
            const Rounds& theirs = all[job_first + peer];
            const auto& transfers = code_.programs[job_first + peer].transfers;
            if (x.partner == kNone32 || y.partner == kNone32 || theirs.none() || x.peer != y.peer ||
                x.send != y.send || x.bytes_of != y.bytes_of ||
                y.record - x.record != rounds.records ||
                y.partner - x.partner != theirs.transfers ||
                transfers[y.partner].node - transfers[x.partner].node != theirs.nodes) {
                return false;
            }
        }
        return true;
    }

    const Code& code_;
    const CodeProgram& program_;
    const ProgramSet& set_;
    std::int32_t micro_batches_ = 0;  // of a round
};

}  // namespace

std::vector<Rounds> find_rounds(const Code& code) {
    if (code.jobs.size() != 1 || !code.mismatches.empty()) {
        return {};
    }
    std::vector<Rounds> all;
    std::vector<RoundFinder> finders;
    std::int32_t micro_batches = 1;
    for (std::uint32_t p = 0; p < code.programs.size(); ++p) {
        RoundFinder& finder = finders.emplace_back(code, p);
        all.push_back(finder.shortest());
        if (all.back().none()) {
            return {};
        }
        micro_batches = std::lcm(micro_batches, finder.micro_batches());
    }
    for (std::uint32_t p = 0; p < code.programs.size(); ++p) {
        finders[p].lengthen(all[p], micro_batches);
        if (all[p].none()) {
            return {};
        }
    }
    const std::vector<Rounds> unpaired = all;
    for (std::uint32_t p = 0; p < code.programs.size(); ++p) {
        finders[p].keep_paired(all[p], unpaired);
        if (all[p].none()) {
            return {};
        }
    }
    return all;
}

}  // namespace memwall
