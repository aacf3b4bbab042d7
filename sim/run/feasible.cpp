#include "sim/run/feasible.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/collectives/transfer.h"
#include "sim/core/check.h"
#include "sim/hardware/kernel_time.h"
#include "sim/network/fabric.h"
#include "sim/run/bind.h"
#include "sim/run/call_streams.h"
#include "sim/run/groups.h"
#include "sim/spec/legality.h"

namespace memwall {
namespace {

constexpr std::array<std::string_view, kGroupRoles> kRoleNames = {
    "tp", "cp", "dp", "shard", "replicate", "ep", "pp", "embedding", "world"};

// Each reason once, in order of first use.
void check_kernels(const JobCheck& check, const ProgramSet& programs) {
    const Gpu& gpu = check.machine.cluster.node.gpu;
    std::set<std::string> told;
    for (const Kernel& kernel : programs.kernels) {
        std::string what = unsupported(gpu, kernel);
        if (what.empty() || !told.insert(what).second) {
            continue;
        }
        const bool trace = !check.job.trace_file.empty();
        Diagnostic& error =
            check.error("E0401", trace ? "workload.trace" : "workload.model", std::move(what));
        error.notes.push_back({check.at("training.precision"), "the precision is given here"});
        error.hint = trace ? "a card that has the number formats of the trace's ops"
                           : "another training.precision, or another card";
    }
}

class CollectiveCheck {
  public:
    CollectiveCheck(const Plan& plan,
                    const Fabric& fabric,
                    const DocNode& composed,
                    Diagnostics& diagnostics)
        : plan_(plan), fabric_(fabric), composed_(composed), diagnostics_(diagnostics) {}

    void check(const Job& job, const ProgramSet& programs) {
        std::vector<std::vector<bool>> made;
        for (const Program& program : programs.programs) {
            made.push_back(calls_made(programs, program));
        }
        std::array<bool, kGroupRoles> used{};
        for (const CollectiveCall& call : programs.collectives) {
            used.at(static_cast<std::size_t>(call.role)) = true;
        }
        const JobRanks ranks = ranks_of(job.degrees, 0);
        const std::uint32_t per_stage = ranks.tp * ranks.cp * ranks.dp;
        const auto is_used = [&](GroupRole role) {
            return used.at(static_cast<std::size_t>(role));
        };
        for_each_group(ranks, job.degrees, is_used, [&](const GroupRanks& group) {
            if (group.n < 2 || !is_used(group.role)) {
                return;
            }
            const GroupShape& shape = shape_of_group(job, group);
            const bool spans_stages = group.role == GroupRole::Pp ||
                                      group.role == GroupRole::Embedding ||
                                      group.role == GroupRole::World;
            for (std::size_t c = 0; c < programs.collectives.size(); ++c) {
                const CollectiveCall& call = programs.collectives[c];
                if (call.role == group.role && (spans_stages || made[group.from / per_stage][c])) {
                    check_call(shape, call);
                }
            }
        });
    }

  private:
    // Groups on the same GPUs of their nodes have one shape; across nodes each is looked at.
    const GroupShape& shape_of_group(const Job& job, const GroupRanks& group) {
        devices_.clear();
        std::vector<int> locals;
        bool inside = true;
        for (std::uint32_t i = 0; i < group.n; ++i) {
            devices_.push_back(device_of(plan_, job, group.from + i * group.step));
            inside =
                inside && fabric_.node_of(devices_.back()) == fabric_.node_of(devices_.front());
            locals.push_back(static_cast<int>(devices_.back().index) % fabric_.gpus_per_node());
        }
        if (!inside) {
            across_ = shape_of(fabric_, devices_);
            return across_;
        }
        const auto [known, fresh] = shapes_.try_emplace(std::move(locals));
        if (fresh) {
            known->second = shape_of(fabric_, devices_);
        }
        return known->second;
    }

    void check_call(const GroupShape& shape, const CollectiveCall& call) {
        if (!asked_.insert({shape, call.kind, call.role}).second || call.bytes.value <= 0) {
            return;
        }
        const Machine& machine = plan_.machine;
        const auto time = collective_time(machine, shape, call);
        std::string why = time ? "" : time.error();
        if (why.empty() && machine.fidelity == Fidelity::Stepwise) {
            why = stepwise_obstacle(machine, shape, call.kind);
        }
        if (why.empty() || !told_.insert(why).second) {
            return;
        }
        const bool named = !machine.algorithm.empty();
        const bool stepwise = machine.fidelity == Fidelity::Stepwise;
        Diagnostic& error = diagnostics_.error("E0407",
                                               place_at(composed_,
                                                        named      ? "machine.network.algorithm"
                                                        : stepwise ? "machine.network.fidelity"
                                                                   : "machine.cluster.node"),
                                               std::move(why));
        error.notes.push_back({place_at(composed_, "machine.cluster.node.intra"),
                               fmt::format("asked of a {} group of {} ranks on {} node(s) '{}'",
                                           kRoleNames.at(static_cast<std::size_t>(call.role)),
                                           shape.ranks,
                                           shape.nodes,
                                           machine.cluster.node.name)});
        error.hint = named      ? "say `algorithm: auto` to leave the choice to the library"
                     : stepwise ? "say `fidelity: fluid`"
                                : "";
    }

    const Plan& plan_;
    const Fabric& fabric_;
    const DocNode& composed_;
    Diagnostics& diagnostics_;
    std::vector<DeviceId> devices_;
    GroupShape across_;
    std::map<std::vector<int>, GroupShape> shapes_;
    std::set<std::tuple<GroupShape, CollectiveKind, GroupRole>> asked_;
    std::set<std::string> told_;
};

}  // namespace

bool check_feasible(const Plan& plan,
                    const DocNode& composed,
                    const std::vector<const ProgramSet*>& programs,
                    Diagnostics& diagnostics) {
    MW_CHECK(programs.size() == plan.jobs.size(), "one set of programs per job");
    const std::size_t before = diagnostics.errors();
    const Fabric fabric(plan.machine);
    CollectiveCheck collectives(plan, fabric, composed, diagnostics);
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
        const DocNode* document =
            j == 0 ? &composed : composed.find("background")->items[j - 1].find("scenario");
        check_kernels({plan.jobs[j], plan.machine, *document, diagnostics}, *programs[j]);
        collectives.check(plan.jobs[j], *programs[j]);
    }
    return diagnostics.errors() == before;
}

}  // namespace memwall
