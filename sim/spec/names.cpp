#include "sim/spec/names.h"

namespace memwall {
namespace {

using Word = std::string_view;

template <std::size_t N>
using Words = std::array<Word, N>;

constexpr Words<7> kDtype = {"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"};
constexpr Words<9> kMemoryKind = {"elementwise",
                                  "norm",
                                  "norm_backward",
                                  "softmax",
                                  "reduction",
                                  "embedding",
                                  "cross_entropy",
                                  "optimizer",
                                  "cast"};
constexpr Words<3> kIntraNode = {"nvswitch", "mesh", "pcie_tree"};
constexpr Words<5> kFabricKind = {
    "single_switch", "fat_tree_2", "fat_tree_3", "rail_optimised", "none"};
constexpr Words<2> kNormKind = {"layer_norm", "rms_norm"};
constexpr Words<4> kPositionKind = {"learned", "rotary", "alibi", "none"};
constexpr Words<5> kAttention = {"auto", "unfused", "flash2", "flash3", "cudnn"};
constexpr Words<3> kLoss = {"auto", "unfused", "fused"};
constexpr Words<3> kP2pKind = {"blocking", "batched", "overlapped"};
constexpr Words<3> kSchedule = {"gpipe", "1f1b", "interleaved_1f1b"};
constexpr Words<5> kSchedulePlanned = {"zb_h1", "zb_1p", "zb_2p", "zb_v", "dualpipe"};
constexpr Words<6> kShardingKind = {"none", "zero1", "zero2", "zero3", "fsdp", "hsdp"};
constexpr Words<3> kStageLayoutKind = {"even", "embedding_and_head_as_layers", "explicit"};
constexpr Words<4> kRecomputeKind = {"none", "selective", "operators", "full"};
constexpr Words<3> kRecomputeModule = {"attention_core", "mlp", "norm"};
constexpr Words<5> kRecipe = {"none", "fp8_delayed", "fp8_tensorwise", "mxfp8", "nvfp4"};
constexpr Words<4> kOptimizerKind = {"adam", "adamw", "adamw_fused", "sgd"};
constexpr Words<3> kContextKind = {"ring", "all_to_all", "all_gather"};
constexpr Words<4> kFidelity = {"ideal", "alpha_beta", "fluid", "stepwise"};
constexpr Words<2> kRouting = {"even", "ecmp"};
constexpr Words<2> kLaw = {"steps", "nccl"};
constexpr Words<2> kNodeOrder = {"block", "cyclic"};
constexpr Words<1> kNodeOrderPlanned = {"rail_aware"};
constexpr Words<2> kAttentionFlops = {"full", "causal"};
constexpr Words<4> kAlgorithm = {"ring", "tree", "hierarchical", "nvls"};
constexpr Words<4> kRankAxis = {"tp", "cp", "dp", "pp"};

}  // namespace

EnumNames enum_names(Dtype) {
    return {kDtype};
}
EnumNames enum_names(MemoryKind) {
    return {kMemoryKind};
}
EnumNames enum_names(IntraNode) {
    return {kIntraNode};
}
EnumNames enum_names(FabricKind) {
    return {kFabricKind};
}
EnumNames enum_names(NormKind) {
    return {kNormKind};
}
EnumNames enum_names(PositionKind) {
    return {kPositionKind};
}
EnumNames enum_names(AttentionImplementation) {
    return {kAttention};
}
EnumNames enum_names(LossImplementation) {
    return {kLoss};
}
EnumNames enum_names(P2pKind) {
    return {kP2pKind};
}
EnumNames enum_names(Schedule) {
    return {kSchedule, kSchedulePlanned};
}
EnumNames enum_names(ShardingKind) {
    return {kShardingKind};
}
EnumNames enum_names(StageLayoutKind) {
    return {kStageLayoutKind};
}
EnumNames enum_names(RecomputeKind) {
    return {kRecomputeKind};
}
EnumNames enum_names(RecomputeModule) {
    return {kRecomputeModule};
}
EnumNames enum_names(OptimizerKind) {
    return {kOptimizerKind};
}
EnumNames enum_names(Recipe) {
    return {kRecipe};
}
EnumNames enum_names(ContextKind) {
    return {kContextKind};
}
EnumNames enum_names(Fidelity) {
    return {kFidelity};
}
EnumNames enum_names(Routing) {
    return {kRouting};
}
EnumNames enum_names(CollectiveLaw) {
    return {kLaw};
}
EnumNames enum_names(NodeOrder) {
    return {kNodeOrder, kNodeOrderPlanned};
}
EnumNames enum_names(AttentionFlops) {
    return {kAttentionFlops};
}
std::span<const std::string_view> collective_algorithms() {
    return kAlgorithm;
}
EnumNames enum_names(RankAxis) {
    return {kRankAxis};
}

}  // namespace memwall
