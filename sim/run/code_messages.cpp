// The k-th send from A to B on a channel meets the k-th receive of B from A on it.
#include <algorithm>

#include <fmt/format.h>

#include "sim/run/code_steps.h"

namespace memwall {

void pair_messages(Code& code, std::uint32_t job) {
    const ProgramSet& set = *code.jobs[job];
    const std::uint32_t first = code.first_program[job];
    const auto stages = size32(set.programs.size());
    constexpr std::uint32_t kChannels = 256;
    const auto key_of = [&](std::uint32_t from, std::uint32_t to, std::uint8_t channel) {
        return (std::uint64_t{from} * stages + to) * kChannels + channel;
    };
    struct End {
        std::uint64_t key = 0;
        std::uint32_t transfer = 0;
    };
    std::vector<End> sends;  // in program order within each key after sorting
    std::vector<End> receives;
    for (std::uint32_t p = 0; p < stages; ++p) {
        const CodeProgram& program = code.programs[first + p];
        for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
            const CodeTransfer& transfer = program.transfers[t];
            const RecordOf& record = program.records[transfer.record];
            const CodeOp& op =
                code.ops[code.pieces[program.nodes[record.node].piece].ops_begin + record.op];
            const PeerTransfer& peer = set.exchanges[op.work].transfers[record.transfer];
            const std::uint32_t other = program.peers[transfer.peer];
            if (peer.send) {
                sends.push_back({key_of(p, other, peer.channel), t});
            } else {
                receives.push_back({key_of(other, p, peer.channel), t});
            }
        }
    }
    const auto by_key = [](const End& a, const End& b) { return a.key < b.key; };
    std::stable_sort(sends.begin(), sends.end(), by_key);
    std::stable_sort(receives.begin(), receives.end(), by_key);
    const auto end_of = [](const std::vector<End>& all, std::size_t at, std::uint64_t key) {
        while (at < all.size() && all[at].key == key) {
            ++at;
        }
        return at;
    };
    for (std::size_t s = 0, r = 0; s < sends.size() || r < receives.size();) {
        const std::uint64_t key = s == sends.size()      ? receives[r].key
                                  : r == receives.size() ? sends[s].key
                                                         : std::min(sends[s].key, receives[r].key);
        const std::size_t sends_end = end_of(sends, s, key);
        const std::size_t receives_end = end_of(receives, r, key);
        const auto channel = key % kChannels;
        const auto to = static_cast<std::uint32_t>(key / kChannels % stages);
        const auto from = static_cast<std::uint32_t>(key / kChannels / stages);
        if (sends_end - s != receives_end - r) {
            code.mismatches.push_back(fmt::format(
                "stage {} sends {} messages to stage {} on channel {} in a step, which receives {}",
                from,
                sends_end - s,
                to,
                channel,
                receives_end - r));
        }
        for (; s < sends_end && r < receives_end; ++s, ++r) {
            code.programs[first + from].transfers[sends[s].transfer].partner = receives[r].transfer;
            code.programs[first + to].transfers[receives[r].transfer].partner = sends[s].transfer;
        }
        s = sends_end;
        r = receives_end;
    }
}

}  // namespace memwall
