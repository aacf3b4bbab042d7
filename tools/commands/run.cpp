#include <algorithm>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/io/chrome_trace.h"
#include "sim/io/report_json.h"
#include "sim/io/report_text.h"
#include "sim/io/sources.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/prediction.h"

namespace memwall::cli {
namespace {

// "0,8..15" into ranks; false when it is not such a list or a rank is not below `ranks`.
bool read_ranks(std::string_view text, std::uint32_t ranks, std::vector<std::uint32_t>& out) {
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        const std::size_t dots = part.find("..");
        const auto first = memwall::parse<std::int64_t>(part.substr(0, dots));
        const auto last = dots == std::string_view::npos
                              ? first
                              : memwall::parse<std::int64_t>(part.substr(dots + 2));
        if (!first || !last || *first < 0 || *last < *first ||
            *last >= static_cast<std::int64_t>(ranks)) {
            return false;
        }
        for (std::int64_t rank = *first; rank <= *last; ++rank) {
            out.push_back(static_cast<std::uint32_t>(rank));
        }
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    return !out.empty();
}

// One rank of each pipeline stage stands for its class.
std::vector<std::uint32_t> one_of_each_stage(const Job& job) {
    std::vector<std::uint32_t> ranks;
    const int per_stage = job.degrees.world() / job.degrees.pp;
    for (int stage = 0; stage < job.degrees.pp; ++stage) {
        ranks.push_back(static_cast<std::uint32_t>(stage * per_stage));
    }
    return ranks;
}

std::vector<Assumption> all_assumptions(const Loaded& loaded) {
    std::vector<Assumption> all;
    if (const auto& executed = loaded.executed.front()) {
        for (const std::string& text : executed->assumptions) {
            all.push_back({text, "assumed of " + loaded.plan.jobs.front().astra_file});
        }
    }
    const std::vector<Assumption> cited = assumptions(loaded.plan, loaded.provenance);
    all.insert(all.end(), cited.begin(), cited.end());
    return all;
}

int print_report(Session& session,
                 const Prediction& p,
                 const Metrics& metrics,
                 const Diagnostics& diagnostics) {
    const Plan& plan = p.loaded.plan;
    const Report report{plan,
                        metrics,
                        p.result,
                        all_assumptions(p.loaded),
                        diagnostics.sorted(),
                        evaluate_checks(plan, metrics),
                        compare_with_published(plan, metrics)};
    if (session.arguments().has("--json")) {
        print(report_json(report));
    } else {
        print(report_text(report,
                          session.out(),
                          session.arguments().has("--quiet") ? Detail::Figures : Detail::Whole));
    }
    const bool sound = std::all_of(
        metrics.checks.begin(), metrics.checks.end(), [](const SelfCheck& c) { return c.holds; });
    if (!sound) {
        print_error(
            "memwall: a self-check failed: the result above is not to be trusted; this is a bug of "
            "memwall\n");
        return kBug;
    }
    const bool asked = std::all_of(
        report.checks.begin(), report.checks.end(), [](const CheckOutcome& c) { return c.holds; });
    return asked && metrics.fit.fits ? kDone : kNo;
}

// Which ranks go into the trace; false after a complaint.
bool choose_ranks(Session& session, const Job& job, SimulateOptions& options) {
    const Arguments& arguments = session.arguments();
    const auto ranks = static_cast<std::uint32_t>(job.degrees.world());
    if (!arguments.has("--trace-out")) {
        if (arguments.has("--trace-ranks")) {
            session.refuse("--trace-ranks without --trace-out has no effect",
                           "add --trace-out step.json.gz");
            return false;
        }
        return true;
    }
    if (!arguments.has("--trace-ranks")) {
        options.timeline_ranks = one_of_each_stage(job);
        return true;
    }
    const std::string list = arguments.value("--trace-ranks");
    if (!read_ranks(list, ranks, options.timeline_ranks)) {
        session.refuse(fmt::format("--trace-ranks {}: not a list of ranks below {}", list, ranks),
                       "write it as 0,8..15");
        return false;
    }
    return true;
}

}  // namespace

int command_run(Session& session) {
    const Arguments& arguments = session.arguments();
    Diagnostics diagnostics;
    std::optional<Loaded> loaded = session.scenario(diagnostics);
    SimulateOptions options;
    if (!loaded || !choose_ranks(session, loaded->plan.jobs.front(), options)) {
        return kWrongInput;
    }
    loaded->plan.run.fold = loaded->plan.run.fold && !arguments.has("--no-fold");
    loaded->plan.run.coalesce = loaded->plan.run.coalesce && !arguments.has("--no-coalesce");
    const std::optional<Prediction> predicted = predict(session, std::move(*loaded), options);
    if (!predicted) {
        return kWrongInput;
    }
    const Prediction& p = *predicted;
    if (!p.result.deadlock.empty()) {
        print_error(deadlock_text(p.result));
        return kBug;
    }
    const std::string trace_out = arguments.value("--trace-out");
    if (!trace_out.empty()) {
        const std::string error = write_file(
            trace_out, chrome_trace(p.result, p.parts.programs.front(), p.loaded.plan.name));
        if (!error.empty()) {
            return session.refuse(error);
        }
        print_error(fmt::format("{}: {} slices of {} ranks; open it in ui.perfetto.dev\n",
                                trace_out,
                                p.result.timeline.size(),
                                options.timeline_ranks.size()));
    }
    return print_report(session, p, measure(p.facts()), diagnostics);
}

}  // namespace memwall::cli
