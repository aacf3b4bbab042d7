// Whether all stages that a group spans call it in the same order, with the same calls.
#include <algorithm>

#include <fmt/format.h>

#include "sim/run/code_steps.h"

namespace memwall {

void check_calls(Code& code, std::uint32_t job) {
    const ProgramSet& set = *code.jobs[job];
    struct Call {
        GroupRole role = GroupRole::World;
        Stream stream = Stream::Compute;
        std::uint32_t work = 0;
        auto operator<=>(const Call&) const = default;
    };
    const auto spans_stages = [](GroupRole role) {
        return role == GroupRole::Pp || role == GroupRole::World || role == GroupRole::Embedding;
    };
    std::vector<std::vector<Call>> of_piece(code.pieces.size());
    for (std::size_t p = 0; p < code.pieces.size(); ++p) {
        for (std::uint32_t i = code.pieces[p].ops_begin; i < code.pieces[p].ops_end; ++i) {
            const CodeOp& op = code.ops[i];
            // Pieces of other jobs are not reached from this job's nodes.
            if (op.kind == OpKind::Collective && op.work >= code.first_collective[job] &&
                op.work - code.first_collective[job] < set.collectives.size()) {
                const GroupRole role = set.collectives[op.work - code.first_collective[job]].role;
                if (spans_stages(role)) {
                    of_piece[p].push_back({role, op.stream, op.work});
                }
            }
        }
    }
    std::vector<std::vector<Call>> of_program;
    for (std::size_t p = 0; p < set.programs.size(); ++p) {
        std::vector<Call>& calls = of_program.emplace_back();
        for (const CodeNode& node : code.programs[code.first_program[job] + p].nodes) {
            calls.insert(calls.end(), of_piece[node.piece].begin(), of_piece[node.piece].end());
        }
        std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
            return a.role != b.role ? a.role < b.role : a.stream < b.stream;
        });
    }
    const auto compare = [&](GroupRole role, std::size_t a, std::size_t b, const char* name) {
        std::array<std::vector<Call>, 2> calls;
        for (const Call& call : of_program[a]) {
            if (call.role == role) {
                calls[0].push_back(call);
            }
        }
        for (const Call& call : of_program[b]) {
            if (call.role == role) {
                calls[1].push_back(call);
            }
        }
        if (calls[0] != calls[1]) {
            code.mismatches.push_back(fmt::format(
                "stages {} and {} do not make the same collective calls in their {} group",
                a,
                b,
                name));
        }
    };
    if (set.programs.empty()) {
        return;
    }
    compare(GroupRole::Embedding, 0, set.programs.size() - 1, "embedding");
    for (std::size_t p = 1; p < set.programs.size(); ++p) {
        compare(GroupRole::Pp, 0, p, "pp");
        compare(GroupRole::World, 0, p, "world");
    }
}

}  // namespace memwall
