#include "sim/validation/score.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace memwall {
namespace {

// Nearest rank.
double quantile(const std::vector<double>& sorted, double q) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::string scale_of(int gpus) {
    return gpus <= 1      ? "1 GPU"
           : gpus <= 8    ? "2-8 GPUs"
           : gpus <= 64   ? "9-64 GPUs"
           : gpus <= 512  ? "65-512 GPUs"
           : gpus <= 4096 ? "513-4096 GPUs"
                          : "more than 4096 GPUs";
}

GroupScore score_group(const std::vector<const ValidatedRow*>& rows) {
    GroupScore out;
    std::vector<double> times;
    std::vector<double> memories;
    out.rows = rows.size();
    for (const ValidatedRow* row : rows) {
        if (row->status != RowStatus::Scored) {
            continue;
        }
        ++out.scored;
        out.fits_wrong += row->measured_fits != row->predicted_fits ? 1 : 0;
        if (row->measured_time > 0) {
            times.push_back(row->predicted_time / row->measured_time);
        }
        if (row->measured_memory > 0) {
            memories.push_back(row->predicted_memory / row->measured_memory);
        }
    }
    out.time = score_errors(times);
    out.memory = score_errors(memories);
    out.ranking = score_ranking(rows);
    return out;
}

std::map<std::string, GroupScore> grouped(
    const std::vector<ValidatedRow>& rows,
    const std::function<std::string(const ValidatedRow&)>& by) {
    std::map<std::string, std::vector<const ValidatedRow*>> groups;
    for (const ValidatedRow& row : rows) {
        if (const std::string name = by(row); !name.empty()) {
            groups[name].push_back(&row);
        }
    }
    std::map<std::string, GroupScore> out;
    for (const auto& [name, members] : groups) {
        out[name] = score_group(members);
    }
    return out;
}

}  // namespace

ErrorScore score_errors(const std::vector<double>& ratios) {
    ErrorScore s;
    s.rows = ratios.size();
    if (ratios.empty()) {
        return s;
    }
    const auto n = static_cast<double>(ratios.size());
    std::vector<double> errors;
    double logs = 0;
    for (const double r : ratios) {
        errors.push_back(std::abs(r - 1));
        s.mape += errors.back() / n;
        s.bias += (r - 1) / n;
        logs += std::abs(std::log(r)) / n;
    }
    std::sort(errors.begin(), errors.end());
    const std::size_t half = errors.size() / 2;
    s.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
    s.p90 = quantile(errors, 0.9);
    s.max = errors.back();
    s.geometric = std::exp(logs) - 1;
    return s;
}

RankScore score_ranking(const std::vector<const ValidatedRow*>& rows) {
    std::map<std::tuple<std::string, std::string, int>, std::vector<const ValidatedRow*>> groups;
    for (const ValidatedRow* row : rows) {
        if (row->status == RowStatus::Scored && row->measured_time > 0 && row->gpus > 0 &&
            !row->alone) {
            groups[{row->table, row->model, row->gpus}].push_back(row);
        }
    }
    RankScore out;
    std::int64_t balance = 0;
    for (const auto& [key, members] : groups) {
        const std::size_t before = out.pairs;
        for (std::size_t a = 0; a < members.size(); ++a) {
            for (std::size_t b = a + 1; b < members.size(); ++b) {
                const double measured = members[a]->measured_time - members[b]->measured_time;
                const double predicted = members[a]->predicted_time - members[b]->predicted_time;
                if (measured != 0) {
                    ++out.pairs;
                    balance += measured * predicted > 0 ? 1 : measured * predicted < 0 ? -1 : 0;
                }
            }
        }
        out.groups += out.pairs > before ? 1 : 0;
    }
    out.tau = out.pairs > 0 ? static_cast<double>(balance) / static_cast<double>(out.pairs) : 0;
    return out;
}

Scores score(const std::vector<ValidatedRow>& rows) {
    Scores out;
    std::vector<const ValidatedRow*> all;
    for (const ValidatedRow& row : rows) {
        all.push_back(&row);
    }
    out.all = score_group(all);
    out.by_table = grouped(rows, [](const ValidatedRow& r) { return r.table; });
    out.by_gpu = grouped(rows, [](const ValidatedRow& r) { return r.gpu; });
    out.by_framework = grouped(rows, [](const ValidatedRow& r) { return r.framework; });
    out.by_gpu_and_kind = grouped(rows, [](const ValidatedRow& r) {
        return r.alone && !r.gpu.empty() ? r.gpu + ", " + r.framework : std::string();
    });
    out.by_scale = grouped(
        rows, [](const ValidatedRow& r) { return r.gpus > 0 ? scale_of(r.gpus) : std::string(); });
    return out;
}

}  // namespace memwall
