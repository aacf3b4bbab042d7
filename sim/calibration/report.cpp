#include "sim/calibration/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/io/text_style.h"

namespace memwall {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 80;

// `head`: of the part, which its title has said already; empty when it has several.
void add_constant(std::string& text, const FittedConstant& c, std::string_view head) {
    const bool below = !head.empty() && c.path.size() > head.size() && c.path.starts_with(head) &&
                       c.path[head.size()] == '.';
    const std::string_view name =
        below ? std::string_view(c.path).substr(head.size() + 1) : std::string_view(c.path);
    text += fmt::format("  {:<18} {:>12} ", name, c.before);
    if (!c.fitted) {
        text += fmt::format("{:>12}\n      {}\n", "kept", wrapped(c.reason, kWidth, 6));
        return;
    }
    const std::string interval =
        c.at_bound ? std::string("at its bound") : fmt::format("{} to {}", c.low_text, c.high_text);
    text += fmt::format("{:>12}  {:<26} {:>4}\n", c.after, interval, c.rows_felt);
}

void add_errors(std::string& text,
                std::string_view which,
                const FitError& before,
                const FitError& after) {
    if (after.rows > 0) {
        text += fmt::format(
            "  error of {:>5} rows {:<8} {:>7.2f} -> {:.2f} % median, {:.2f} -> {:.2f} % mean\n",
            after.rows,
            which,
            100 * before.median,
            100 * after.median,
            100 * before.mean,
            100 * after.mean);
    }
}

void add_counts(std::string& text,
                std::string_view title,
                const std::map<std::string, std::size_t>& counts) {
    if (counts.empty()) {
        return;
    }
    text += fmt::format("{}\n", title);
    for (const auto& [what, rows] : counts) {
        text += fmt::format("  {:>6} rows  {}\n", rows, wrapped(what, kWidth, 14));
    }
}

Json json_of(const FittedConstant& c) {
    Json j;
    j["path"] = c.path;
    j["fitted"] = c.fitted;
    j["before"] = c.before;
    j["after"] = c.after;
    if (c.fitted) {
        j["at_bound"] = c.at_bound;
        if (!c.at_bound) {
            j["interval_95"] = {c.low_text, c.high_text};
        }
        j["rows_felt"] = c.rows_felt;
    } else {
        j["reason"] = c.reason;
    }
    return j;
}

Json json_of(const FitError& before, const FitError& after) {
    return {{"rows", after.rows},
            {"median_percent_before", 100 * before.median},
            {"median_percent", 100 * after.median},
            {"mean_percent_before", 100 * before.mean},
            {"mean_percent", 100 * after.mean}};
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
    std::string text = fmt::format("{} {}, {:g} % of the rows held out by seed {}\n",
                                   kind_name(calibration.kind),
                                   calibration.name,
                                   100 * calibration.hold_out,
                                   calibration.seed);
    for (const FittedPart& part : calibration.parts) {
        text += fmt::format("\n{:<20} {:>12} {:>12}  {:<26} {:>4}\n",
                            part.name,
                            "before",
                            "after",
                            "95 % interval",
                            "rows");
        for (const FittedConstant& constant : part.constants) {
            add_constant(text, constant, part.name);
        }
        add_errors(text, "fitted", part.fitted_before, part.fitted_after);
        add_errors(text, "held out", part.held_out_before, part.held_out_after);
        if (part.held_out_after.mean > part.held_out_before.mean) {
            text +=
                "  the rows held out are predicted worse than before: more rows would tell more\n";
        }
    }
    if (!calibration.untold.empty()) {
        text += "\nNot told by these rows\n";
        for (const FittedConstant& constant : calibration.untold) {
            add_constant(text, constant, "");
        }
    }
    text += '\n';
    add_counts(text, "Left out", calibration.left_out);
    add_counts(text, "Assumed", calibration.assumed);
    return text;
}

std::string calibration_json(const Calibration& calibration) {
    Json j;
    j["schema_version"] = 1;
    j["kind"] = kind_name(calibration.kind);
    j["name"] = calibration.name;
    j["hold_out"] = calibration.hold_out;
    j["seed"] = calibration.seed;
    j["no_answer"] = calibration.no_answer;
    j["parts"] = Json::array();
    for (const FittedPart& part : calibration.parts) {
        Json p;
        p["name"] = part.name;
        p["tables"] = part.tables;
        p["constants"] = Json::array();
        for (const FittedConstant& constant : part.constants) {
            p["constants"].push_back(json_of(constant));
        }
        p["fitted"] = json_of(part.fitted_before, part.fitted_after);
        p["held_out"] = json_of(part.held_out_before, part.held_out_after);
        j["parts"].push_back(std::move(p));
    }
    j["untold"] = Json::array();
    for (const FittedConstant& constant : calibration.untold) {
        j["untold"].push_back(json_of(constant));
    }
    j["left_out"] = calibration.left_out;
    j["assumed"] = calibration.assumed;
    return j.dump(2) + "\n";
}

}  // namespace memwall
