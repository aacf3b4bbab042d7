#pragma once
// Predicts every row of tables of measurements and compares.
#include <functional>
#include <string>
#include <vector>

#include "sim/io/files.h"
#include "sim/validation/table.h"

namespace memwall {

enum class RowStatus {
    Scored,
    NotYet,    // complete, but uses what is not simulated
    Unmapped,  // the row leaves too much open, or names what has no data file
    Failed,    // its scenario was refused
};

struct ValidatedRow {
    std::string table;
    std::string id;
    RowStatus status = RowStatus::Unmapped;
    std::string reason;  // why it is not scored
    std::vector<std::string> assumptions;
    std::string scenario;  // YAML; empty for kernels and collectives
    // Groups.
    std::string gpu;
    std::string
        framework;  // of a training row; else its kind: "gemm bf16", "all-reduce across nodes, ..."
    bool alone = false;  // a kernel or collective
    std::string model;
    int gpus = 0;
    // Seconds and bytes; 0 = not measured.
    double measured_time = 0;
    double predicted_time = 0;
    double measured_memory = 0;
    double predicted_memory = 0;
    std::string memory_figure;  // allocated, reserved, device
    bool measured_fits = true;
    bool predicted_fits = true;

    [[nodiscard]] double time_error() const { return predicted_time / measured_time - 1; }
    [[nodiscard]] double memory_error() const { return predicted_memory / measured_memory - 1; }
};

struct ValidateOptions {
    std::vector<std::string> data_roots;
    unsigned threads = 0;  // 0 = all cores
    // Called from the workers, one at a time.
    std::function<void(std::size_t done, std::size_t all)> progress;
};

// Rows in the order of the tables.
[[nodiscard]] std::vector<ValidatedRow> validate(const std::vector<Table>& tables,
                                                 Files& files,
                                                 const ValidateOptions& options);

}  // namespace memwall
