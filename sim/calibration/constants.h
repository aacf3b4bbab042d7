#pragma once
// The constants of a GPU or a stack that can be fitted to measurements, by the key path that `--set` and the files use.
// Datasheet facts and words are none; nor are the constants by which NCCL chooses an algorithm: no time follows from them.
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/spec/fields.h"
#include "sim/spec/gpu.h"
#include "sim/spec/stack.h"

namespace memwall {

// One of them, as a place in a Gpu or Stack. Values are in the units of the struct: bytes or operations per second,
// picoseconds, plain numbers.
struct Constant {
    std::string path;  // rates of a stack by architecture: rates.sm80.gemm
    Leaf leaf;
    double least = 0;  // of its field and of physics
    double most = 0;

    [[nodiscard]] double value() const;
    void set(double value) const;                        // whole picoseconds where it is a time
    [[nodiscard]] std::string text() const;              // as a file says it
    [[nodiscard]] std::string text(double other) const;  // another value in its unit
};

// In the order of the file; pointers into the argument.
[[nodiscard]] std::vector<Constant> constants_of(Gpu& gpu);
[[nodiscard]] std::vector<Constant> constants_of(Stack& stack);

// Indices of those that `wanted` names: `gemm.bf16.burst`, or the head of several, `gemm.bf16`, `nccl`. A head takes those
// that the file gives a value, without those that all cards share (kShared in the source), which only their full name
// takes. `rates.gemm` is that of the only architecture. Errors (E0601) stand at `--fit`, line = which one.
[[nodiscard]] std::vector<std::size_t> select_constants(const std::vector<Constant>& all,
                                                        const std::vector<std::string>& wanted,
                                                        Diagnostics& diagnostics);

// What measurements would tell a constant; empty when nothing particular.
[[nodiscard]] std::string_view told_by(std::string_view path);

}  // namespace memwall
