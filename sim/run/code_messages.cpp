// The k-th send from A to B on a channel meets the k-th receive of B from A on it.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/run/code_steps.h"

namespace memwall {
namespace {

struct Channel {
    std::uint32_t from = 0;  // stages
    std::uint32_t to = 0;
    std::uint8_t number = 0;
    auto operator<=>(const Channel&) const = default;
};

using Transfers = std::vector<std::uint32_t>;  // of one program, in order

struct Ends {
    Transfers sends;
    Transfers receives;
};

std::map<Channel, Ends> ends_of(const Code& code, std::uint32_t job) {
    const ProgramSet& set = *code.jobs[job];
    std::map<Channel, Ends> ends;
    for (std::uint32_t stage = 0; stage < set.programs.size(); ++stage) {
        const CodeProgram& program = code.programs[code.first_program[job] + stage];
        // Where the transfers of an exchange belong, once it has been met: there are few exchanges and many transfers.
        std::vector<std::vector<Transfers*>> lists(set.exchanges.size());
        for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
            const RecordOf& record = program.records[program.transfers[t].record];
            const Piece& piece = code.pieces[program.nodes[record.node].piece];
            const std::uint32_t exchange = code.ops[piece.ops_begin + record.op].work;
            std::vector<Transfers*>& of_exchange = lists[exchange];
            if (of_exchange.empty()) {
                for (const PeerTransfer& x : set.exchanges[exchange].transfers) {
                    const auto peer = static_cast<std::uint32_t>(x.stage);
                    of_exchange.push_back(x.send ? &ends[{stage, peer, x.channel}].sends
                                                 : &ends[{peer, stage, x.channel}].receives);
                }
            }
            of_exchange[record.transfer]->push_back(t);
        }
    }
    return ends;
}

}  // namespace

void pair_messages(Code& code, std::uint32_t job) {
    const std::uint32_t first = code.first_program[job];
    for (const auto& [channel, ends] : ends_of(code, job)) {
        if (ends.sends.size() != ends.receives.size()) {
            code.mismatches.push_back(fmt::format(
                "stage {} sends {} messages to stage {} on channel {} in a step, which receives {}",
                channel.from,
                ends.sends.size(),
                channel.to,
                channel.number,
                ends.receives.size()));
        }
        const std::size_t met = std::min(ends.sends.size(), ends.receives.size());
        for (std::size_t k = 0; k < met; ++k) {
            const std::uint32_t send = ends.sends[k];
            const std::uint32_t receive = ends.receives[k];
            code.programs[first + channel.from].transfers[send].partner = receive;
            code.programs[first + channel.to].transfers[receive].partner = send;
        }
    }
}

}  // namespace memwall
