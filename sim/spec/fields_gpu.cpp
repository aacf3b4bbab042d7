#include "sim/spec/fields_machine.h"

namespace memwall {
namespace {

constexpr double kMiB = 1048576.0;
constexpr Rules kMemory = between(kMiB, 1125899906842624.0);  // 1 MiB to 1 PiB
// Follows an override of memory in proportion: no memory within its range may take it out of its own.
constexpr Rules kUsable = between(0.5 * kMiB, 1125899906842624.0);

}  // namespace

void describe(Fields& f, GemmRates& v) {
    f.leaf("burst", v.burst, kRequired | kPositive);
    f.leaf("sustained", v.sustained, kNonNegative);
    f.leaf("prologue_k", v.prologue_k, at_most(1e6));
    f.leaf("memory", v.memory, kRequired | kPositive);
    f.leaf("fixed", v.fixed, kNonNegative);
    f.leaf("clock_drop", v.clock_drop, at_most(10));
    f.leaf("long_run", v.long_run, between(0.01, 1));
    f.leaf("reaction", v.reaction, kNonNegative);
    f.leaf("quantise_fixed", v.quantise_fixed, kNonNegative);
    f.leaf("quantise_traffic", v.quantise_traffic, at_most(1000));
}

void describe(Fields& f, GemmRoleFactors& v) {
    f.leaf("forward", v.forward, between(0.1, 10));
    f.leaf("input_gradient", v.input_gradient, between(0.1, 10));
    f.leaf("weight_gradient", v.weight_gradient, between(0.1, 10));
}

void describe(Fields& f, GemmTiling& v) {
    f.leaf("tile_starvation", v.tile_starvation, at_most(1000));
    f.leaf("wave_hardness", v.wave_hardness, kShare);
    f.leaf("l2_hit", v.l2_hit, kShare);
    f.leaf("two_cta_tile", v.two_cta_tile);
    f.leaf("batched_unaligned", v.batched_unaligned, between(1, 100));
    f.leaf("batched_off_64", v.batched_off_64, between(1, 100));
}

void describe(Fields& f, AttentionRates& v) {
    f.leaf("matrix", v.matrix, kRequired | kPositive);
    f.leaf("exponentials", v.exponentials, zero_or(1e9, 1e18));
    f.leaf("clock_drop", v.clock_drop, at_most(10));
    f.leaf("tile_overhead", v.tile_overhead, kNonNegative);
    f.leaf("fixed", v.fixed, kNonNegative);
    f.leaf("memory", v.memory, kRequired | kPositive);
    f.leaf("wide_head_penalty", v.wide_head_penalty, between(0.1, 100));
    f.leaf("padded_heads", v.padded_heads);
}

void describe(Fields& f, MemoryRates& v) {
    f.leaf("efficiency", v.efficiency, kRequired | between(0.001, 1));
    f.leaf("fixed", v.fixed, kNonNegative);
}

void describe(Fields& f, OccupancyPoint& v) {
    f.leaf("threads", v.threads, kRequired | between(0.001, 1));
    f.leaf("rate", v.rate, kRequired | between(0.001, 1));
}

void describe(Fields& f, NcclConstants& v) {
    f.leaf("ring", v.ring, kNonNegative);
    f.leaf("ring_efficiency", v.ring_efficiency, zero_or(0.001, 1));
    f.leaf("base_ll", v.base_ll, kNonNegative);
    f.leaf("step_ll", v.step_ll, kNonNegative);
    f.leaf("base_simple", v.base_simple, kNonNegative);
    f.leaf("step_simple", v.step_simple, kNonNegative);
    f.leaf("extra_pass", v.extra_pass, at_most(100));
    f.leaf("fill", v.fill, kNonNegative);
    f.leaf("base_p2p", v.base_p2p, kNonNegative);
    f.leaf("fill_p2p", v.fill_p2p, kNonNegative);
    f.leaf("self_copy", v.self_copy, at_most(100));
    f.leaf("cross_socket", v.cross_socket, between(0.01, 100));
    f.leaf("pair_factor", v.pair_factor, between(0.01, 100));
    f.leaf("nvls", v.nvls, kNonNegative);
    f.leaf("nvls_loop", v.nvls_loop, kNonNegative);
    f.leaf("channels", v.channels, at_most(1024));
    f.leaf("nvls_channels", v.nvls_channels, at_most(1024));
    f.leaf("search_channels", v.search_channels, at_most(1024));
    f.leaf("search_speed", v.search_speed, kNonNegative);
    f.leaf("ll_max", v.ll_max, kNonNegative);
    f.leaf("ll128_per_channel", v.ll128_per_channel, kNonNegative);
    f.leaf("tree_per_channel", v.tree_per_channel, kNonNegative);
    f.leaf("ll_max_two_nodes", v.ll_max_two_nodes, kNonNegative);
    f.leaf("ll_max_more_nodes", v.ll_max_more_nodes, kNonNegative);
    f.leaf("tree_per_channel_two_nodes", v.tree_per_channel_two_nodes, kNonNegative);
    f.leaf("tree_per_channel_more_nodes", v.tree_per_channel_more_nodes, kNonNegative);
    f.leaf("nvls_head_speed", v.nvls_head_speed, kNonNegative);
    f.leaf("nvls_efficiency", v.nvls_efficiency, zero_or(0.001, 1));
}

void describe(Fields& f, Gpu& v) {
    f.leaf("name", v.name, kRequired);
    f.keep("about");
    f.leaf("vendor", v.vendor);
    f.leaf("architecture", v.architecture);
    f.leaf("memory", v.memory, kRequired | kMemory);
    f.leaf("usable", v.usable, kRequired | kUsable);
    f.leaf("hbm", v.hbm, kRequired | kPositive);
    f.table("peak", v.peak, kRequired | kPositive);
    f.leaf("sms", v.sms, kRequired | between(1, 100'000));
    f.leaf("l2", v.l2, kNonNegative);
    f.leaf("tdp_watts", v.tdp_watts, at_most(1e6));
    f.leaf("pcie", v.pcie, kRequired | kPositive);
    f.leaf("pcie_efficiency", v.pcie_efficiency, zero_or(0.001, 1));
    f.leaf("pcie_fixed", v.pcie_fixed, kNonNegative);
    f.leaf("links", v.links, at_most(1024));
    f.leaf("link_rate", v.link_rate, kNonNegative);
    f.map("gemm_tiling", v.gemm_tiling);
    f.map("gemm_roles", v.gemm_roles);
    f.table("gemm", v.gemm);
    f.table("gemm_burst", v.gemm_burst);
    f.table("attention_forward", v.attention_forward);
    f.table("attention_backward", v.attention_backward);
    f.table("flash2_forward", v.flash2_forward);
    f.table("flash2_backward", v.flash2_backward);
    f.table("trtllm_forward", v.trtllm_forward);
    f.table("memory_kernels", v.memory_kernels);
    f.list("occupancy", v.occupancy);
    f.map("nccl", v.nccl);
    f.keep("sources");
}

}  // namespace memwall
