#pragma once
// The text workload of ASTRA-sim 1.0 and its SimAI dialect: an executed trace. Each layer states what it took and what it
// sent; the machine can be changed under it, the strategy cannot.
//
//   line 1: keyword [key: value ...]     line 2: number of layers     then one line per layer:
//   name dependency  forward time, collective, bytes  input gradient ditto  weight gradient ditto  update time
//
// Numbers of time carry no unit: SimAI writes nanoseconds, Chakra's converter takes microseconds. The caller states it.
// What is not in the file and is assumed is listed in `assumptions`, for the report.
//
// Groups by keyword: DATA: weight gradients over Dp. MODEL: forward and input gradients over Tp. HYBRID_*: both, as above.
// MICRO: collectives only, over World. Suffix _EP: over Ep; _DP_EP: over Replicate (data-parallel ranks with the same
// experts). Not read: HYBRID_DLRM (its embedding exchange crosses layers), recomputation checkpoints, HYBRID_CUSTOMIZED.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/parallel/program.h"
#include "sim/spec/collective.h"

namespace memwall {

enum class AstraKeyword : std::uint8_t {
    Micro,
    Data,
    Model,
    HybridDataModel,
    HybridModelData,
    HybridTransformer,
    HybridTransformerForwardInBackward,
};

struct AstraPass {
    Duration compute{};
    std::optional<CollectiveCall> collective;  // none: NONE or no bytes
};

struct AstraLayer {
    std::string name;
    AstraPass forward;
    AstraPass input_gradient;
    AstraPass weight_gradient;
    Duration update{};
};

// 0 = not stated.
struct AstraHeader {
    AstraKeyword keyword = AstraKeyword::Micro;
    std::int64_t model_parallel = 0;
    std::int64_t ep = 0;
    std::int64_t pp = 0;
    std::int64_t vpp = 0;
    std::int64_t gradient_accumulation = 0;
    std::int64_t gpus = 0;
    Bytes pipeline_bytes;
};

struct AstraWorkload {
    AstraHeader header;
    std::vector<AstraLayer> layers;
    std::vector<std::string> assumptions;
};

// `time_unit`: one unit of the file's times, > 0. nullopt: at least one error was added.
[[nodiscard]] std::optional<AstraWorkload> read_astra_text(const std::string& label,
                                                           std::string_view text,
                                                           Duration time_unit,
                                                           Diagnostics& diagnostics);

[[nodiscard]] std::string_view name_of(AstraKeyword keyword);  // as in the file

// One step on one stage, which each of `stages` runs, in the order of ASTRA-sim's training loop (astra-sim/workload/Workload.cc of version 1.0):
// forward: compute, then its collective, waited for. Backward from the last layer: DATA: weight gradient, its collective
// beside the rest, input gradient; others: input gradient, its collective beside the weight gradient and waited for after
// it, then the weight gradient's collective beside the rest. A layer's update, and its next forward, wait for the
// collective of its weight gradient.
[[nodiscard]] ProgramSet astra_program(const AstraWorkload& workload, int stages = 1);

}  // namespace memwall
