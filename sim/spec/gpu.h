#pragma once
// A GPU: datasheet facts and the fitted constants of its kernel and collective models. One YAML file each in
// topologies/gpus; a variant names `base:` and overrides. Formulas: sim/hardware and sim/collectives.
#include <map>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/spec/dtype.h"
#include "sim/spec/kernel.h"

namespace memwall {

// Constants of the GEMM time law, one set per dtype (sim/hardware/gemm.h).
struct GemmRates {
    FlopRate burst;               // P: rate of full 256x128 tiles at boost clock
    FlopRate sustained;           // Ps: cap under power limit; 0 = clock_drop alone limits
    double prologue_k = 0;        // K0: prologue and epilogue of a tile as extra depth
    Bandwidth memory;             // B: operand traffic
    Duration fixed{};             // t0
    double clock_drop = 0;        // rb: sustained slow-down relative to burst
    double long_run = 1;          // share of the sustained rate that thousands of repetitions keep
    Duration reaction{};          // tau: kernel time at which half of clock_drop shows in a burst
    Duration quantise_fixed{};    // tq: quantisation kernels of low-precision inputs
    double quantise_traffic = 0;  // qa
};

// Measured over predicted time by memory layout (TN, NN, NT), relative to the layout the GemmRates were fitted to.
struct GemmRoleFactors {
    double forward = 1;
    double input_gradient = 1;
    double weight_gradient = 1;
};

// How the library tiles a product; one set per architecture class (A: sm80/sm89/sm120, B: sm90/sm100).
struct GemmTiling {
    double tile_starvation = 0;  // h
    double wave_hardness = 0;    // q: 1 = whole waves, 0 = perfectly balanced
    double l2_hit = 0;           // share of activations found in L2
    bool two_cta_tile = false;   // 256x256 tiles
    // Slow-down of batched products with an n or k off multiples of 8 elements, whose rows vector loads cannot read, and
    // of those off multiples of 64, whose rows fill no whole tile.
    double batched_unaligned = 1;
    double batched_off_64 = 1;
};

// Constants of fused attention, forward or backward (sim/hardware/attention.h).
struct AttentionRates {
    FlopRate matrix;               // Pm
    double exponentials = 0;       // X: score elements per second; 0 = not limiting
    double clock_drop = 0;         // rb
    Duration tile_overhead{};      // tov
    Duration fixed{};              // t0
    Bandwidth memory;              // B
    double wide_head_penalty = 1;  // g192: head dim > 128
    bool padded_heads = false;     // head dims are rounded up to a power of two
};

// Share of the datasheet bandwidth and fixed part, by kind of memory-bound kernel.
struct MemoryRates {
    double efficiency = 0;
    Duration fixed{};
};

// Share of the full memory rate that a streaming kernel keeps with this share of the GPU's threads resident.
struct OccupancyPoint {
    double threads = 0;
    double rate = 0;
};

// NCCL time laws inside one NVLink domain (or PCIe box): one set per GPU generation (physics of sim/collectives/nccl).
// `ring` is the busbw-like rate per GPU and direction; base/step as in the law's statement.
struct NcclConstants {
    Bandwidth ring;              // B
    double ring_efficiency = 0;  // B / raw rate of the ring's slowest hop
    Duration base_ll{};          // b_LL
    Duration step_ll{};          // l
    Duration base_simple{};      // b_S, Simple and LL128
    Duration step_simple{};      // L
    double extra_pass = 0;       // x (all-gather, reduce-scatter; 0.75 x for all-reduce)
    Duration fill{};             // F
    Duration base_p2p{};         // b_P
    Duration fill_p2p{};         // Fp
    double self_copy = 0;        // xa
    double cross_socket = 1;     // i: all-to-all across sockets of a PCIe box
    double pair_factor = 1;      // two GPUs on one PCIe switch
    Bandwidth nvls;              // R; 0 = no NVLS
    Duration nvls_loop{};        // lambda
    int channels = 0;            // C: SMs taken by a ring or tree
    int nvls_channels = 0;       // C_nv
    // The tuner's nominal view (choice only, never time).
    int search_channels = 0;      // C_s
    Bandwidth search_speed;       // per channel
    Bandwidth ll_max;             // cap of LL
    Bandwidth ll128_per_channel;  // cap of LL128
    Bandwidth tree_per_channel;
    // The same two between nodes, where they differ.
    Bandwidth ll_max_two_nodes;
    Bandwidth ll_max_more_nodes;
    Bandwidth tree_per_channel_two_nodes;
    Bandwidth tree_per_channel_more_nodes;
    Bandwidth
        nvls_head_speed;  // largest per head; the search takes less where n heads exceed the bus
    double nvls_efficiency = 0;
};

struct Gpu {
    std::string name;
    std::string vendor;
    std::string architecture;  // sm80, sm90, sm100, gfx942, ...
    Bytes memory;              // nominal capacity
    Bytes usable;              // what one process can get
    Bandwidth hbm;
    std::map<Dtype, FlopRate> peak;  // dense datasheet rates
    int sms = 0;
    Bytes l2;
    double tdp_watts = 0;
    Bandwidth pcie;              // host link (PCIe, or C2C on Grace), raw rate of one direction
    double pcie_efficiency = 0;  // share of it that a copy reaches
    Duration pcie_fixed{};       // per copy
    // NVLink / xGMI of the GPU itself; how they are wired is the node's business.
    int links = 0;
    Bandwidth link_rate;  // one link, one direction
    GemmTiling gemm_tiling;
    GemmRoleFactors gemm_roles;
    std::map<Dtype, GemmRates> gemm;
    std::map<Dtype, GemmRates> gemm_burst;  // of short sweeps, where `gemm` comes from long runs
    // The best library of the GPU (cuDNN, FlashAttention-3); flash2_*: FlashAttention-2 where it differs, else empty.
    std::map<Dtype, AttentionRates> attention_forward;
    std::map<Dtype, AttentionRates> attention_backward;
    std::map<Dtype, AttentionRates> flash2_forward;
    std::map<Dtype, AttentionRates> flash2_backward;
    std::map<Dtype, AttentionRates> trtllm_forward;  // TensorRT-LLM context attention: inference
    std::map<MemoryKind, MemoryRates> memory_kernels;
    std::vector<OccupancyPoint> occupancy;  // ascending; (0, 0) and (1, 1) are implied
    NcclConstants nccl;
};

}  // namespace memwall
