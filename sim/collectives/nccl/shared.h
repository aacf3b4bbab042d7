#pragma once
// Numbers of the NCCL laws and of its tuner that are the same for all GPUs and fabrics. Those that differ by GPU
// generation or by fabric are data (gpu.nccl, fabric.nccl).

namespace memwall {

// Fitted once for all generations, with the constants of gpu.nccl, to medians of the single-node sweeps of
// ai-dynamo/aiconfigurator @095f58a (378 A100, 840 Hopper, 1092 Blackwell, 420 PCIe) and 130 rows of superbenchmark,
// SimuMax, MLPerf v4.0/v5.0 and stas00/ml-engineering. Freeing them per generation gains 0.0 - 0.8 points.
struct NcclShared {
    double ll_efficiency = 1.1;      // LL payload rate over half the ring rate
    double ll_passes = 1.5;          // extra ring steps of LL
    double ll128_step = 1.5;         // l128 / l
    double ll128_rate = 0.92;        // payload rate of LL128 over the ring rate
    double all_reduce_pass = 0.75;   // x of all-reduce over x of all-gather
    double fill_rate = 0.4;          // of the saturating fill in the node
    double network_fill_rate = 0.8;  // and across nodes
    double norm_in_node = 8;         // exponent of the smooth maximum
    double norm_across = 4;
    double nvls_base_us = 0.5;
    double nvls_fill_loops = 2;
    double nvls_tree_loops = 2.5;  // NVLSTree: entry and exit through the switch
    double tree_rate = 0.46;       // of B: tree, Simple
    double tree_ll128_rate = 0.4;  // of B: tree, LL128
    double p2p_ll_base_us = 2;     // on top of the LL base
    double per_peer_us = 0.28;
    double p2p_ll_rate = 6.5e3;  // bytes per us of one channel
    double p2p_channel_rate = 32e3;
    double p2p_base_us = 6;       // send/receive of large messages
    double p2p_rate = 1.2;        // of B: send/receive
    double p2p_raw_share = 0.92;  // of the raw link rate: where 1.2 B would exceed what links reach
};
inline constexpr NcclShared kNcclShared{};

// Facts of NVIDIA/nccl @5067397.
struct NcclFacts {
    double ll_channel_bytes =
        4096;  // 512 threads x 8 bytes: per rank and channel (src/enqueue.cc, LL thread threshold)
    double p2p_ll_bytes = 16384;       // LL limit of one channel of send/receive
    double p2p_channel_bytes = 65536;  // minimum part given to a channel
    int pcie_channels = 2;  // a ring over PCIe: the search finds one, the library doubles it
    int p2p_channels_max = 16;
    double chunk_bytes = 524288;    // Simple, broadcast chain
    int nvls_channels_across = 32;  // src/transport/nvls.cc, several nodes
    double ll_wire = 2;             // wire bytes per payload byte
    double ll128_wire = 128.0 / 120.0;
};
inline constexpr NcclFacts kNcclFacts{};

// NVLS loop: bytes per channel and rank, halved while the message is too small to fill the loops (src/enqueue.cc).
struct NvlsChunk {
    double bytes;  // chunk when the message is at least `loops` loops of the chunk before
    double loops;
};
inline constexpr double kNvlsChunkMax = 131072;
inline constexpr NvlsChunk kNvlsChunks[] = {{65536, 64}, {32768, 8}, {16384, 2}};

}  // namespace memwall
