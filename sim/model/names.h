#pragma once
// The words for the enumerators of the workload trace, in their order: used by trace files and tables.
#include <array>
#include <string_view>

#include "sim/model/trace.h"

namespace memwall {

inline constexpr std::array<std::string_view, 3> kPassNames = {
    "forward", "input_gradient", "weight_gradient"};
inline constexpr std::array<std::string_view, 4> kSplitNames = {"none", "tp", "sequence", "ep"};
inline constexpr std::array<std::string_view, 5> kTraceModuleNames = {
    "other", "attention_core", "mlp", "norm", "loss"};
inline constexpr std::array<std::string_view, 7> kBoundaryKindNames = {"column_input",
                                                                       "row_output",
                                                                       "gather_again",
                                                                       "vocabulary",
                                                                       "loss",
                                                                       "expert_dispatch",
                                                                       "expert_combine"};
inline constexpr std::array<std::string_view, 3> kGemmRoleNames = {
    "forward", "input_gradient", "weight_gradient"};
inline constexpr std::array<std::string_view, 3> kAttentionKindNames = {
    "flash2", "flash3", "cudnn"};
inline constexpr std::array<std::string_view, 9> kMemoryKindNames = {"elementwise",
                                                                     "norm",
                                                                     "norm_backward",
                                                                     "softmax",
                                                                     "reduction",
                                                                     "embedding",
                                                                     "cross_entropy",
                                                                     "optimizer",
                                                                     "cast"};
inline constexpr std::array<std::string_view, 7> kDtypeNames = {
    "fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"};

// kPassNames[enumerator] with the index conversion in one place.
template <class Enum, std::size_t N>
[[nodiscard]] constexpr std::string_view word(const std::array<std::string_view, N>& names,
                                              Enum value) {
    return names[static_cast<std::size_t>(value)];
}

}  // namespace memwall
