#pragma once
// The words that files use for enumerators, in the order of the enumerators.
#include <array>
#include <span>
#include <string_view>

#include "sim/spec/cluster.h"
#include "sim/spec/plan.h"

namespace memwall {

// `planned`: words of the format whose meaning this release does not simulate; said so instead of "unknown".
struct EnumNames {
    std::span<const std::string_view> names;
    std::span<const std::string_view> planned{};
};

[[nodiscard]] EnumNames enum_names(Dtype);
[[nodiscard]] EnumNames enum_names(MemoryKind);
[[nodiscard]] EnumNames enum_names(IntraNode);
[[nodiscard]] EnumNames enum_names(FabricKind);
[[nodiscard]] EnumNames enum_names(NormKind);
[[nodiscard]] EnumNames enum_names(PositionKind);
[[nodiscard]] EnumNames enum_names(AttentionImplementation);
[[nodiscard]] EnumNames enum_names(LossImplementation);
[[nodiscard]] EnumNames enum_names(P2pKind);
[[nodiscard]] EnumNames enum_names(Schedule);
[[nodiscard]] EnumNames enum_names(ShardingKind);
[[nodiscard]] EnumNames enum_names(StageLayoutKind);
[[nodiscard]] EnumNames enum_names(RecomputeKind);
[[nodiscard]] EnumNames enum_names(RecomputeModule);
[[nodiscard]] EnumNames enum_names(OptimizerKind);
[[nodiscard]] EnumNames enum_names(ContextKind);
[[nodiscard]] EnumNames enum_names(Recipe);
[[nodiscard]] EnumNames enum_names(Fidelity);
[[nodiscard]] EnumNames enum_names(Routing);
[[nodiscard]] EnumNames enum_names(CollectiveLaw);
[[nodiscard]] EnumNames enum_names(NodeOrder);
[[nodiscard]] EnumNames enum_names(AttentionFlops);
[[nodiscard]] EnumNames enum_names(RankAxis);

// The algorithms of all-reduce that machine.network.algorithm may name (sim/collectives has one file for each).
[[nodiscard]] std::span<const std::string_view> collective_algorithms();

template <class E>
[[nodiscard]] std::string_view name_of(E value) {
    return enum_names(value).names[static_cast<std::size_t>(value)];
}

}  // namespace memwall
