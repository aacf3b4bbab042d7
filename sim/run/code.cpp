#include "sim/run/code.h"

#include "sim/run/code_steps.h"
#include "sim/run/rounds.h"

namespace memwall {
namespace {

void compile_job(Code& code, std::uint32_t job, bool coalesce) {
    const ProgramSet& set = *code.jobs[job];
    Bodies bodies = bodies_of(set);
    for (Body& body : bodies.all) {
        cut(body);
        add_pieces(code, job, body, coalesce);
    }
    const Links links = links_of(code, set, bodies);
    for (std::uint32_t p = 0; p < set.programs.size(); ++p) {
        code.programs.push_back(lay_out(code, {job, p}, bodies, links));
    }
    pair_messages(code, job);
    check_calls(code, job);
}

}  // namespace

Code compile_programs(const std::vector<const ProgramSet*>& jobs, bool coalesce) {
    Code code;
    code.jobs = jobs;
    std::uint32_t kernels = 0;
    std::uint32_t collectives = 0;
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
        code.first_program.push_back(size32(code.programs.size()));
        code.first_kernel.push_back(kernels);
        code.first_collective.push_back(collectives);
        kernels += size32(jobs[j]->kernels.size());
        collectives += size32(jobs[j]->collectives.size());
        compile_job(code, j, coalesce);
    }
    if (coalesce) {
        code.rounds = find_rounds(code);
    }
    return code;
}

}  // namespace memwall
