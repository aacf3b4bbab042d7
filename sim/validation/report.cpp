#include "sim/validation/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/validation/score.h"

namespace memwall {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(RowStatus status) {
    switch (status) {
    case RowStatus::Scored:
        return "scored";
    case RowStatus::NotYet:
        return "not_yet";
    case RowStatus::Unmapped:
        return "unmapped";
    case RowStatus::Failed:
        return "refused";
    }
    return "";
}

std::string base_name(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string percent(double share) {
    return fmt::format("{:.2f}", 100 * share);
}

void add_errors(std::string& text,
                const std::string& name,
                const std::string& figure,
                const ErrorScore& s) {
    text += fmt::format("  {:<38.38} {:<6} {:>5} {:>7} {:>7} {:>7} {:>7} {:>+7.1f}\n",
                        name,
                        figure,
                        s.rows,
                        percent(s.mape),
                        percent(s.median),
                        percent(s.p90),
                        percent(s.max),
                        100 * s.bias);
}

void add_group(std::string& text, const std::string& name, const GroupScore& group) {
    if (group.time.rows > 0) {
        add_errors(text, name, "time", group.time);
    }
    if (group.memory.rows > 0) {
        add_errors(text, name, "memory", group.memory);
    }
}

void add_groups(std::string& text,
                std::string_view title,
                const std::map<std::string, GroupScore>& groups) {
    text += fmt::format("{}\n", title);
    for (const auto& [name, group] : groups) {
        add_group(text, base_name(name), group);
    }
}

void add_row(std::string& text, const ValidatedRow& row) {
    text += fmt::format("  {:<44.44}", row.id);
    if (row.status != RowStatus::Scored) {
        text += fmt::format(" {}: {}\n", name_of(row.status), row.reason);
        return;
    }
    if (row.measured_time > 0) {
        text += fmt::format(" {:>11.5g} {:>11.5g} s {:>+7.1f} %",
                            row.measured_time,
                            row.predicted_time,
                            100 * row.time_error());
    }
    if (row.measured_memory > 0) {
        constexpr double kGiB = 1073741824.0;
        text += fmt::format(" {:>7.2f} {:>7.2f} GiB {:>+6.1f} %",
                            row.measured_memory / kGiB,
                            row.predicted_memory / kGiB,
                            100 * row.memory_error());
    }
    text += row.predicted_fits == row.measured_fits ? "\n"
            : row.predicted_fits                    ? "  out of memory, predicted to fit\n"
                                                    : "  ran, predicted not to fit\n";
}

Json json_of(const ErrorScore& s) {
    return {{"rows", s.rows},
            {"mape_percent", 100 * s.mape},
            {"median_percent", 100 * s.median},
            {"p90_percent", 100 * s.p90},
            {"max_percent", 100 * s.max},
            {"bias_percent", 100 * s.bias},
            {"geometric_mean_percent", 100 * s.geometric}};
}

Json json_of(const GroupScore& group) {
    return {{"rows", group.rows},
            {"scored", group.scored},
            {"fits_wrong", group.fits_wrong},
            {"time", json_of(group.time)},
            {"memory", json_of(group.memory)},
            {"ranking",
             {{"groups", group.ranking.groups},
              {"pairs", group.ranking.pairs},
              {"kendall_tau", group.ranking.tau}}}};
}

Json json_of(const std::map<std::string, GroupScore>& groups) {
    Json out = Json::object();
    for (const auto& [name, group] : groups) {
        out[base_name(name)] = json_of(group);
    }
    return out;
}

Json json_of(const ValidatedRow& row) {
    Json out = {{"table", base_name(row.table)},
                {"id", row.id},
                {"status", name_of(row.status)},
                {"reason", row.reason},
                {"gpu", row.gpu},
                {"framework", row.framework},
                {"model", row.model},
                {"gpus", row.gpus},
                {"measured_time_s", nullptr},
                {"predicted_time_s", nullptr},
                {"time_error_percent", nullptr},
                {"measured_memory_bytes", nullptr},
                {"predicted_memory_bytes", nullptr},
                {"memory_error_percent", nullptr},
                {"memory_figure", row.memory_figure},
                {"measured_fits", row.measured_fits},
                {"predicted_fits", row.predicted_fits},
                {"assumptions", row.assumptions}};
    const bool scored = row.status == RowStatus::Scored;
    if (scored && row.measured_time > 0) {
        out["measured_time_s"] = row.measured_time;
        out["predicted_time_s"] = row.predicted_time;
        out["time_error_percent"] = 100 * row.time_error();
    }
    if (scored && row.measured_memory > 0) {
        out["measured_memory_bytes"] = row.measured_memory;
        out["predicted_memory_bytes"] = row.predicted_memory;
        out["memory_error_percent"] = 100 * row.memory_error();
    }
    return out;
}

std::string quoted(const std::string& cell) {
    if (cell.find_first_of(",\"\n") == std::string::npos) {
        return cell;
    }
    std::string out = "\"";
    for (const char c : cell) {
        out += c == '"' ? "\"\"" : std::string(1, c);
    }
    return out + "\"";
}

}  // namespace

std::string validation_text(const std::vector<ValidatedRow>& rows, bool with_rows) {
    const Scores scores = score(rows);
    std::string text;
    if (with_rows) {
        text += fmt::format(
            "  {:<44} {:>11} {:>11}   {:>9}\n", "row", "measured", "predicted", "error");
        for (const ValidatedRow& row : rows) {
            add_row(text, row);
        }
        text += "\n";
    }
    text += fmt::format("  {:<38} {:<6} {:>5} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
                        "error in %",
                        "figure",
                        "rows",
                        "MAPE",
                        "median",
                        "p90",
                        "max",
                        "bias");
    add_groups(text, "by table", scores.by_table);
    add_groups(text, "by GPU", scores.by_gpu);
    add_groups(text, "by framework or kind", scores.by_framework);
    if (!scores.by_gpu_and_kind.empty()) {
        add_groups(text, "by GPU and kind", scores.by_gpu_and_kind);
    }
    add_groups(text, "by scale", scores.by_scale);
    text += "all\n";
    add_group(text, "all", scores.all);
    text += "\n";
    for (const auto& [name, group] : scores.by_table) {
        text += fmt::format(
            "  {:<30.30} {} of {} rows scored", base_name(name), group.scored, group.rows);
        if (group.ranking.pairs > 0) {
            text += fmt::format(
                "; Kendall tau {:.2f} over {} pairs", group.ranking.tau, group.ranking.pairs);
        }
        if (group.fits_wrong > 0) {
            text += fmt::format("; {} wrong verdicts of fit", group.fits_wrong);
        }
        text += "\n";
    }
    std::map<std::string, std::size_t> reasons;
    for (const ValidatedRow& row : rows) {
        if (row.status != RowStatus::Scored) {
            ++reasons[fmt::format("{}: {}", name_of(row.status), row.reason)];
        }
    }
    if (!reasons.empty()) {
        text += "\nnot scored\n";
        for (const auto& [reason, count] : reasons) {
            text += fmt::format("  {:>5}  {}\n", count, reason);
        }
    }
    return text;
}

std::string validation_json(const std::vector<ValidatedRow>& rows) {
    const Scores scores = score(rows);
    Json out;
    out["schema_version"] = "memwall/validation/1";
    out["summary"] = json_of(scores.all);
    out["by_table"] = json_of(scores.by_table);
    out["by_gpu"] = json_of(scores.by_gpu);
    out["by_framework"] = json_of(scores.by_framework);
    out["by_gpu_and_kind"] = json_of(scores.by_gpu_and_kind);
    out["by_scale"] = json_of(scores.by_scale);
    out["rows"] = Json::array();
    for (const ValidatedRow& row : rows) {
        out["rows"].push_back(json_of(row));
    }
    return out.dump(2) + "\n";
}

std::string validation_csv(const std::vector<ValidatedRow>& rows) {
    std::string text =
        "table,id,status,gpu,framework,model,gpus,measured_time_s,predicted_time_s,"
        "measured_memory_bytes,predicted_memory_bytes,measured_fits,predicted_fits,reason\n";
    for (const ValidatedRow& row : rows) {
        const bool scored = row.status == RowStatus::Scored;
        const auto cell = [&](double value) {
            return scored && value > 0 ? fmt::format("{:.9g}", value) : std::string();
        };
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                            quoted(base_name(row.table)),
                            quoted(row.id),
                            name_of(row.status),
                            quoted(row.gpu),
                            quoted(row.framework),
                            quoted(row.model),
                            row.gpus,
                            cell(row.measured_time),
                            cell(row.measured_time > 0 ? row.predicted_time : 0),
                            cell(row.measured_memory),
                            cell(row.measured_memory > 0 ? row.predicted_memory : 0),
                            row.measured_fits,
                            row.predicted_fits,
                            quoted(row.reason));
    }
    return text;
}

}  // namespace memwall
