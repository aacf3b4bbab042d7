#pragma once
// Errors of predictions against measurements: |p/m - 1| unless said otherwise; bias is the mean of p/m - 1.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "sim/validation/validate.h"

namespace memwall {

struct ErrorScore {
    std::size_t rows = 0;
    double mape = 0;
    double median = 0;
    double p90 = 0;  // nearest rank
    double max = 0;
    double bias = 0;
    double geometric = 0;  // exp(mean |ln p/m|) - 1
};
[[nodiscard]] ErrorScore score_errors(
    const std::vector<double>& ratios);  // predicted over measured

// Kendall's tau-a of predicted against measured step times within groups of rows of one table that share model and number of
// GPUs, kernels and collectives aside: (concordant - discordant) / pairs, over all groups together. Ties in the measurement are left out.
struct RankScore {
    std::size_t groups = 0;  // with at least one pair
    std::size_t pairs = 0;
    double tau = 0;
};
[[nodiscard]] RankScore score_ranking(const std::vector<const ValidatedRow*>& rows);

struct GroupScore {
    std::size_t rows = 0;  // of any status
    std::size_t scored = 0;
    ErrorScore time;
    ErrorScore memory;
    RankScore ranking;
    std::size_t fits_wrong = 0;  // does not fit but ran, or the other way round
};

struct Scores {
    GroupScore all;
    // By name of the group.
    std::map<std::string, GroupScore> by_table;
    std::map<std::string, GroupScore> by_gpu;
    std::map<std::string, GroupScore> by_framework;     // or by kind of kernel or collective
    std::map<std::string, GroupScore> by_gpu_and_kind;  // of kernels and collectives
    std::map<std::string, GroupScore> by_scale;         // 1, 2-8, 9-64, 65-512, 513-4096, more
};
[[nodiscard]] Scores score(const std::vector<ValidatedRow>& rows);

}  // namespace memwall
