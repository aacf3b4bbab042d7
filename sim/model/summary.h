#pragma once
// The workload trace as rows for people: one row per op and boundary of each layer kind, and totals per kind.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/trace.h"

namespace memwall {

struct SummaryRow {
    std::string op;  // boundaries: their kind, such as "row output"
    Pass pass = Pass::Forward;
    bool boundary = false;
    std::string kernel;  // "gemm", "attention", "norm", "elementwise", ...
    std::string
        shape;  // "8 x [2048, 12288, 4096]", "b 1 h 32/8 s 8192 d 128"; empty for memory-bound kernels
    std::string split;      // "n: tp", "bytes: sequence"; empty = nothing is divided
    std::string condition;  // "if 16 / tp is a multiple of 4"; empty = always
    Flops flops;
    Bytes bytes;  // HBM traffic; of a boundary: of all its calls
    Bytes saved;  // activations that this op leaves for backward
};

struct SummaryKind {
    std::string kind;
    std::int64_t layers = 0;  // of this kind in the model
    std::vector<SummaryRow> rows;
    std::int64_t parameters = 0;
    Flops forward;
    Flops input_gradient;
    Flops weight_gradient;
    Bytes saved;  // not sharded; conditional kernels as at tp 1
};

// Whole tensors of one micro-batch, nothing sharded. Kinds in the order embedding, layers by first use, head.
[[nodiscard]] std::vector<SummaryKind> summarise(const WorkloadTrace& trace);

}  // namespace memwall
