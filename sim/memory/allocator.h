#pragma once
// PyTorch's caching allocator for one device and one stream, as a pure function over a list of allocations and frees.
//
// A request is rounded up to 512 B. Up to 1 MiB it comes from the small pool (segments of 2 MiB), above from the large pool
// (20 MiB segments below 10 MiB, else the size rounded up to 2 MiB). The best-fitting free block of the pool is taken (least
// size, then lowest address); what remains of it becomes a free block when it is at least 512 B (small) or more than 1 MiB
// (large). A freed block merges with its free neighbours in the segment. Segments are given back only when the capacity is
// exhausted: then all wholly free ones go, and the request is tried again.
// Source: pytorch c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, should_split, free_block,
// BlockComparatorSize); docs.pytorch.org, "CUDA semantics", PYTORCH_CUDA_ALLOC_CONF.
// Neglected: several streams (their free blocks are not shared), fragmentation of the device's own address space.
#include <cstdint>
#include <span>

namespace memwall {

struct AllocatorOptions {
    std::int64_t capacity = 0;              // bytes that the device can give; 0 = unlimited
    std::int64_t rounding = 512;            // kMinBlockSize
    std::int64_t small_limit = 1 << 20;     // kSmallSize
    std::int64_t small_segment = 2 << 20;   // kSmallBuffer
    std::int64_t large_minimum = 10 << 20;  // kMinLargeAlloc
    std::int64_t large_segment = 20 << 20;  // kLargeBuffer
    std::int64_t large_rounding = 2 << 20;  // kRoundLarge
    // Blocks above this size are not split, and serve only requests above it that leave less than large_segment unused;
    // 0 = no limit (max_split_size_mb, the default).
    std::int64_t max_split = 0;
    // One growing segment per pool: only whole pages of large_rounding (small pool: small_segment) are mapped.
    bool expandable_segments = false;
};

// bytes > 0: tensor `id` is allocated; bytes <= 0: it is freed. An id may be used again after its free.
struct AllocatorEvent {
    std::uint64_t id = 0;
    std::int64_t bytes = 0;
};

struct AllocatorResult {
    std::int64_t requested_peak = 0;  // bytes asked for
    std::int64_t allocated_peak =
        0;  // with rounding and unsplit remainders: torch's max_memory_allocated
    std::int64_t reserved_peak = 0;  // max_memory_reserved
    std::int64_t requested = 0;      // at the end
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    std::int64_t segments = 0;  // device allocations made
    std::int64_t retries = 0;   // times that free segments had to be given back
    bool out_of_memory = false;
    std::size_t failed_event = 0;  // valid when out_of_memory; the replay stops there
};

[[nodiscard]] AllocatorResult replay_allocator(std::span<const AllocatorEvent> events,
                                               const AllocatorOptions& options);

}  // namespace memwall
