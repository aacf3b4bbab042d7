#include "sim/io/report_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace memwall {
namespace {

using Json = nlohmann::ordered_json;

Json breakdown(const Metrics& m) {
    Json lines = Json::array();
    for (const BreakdownLine& line : m.breakdown) {
        lines.push_back({{"label", line.label},
                         {"mean_ps", line.mean.count()},
                         {"mean_s", to_seconds(line.mean)},
                         {"share", line.share},
                         {"busiest_rank_ps", line.busiest.count()}});
    }
    return lines;
}

Json composition(const TensorBytes& bytes) {
    Json classes = Json::object();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (!is_allocated(static_cast<TensorClass>(i))) {
            continue;
        }
        classes[std::string(kTensorClassNames.at(i)) + "_bytes"] = bytes.at(i);
    }
    return classes;
}

Json stages(const Metrics& m) {
    Json all = Json::array();
    for (const StageMemory& s : m.stages) {
        all.push_back({{"stage", s.stage},
                       {"allocated_bytes", s.peak.allocated},
                       {"reserved_bytes", s.peak.reserved},
                       {"context_bytes", context_bytes(s.peak)},
                       {"device_bytes", s.peak.device},
                       {"usable_bytes", s.usable},
                       {"capacity_bytes", s.nominal},
                       {"margin_bytes", s.margin},
                       {"peak_at", s.peak.where},
                       {"composition", composition(s.peak.composition)}});
    }
    return all;
}

Json fit(const FitVerdict& f) {
    return {{"fits", f.fits},
            {"stage", f.stage},
            {"margin_bytes", f.margin},
            {"largest_class", f.tensor_class},
            {"largest_class_bytes", f.class_bytes},
            {"peak_at", f.where},
            {"host_needed_bytes", f.host_needed},
            {"host_capacity_bytes", f.host_capacity},
            {"levers", f.levers}};
}

Json configuration(const Machine& machine, const Job& job) {
    const Degrees& d = job.degrees;
    if (job.is_executed()) {
        return {{"gpu", machine.cluster.node.gpu.name},
                {"cluster", machine.cluster.name},
                {"nodes", job.nodes},
                {"executed", job.astra_file},
                {"time_unit_s", to_seconds(job.astra_time_unit)},
                {"layers", job.model.layers},
                {"tp", d.tp},
                {"pp", d.pp},
                {"ep", d.ep},
                {"dp", d.dp}};
    }
    return {{"gpu", machine.cluster.node.gpu.name},
            {"cluster", machine.cluster.name},
            {"nodes", job.nodes},
            {"model", job.model.name},
            {"sequence", job.sequence},
            {"global_batch", job.batch.global},
            {"micro_batch", job.batch.micro},
            {"micro_batches", job.micro_batches},
            {"tp", d.tp},
            {"pp", d.pp},
            {"vpp", d.vpp},
            {"cp", d.cp},
            {"ep", d.ep},
            {"dp", d.dp},
            {"stack", job.stack.name}};
}

template <class Items, class Row>
Json rows(const Items& items, Row row) {
    Json all = Json::array();
    for (const auto& item : items) {
        all.push_back(row(item));
    }
    return all;
}

// All that share the machine; the figures are of the measured one.
Json jobs(const Plan& plan) {
    return rows(plan.jobs, [&](const Job& job) {
        return Json{{"name", job.name},
                    {"measured", &job == &plan.jobs.front()},
                    {"first_node", job.first_node},
                    {"nodes", job.nodes},
                    {"gpus", job.degrees.world()},
                    {"start_s", to_seconds(job.start)},
                    {"configuration", configuration(plan.machine, job)}};
    });
}

Json events(const Machine& machine) {
    const bool links =
        machine.fidelity == Fidelity::Fluid || machine.fidelity == Fidelity::Stepwise;
    Json all = rows(machine.stragglers, [](const Straggler& s) {
        return Json{{"straggler_rank", s.rank}, {"slower", s.slower}, {"simulated", true}};
    });
    for (const LinkEvent& e : machine.link_events) {
        all.push_back({{"link", e.link}, {"left", e.capacity}, {"simulated", links}});
    }
    return all;
}

void add_figures(Json& j, const Metrics& m) {
    for (const std::string_view name : measured_figures()) {
        const FigureValue known = figure(m, name);
        const double value = known.value;
        if (!known.ok) {
            j[std::string(name)] = nullptr;
        } else if (name == "fits") {
            j["fits"] = m.fit.fits;
        } else if (name.ends_with("_bytes")) {
            j[std::string(name)] = static_cast<std::int64_t>(value);
        } else {
            j[std::string(name)] = value;
        }
    }
    const auto work = [&](double value) { return m.executed ? Json() : Json(value); };
    j["model_flops"] = work(m.model_flops.value);
    j["hardware_flops"] = work(m.hardware_flops.value);
    j["executed_flops"] = work(m.executed_flops.value);
    j["counted_over_executed"] =
        m.executed_flops.value > 0 ? Json(m.hardware_flops.value / m.executed_flops.value) : Json();
    j["peak_flops_per_s"] = work(m.peak.value);
    j["interference_s"] = to_seconds(m.interference);
    j["total_communication_s"] = to_seconds(m.communication);
}

}  // namespace

std::string report_json(const Report& r) {
    const Metrics& m = r.metrics;
    Json j;
    j["schema_version"] = "memwall/report/1";
    j["name"] = r.plan.name;
    j["gpus"] = m.gpus;
    add_figures(j, m);
    j["attention_flops"] = m.executed ? Json()
                           : r.plan.jobs.front().attention_flops == AttentionFlops::Full
                               ? Json("full")
                               : Json("causal");
    j["limit"] = m.limit;
    j["configuration"] = configuration(r.plan.machine, r.plan.jobs.front());
    j["jobs"] = jobs(r.plan);
    j["events"] = events(r.plan.machine);
    j["breakdown"] = breakdown(m);
    j["memory"] = m.executed ? Json() : Json{{"verdict", fit(m.fit)}, {"stages", stages(m)}};
    j["published"] = rows(r.comparisons, [](const Comparison& c) {
        return Json{{"figure", c.figure},
                    {"published", c.published},
                    {"predicted", c.predicted},
                    {"error", c.predicted / c.published - 1},
                    {"same_configuration", c.same_configuration},
                    {"source", c.source}};
    });
    j["checks"] = rows(r.checks, [](const CheckOutcome& c) {
        return Json{{"check", c.text}, {"value", c.value}, {"holds", c.holds}};
    });
    j["self_checks"] = rows(m.checks, [](const SelfCheck& c) {
        return Json{{"check", c.what}, {"holds", c.holds}, {"detail", c.detail}};
    });
    j["assumptions"] = rows(r.assumptions, [](const Assumption& a) {
        return Json{{"what", a.what}, {"source", a.source}};
    });
    j["warnings"] = rows(r.warnings, [](const Diagnostic& d) {
        return Json{{"code", d.code},
                    {"file", d.place.file},
                    {"line", d.place.line},
                    {"column", d.place.column},
                    {"text", d.text}};
    });
    j["simulation"] = {{"ranks", r.result.ranks},
                       {"classes", r.result.classes.size()},
                       {"ops", r.result.ops},
                       {"events", r.result.events},
                       {"signature", fmt::format("{:016x}", r.result.signature)}};
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace memwall
