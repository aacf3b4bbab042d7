#include "sim/run/feasible.h"

#include <algorithm>
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
#include "sim/run/length.h"
#include "sim/run/skew.h"
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

// Places within a segment have 16 bits (run/code.h); some are left for records.
void check_segments(const JobCheck& check, const ProgramSet& programs) {
    constexpr std::size_t kOpsMost = 65'000;
    const auto longest = std::max_element(
        programs.segments.begin(), programs.segments.end(), [](const Segment& a, const Segment& b) {
            return a.ops.size() < b.ops.size();
        });
    if (longest == programs.segments.end() || longest->ops.size() <= kOpsMost) {
        return;
    }
    check
        .error("E0336",
               check.job.trace_file.empty() ? "workload.model" : "workload.trace",
               fmt::format("{} ops of '{}' in one pass of a stage are beyond what is simulated",
                           longest->ops.size(),
                           longest->name))
        .hint = fmt::format(
        "at most {}: fewer layers, or more stages or model chunks (parallel.pp, parallel.vpp)",
        kOpsMost);
}

class CollectiveCheck {
  public:
    CollectiveCheck(const Plan& plan,
                    const Fabric& fabric,
                    const DocNode& composed,
                    Diagnostics& diagnostics)
        : plan_(plan),
          fabric_(fabric),
          capacities_(link_capacities(fabric)),
          composed_(composed),
          diagnostics_(diagnostics) {}

    // The time of one call in each stage that makes it, without contention. [seconds]
    using CallSeconds = std::vector<std::vector<double>>;

    CallSeconds check(const Job& job, const ProgramSet& programs) {
        CallSeconds seconds(programs.programs.size(),
                            std::vector<double>(programs.collectives.size()));
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
                const std::uint32_t stage = group.from / per_stage;
                if (call.role != group.role || (!spans_stages && !made[stage][c])) {
                    continue;
                }
                const double each = seconds_of(shape, call) +
                                    to_seconds(skew_of(plan_.machine, job.stack, shape.ranks));
                for (std::size_t s = spans_stages ? 0 : stage;
                     s < seconds.size() && (spans_stages || s == stage);
                     ++s) {
                    seconds[s][c] = std::max(seconds[s][c], each);
                }
            }
        });
        return seconds;
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

    // The links of the first group of a shape stand for those of all.
    double seconds_of(const GroupShape& shape, const CollectiveCall& call) {
        const auto [known, fresh] = asked_.try_emplace({shape, call});
        if (fresh && call.bytes.value > 0) {
            const auto time = collective_time(plan_.machine, shape, call);
            refuse(shape, call, time ? "" : time.error());
            if (time) {
                const double limit =
                    link_limit(capacities_, usage_of(fabric_, devices_, call.kind, time->variant));
                const double flow = static_cast<double>(call.bytes.value) / limit;
                known->second = std::max(to_seconds(time->alone), to_seconds(time->delay) + flow);
            }
        }
        return known->second;
    }

    void refuse(const GroupShape& shape, const CollectiveCall& call, std::string why) {
        const Machine& machine = plan_.machine;
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
    std::vector<double> capacities_;
    const DocNode& composed_;
    Diagnostics& diagnostics_;
    std::vector<DeviceId> devices_;
    GroupShape across_;
    std::map<std::vector<int>, GroupShape> shapes_;
    std::map<std::pair<GroupShape, CollectiveCall>, double> asked_;  // -> seconds
    std::set<std::string> told_;
};

// A pipeline of p stages takes (m + p - 1) / m times what its slowest stage does. A factor of 4 is left for contention.
void check_length(const JobCheck& check, const Plan& plan, const RoughLength& length) {
    constexpr double kMost = 2.3e6;  // seconds: 2^61 ps
    const Job& job = check.job;
    const auto m = static_cast<double>(std::max<std::int64_t>(job.micro_batches, 1));
    const double step = length.sum() * (m + job.degrees.pp - 1) / m;
    if (step * plan.run.steps <= kMost) {
        return;
    }
    Diagnostic& error =
        check.error("E0336",
                    "batch.global",
                    fmt::format("{} steps of about {:.3g} days are beyond what the clock counts",
                                plan.run.steps,
                                step / 86400));
    struct Part {
        double seconds;
        std::string_view path;
        const char* what;
    };
    const std::array<Part, 4> parts = {
        Part{length.kernels,
             "machine.cluster.node.gpu",
             "kernels: the constants of the card are here"},
        Part{length.collectives,
             "machine.cluster.fabric",
             "collectives: the constants of the fabric are here"},
        Part{length.messages,
             "machine.cluster.fabric",
             "messages between stages: the constants of the fabric are here"},
        Part{length.host, "stack.host", "host launches: the times of the stack are here"}};
    const Part& most =
        *std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
            return a.seconds < b.seconds;
        });
    error.notes.push_back({check.at(most.path), fmt::format("most of it is {}", most.what)});
    error.hint = "at most 26 days in all: fewer steps, a smaller batch, or a faster constant";
}

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
        check_segments({plan.jobs[j], plan.machine, *document, diagnostics}, *programs[j]);
        const auto seconds = collectives.check(plan.jobs[j], *programs[j]);
        if (diagnostics.errors() == before) {
            check_length({plan.jobs[j], plan.machine, *document, diagnostics},
                         plan,
                         rough_length(fabric, plan, plan.jobs[j], *programs[j], seconds));
        }
    }
    return diagnostics.errors() == before;
}

}  // namespace memwall
