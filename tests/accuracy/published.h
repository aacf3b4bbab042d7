#pragma once
// Every scenario of a folder beside the figures that it carries in its `published:` block.
#include <string>
#include <vector>

namespace memwall {

struct PublishedRow {
    std::string scenario;  // file stem
    std::string figure;    // "step_time_s"
    double published = 0;
    double predicted = 0;
    [[nodiscard]] double error() const { return predicted / published - 1; }
};

// Rows of the same configuration only, in order of file name. Throws when a scenario cannot be read or run.
[[nodiscard]] std::vector<PublishedRow> predict_published(const std::string& folder,
                                                          const std::string& data_root);

// Of one figure.
struct ErrorSummary {
    int rows = 0;
    double mape = 0;   // mean of |error|
    double worst = 0;  // largest |error|
    double bias = 0;   // mean error
};
[[nodiscard]] ErrorSummary summarise_errors(const std::vector<PublishedRow>& rows,
                                            const std::string& figure);

// A Markdown table, one line a row, then the summary of each figure.
[[nodiscard]] std::string published_table(const std::vector<PublishedRow>& rows);

}  // namespace memwall
