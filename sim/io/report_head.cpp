#include "sim/io/report_head.h"

#include <fmt/format.h>

#include "sim/core/quantity.h"

namespace memwall {
namespace {

std::string degrees_text(const Job& job) {
    const Degrees& d = job.degrees;
    if (job.is_executed()) {
        return fmt::format("tp {} x pp {} x ep {} in dp {}", d.tp, d.pp, d.ep, d.dp);
    }
    const std::string vpp = d.vpp > 1 ? fmt::format(" (vpp {})", d.vpp) : "";
    return fmt::format("tp {} x pp {}{} x cp {} x dp {}", d.tp, d.pp, vpp, d.cp, d.dp);
}

std::string work_text(const Job& job) {
    if (job.is_executed()) {  // the machine and the groups are ours, the rest is in the file
        return fmt::format("executed workload {} of {} layers, unit of time {}",
                           job.astra_file,
                           human_count(job.model.layers),
                           to_text(job.astra_time_unit));
    }
    return fmt::format("batch {} x {} tokens, micro-batch {}, {}",
                       human_count(job.batch.global),
                       human_count(job.sequence),
                       job.batch.micro,
                       counted(job.micro_batches, "micro-batch"));
}

}  // namespace

std::string head_text(const Report& r, const TextStyle& style) {
    const Job& job = r.plan.jobs.front();
    const Cluster& cluster = r.plan.machine.cluster;
    std::string text = style.bold(r.plan.name) + "\n";
    if (!r.plan.about.empty()) {
        text += wrapped(r.plan.about, style.width, 0) + "\n";
    }
    for (const std::string& part :
         {fmt::format("{} x {} on {} ({}){}",
                      human_count(static_cast<std::int64_t>(r.metrics.gpus)),
                      cluster.node.gpu.name,
                      cluster.name,
                      counted(job.nodes, "node"),
                      job.is_executed() ? "" : ", stack " + job.stack.name),
          degrees_text(job),
          work_text(job)}) {
        text += wrapped(part, style.width, 0) + "\n";
    }
    return text;
}

std::string jobs_text(const Report& r, const TextStyle& style) {
    if (r.plan.jobs.size() < 2) {
        return "";
    }
    std::string text =
        heading("Jobs", "only the first is measured; the others share its links", style);
    for (std::size_t j = 0; j < r.plan.jobs.size(); ++j) {
        const Job& job = r.plan.jobs[j];
        const int last = job.first_node + job.nodes - 1;
        const std::string nodes = job.nodes == 1
                                      ? fmt::format("node {}", job.first_node)
                                      : fmt::format("nodes {}..{}", job.first_node, last);
        const std::string what = job.is_executed() ? "" : job.model.name + ", ";
        const std::string start =
            job.start.count() > 0 ? ", starts at " + human(job.start) : std::string();
        text +=
            "  " +
            wrapped(fmt::format("{}: {}, {}, {}{}{}",
                                job.name.empty() ? fmt::format("background {}", j - 1) : job.name,
                                nodes,
                                counted(job.degrees.world(), "GPU"),
                                what,
                                degrees_text(job),
                                start),
                    style.width,
                    4) +
            "\n";
    }
    return text;
}

std::string events_text(const Report& r, const TextStyle& style) {
    const Machine& machine = r.plan.machine;
    if (machine.stragglers.empty() && machine.link_events.empty()) {
        return "";
    }
    const bool links =
        machine.fidelity == Fidelity::Fluid || machine.fidelity == Fidelity::Stepwise;
    std::string text = heading("Events", "for the whole run", style);
    for (const Straggler& s : machine.stragglers) {
        text += fmt::format(
            "  rank {}: every kernel takes {} longer\n", s.rank, human_percent(s.slower));
    }
    for (const LinkEvent& e : machine.link_events) {
        text += "  " +
                wrapped(fmt::format("{}: {} of its capacity is left{}",
                                    e.link,
                                    human_percent(e.capacity),
                                    links ? "" : "; no effect: only fidelity fluid has links"),
                        style.width,
                        4) +
                "\n";
    }
    return text;
}

}  // namespace memwall
