#pragma once
// Rows of measurements as something that can be predicted again and again with other constants.
//   of a GPU:    matrix products, fused attention (sim/hardware), collectives inside a node (sim/collectives)
//   of a stack:  whole training steps, simulated
// Rows of other GPUs, of other stacks, across nodes and the like are left out, counted by reason.
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/calibration/constants.h"
#include "sim/io/files.h"
#include "sim/validation/table.h"

namespace memwall {

struct Measurement {
    std::size_t table = 0;
    std::size_t row = 0;  // of the table
    double time_s = 0;
};

class Experiment {
  public:
    virtual ~Experiment() = default;
    // Seconds of a row with these values of the constants chosen. From several threads, each with its own worker number.
    [[nodiscard]] virtual double seconds(std::size_t row,
                                         std::span<const double> values,
                                         unsigned worker) = 0;

    // Of a stack: its rates with these values, since a file that varies a list writes all of it.
    [[nodiscard]] virtual std::vector<StackRates> rates_with(std::span<const double> /*values*/) {
        return {};
    }

    std::vector<Measurement> rows;
    std::map<std::string, std::size_t> left_out;  // reason -> rows
    std::map<std::string, std::size_t> assumed;   // what rows leave open -> rows
    // Of the file as it is; `chosen` says which of them vary.
    std::vector<Constant> constants;
    std::vector<std::size_t> chosen;
    std::string name;     // of the GPU or stack
    bool costly = false;  // a prediction takes milliseconds
};

struct ExperimentRequest {
    std::string reference;  // of the GPU or stack: a name or a path
    std::vector<std::string> fit;
    const std::vector<Table>& tables;
    std::vector<std::string> data_roots;
    unsigned threads = 1;
};

// nullptr after an error.
[[nodiscard]] std::unique_ptr<Experiment> gpu_experiment(const ExperimentRequest& request,
                                                         Files& files,
                                                         Diagnostics& diagnostics);
[[nodiscard]] std::unique_ptr<Experiment> stack_experiment(const ExperimentRequest& request,
                                                           Files& files,
                                                           Diagnostics& diagnostics);

}  // namespace memwall
