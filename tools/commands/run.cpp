#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/analyze/beyond_peak.h"
#include "sim/io/report_json.h"
#include "sim/io/report_text.h"
#include "sim/io/sources.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/prediction.h"
#include "tools/commands/timeline.h"

namespace memwall::cli {
namespace {

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
                 std::vector<Diagnostic> warnings) {
    const Plan& plan = p.loaded.plan;
    const Report report{plan,
                        metrics,
                        p.result,
                        all_assumptions(p.loaded),
                        std::move(warnings),
                        evaluate_checks(plan, metrics),
                        compare_with_published(plan, metrics)};
    if (session.arguments().has("--json")) {
        print(report_json(report));
    } else {
        const Arguments& arguments = session.arguments();
        print(report_text(report,
                          session.out(),
                          arguments.has("--quiet")        ? Detail::Figures
                          : arguments.has("--all-stages") ? Detail::AllStages
                                                          : Detail::Whole));
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

}  // namespace

int command_run(Session& session) {
    const Arguments& arguments = session.arguments();
    Diagnostics diagnostics;
    std::optional<Loaded> loaded = session.scenario(diagnostics);
    if (!loaded) {
        return kWrongInput;
    }
    const std::optional<TimelineRequest> timeline = timeline_request(session, *loaded);
    if (!timeline) {
        return kWrongInput;
    }
    SimulateOptions options;
    options.timeline_ranks = timeline->ranks;
    loaded->plan.run.fold = loaded->plan.run.fold && !arguments.has("--no-fold");
    loaded->plan.run.coalesce = loaded->plan.run.coalesce && !arguments.has("--no-coalesce");
    const std::unique_ptr<Prediction> predicted = predict(session, std::move(*loaded), options);
    if (!predicted) {
        return kWrongInput;
    }
    const Prediction& p = *predicted;
    if (!p.result.deadlock.empty()) {
        print_error(deadlock_text(p.result));
        return kBug;
    }
    if (!write_timeline(session, *timeline, p)) {
        return kWrongInput;
    }
    const Metrics metrics = measure(p.facts());
    Diagnostics late;
    warn_beyond_peak(p.loaded.plan, metrics, p.loaded.composed, late);
    session.complain(late);
    std::vector<Diagnostic> warnings = diagnostics.sorted();
    for (Diagnostic& warning : late.sorted()) {
        warnings.push_back(std::move(warning));
    }
    return print_report(session, p, metrics, std::move(warnings));
}

}  // namespace memwall::cli
