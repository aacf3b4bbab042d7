#include "sim/memory/allocator.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/check.h"

namespace memwall {
namespace {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
}

// Addresses are made up: segments lie far apart, so that blocks of two segments never touch.
constexpr std::int64_t kSegmentGap = std::int64_t{1} << 44;

struct Block {
    std::int64_t size = 0;
    std::int64_t requested = 0;
    std::int64_t segment = 0;  // address of its segment
    bool small = false;
    bool free = false;
};

class CachingAllocator {
  public:
    explicit CachingAllocator(const AllocatorOptions& options) : options_(options) {}

    // False: out of memory.
    bool allocate(std::uint64_t id, std::int64_t bytes) {
        const std::int64_t size = round_up(bytes, options_.rounding);
        const bool small = size <= options_.small_limit;
        auto block = find_free(size, small);
        if (block == blocks_.end()) {
            block = options_.expandable_segments ? expand(size, small) : new_segment(size, small);
        }
        if (block == blocks_.end()) {
            return false;
        }
        take(block, size);
        block->second.requested = bytes;
        const bool added = live_.emplace(id, block->first).second;
        MW_CHECK(added, "a tensor is allocated twice");
        result_.requested += bytes;
        result_.allocated += block->second.size;
        result_.requested_peak = std::max(result_.requested_peak, result_.requested);
        result_.allocated_peak = std::max(result_.allocated_peak, result_.allocated);
        return true;
    }

    void release(std::uint64_t id) {
        const auto known = live_.find(id);
        MW_CHECK(known != live_.end(), "a tensor is freed that is not allocated");
        const auto block = blocks_.find(known->second);
        live_.erase(known);
        result_.requested -= block->second.requested;
        result_.allocated -= block->second.size;
        make_free(block);
    }

    AllocatorResult& result() { return result_; }

  private:
    using Blocks = std::map<std::int64_t, Block>;  // by address

    [[nodiscard]] std::set<std::pair<std::int64_t, std::int64_t>>& pool(bool small) {
        return free_[small ? 1 : 0];
    }

    Blocks::iterator find_free(std::int64_t size, bool small) {
        auto& candidates = pool(small);
        const auto best = candidates.lower_bound({size, 0});
        if (best == candidates.end()) {
            return blocks_.end();
        }
        if (!small && options_.max_split > 0) {
            const bool over = best->first >= options_.max_split;
            const bool wastes = best->first >= size + options_.large_segment;
            if ((size < options_.max_split && over) || (size >= options_.max_split && wastes)) {
                return blocks_.end();
            }
        }
        return blocks_.find(best->second);
    }

    [[nodiscard]] std::int64_t segment_size(std::int64_t size, bool small) const {
        if (small) {
            return options_.small_segment;
        }
        return size < options_.large_minimum ? options_.large_segment
                                             : round_up(size, options_.large_rounding);
    }

    bool reserve(std::int64_t bytes) {
        if (options_.capacity > 0 && result_.reserved + bytes > options_.capacity) {
            give_back();
            ++result_.retries;
            if (result_.reserved + bytes > options_.capacity) {
                return false;
            }
        }
        result_.reserved += bytes;
        result_.reserved_peak = std::max(result_.reserved_peak, result_.reserved);
        ++result_.segments;
        return true;
    }

    Blocks::iterator new_segment(std::int64_t size, bool small) {
        const std::int64_t bytes = segment_size(size, small);
        if (!reserve(bytes)) {
            return blocks_.end();
        }
        const std::int64_t address = next_address_;
        next_address_ += kSegmentGap;
        return insert_free(address,
                           {.size = bytes, .segment = address, .small = small, .free = true});
    }

    // The pool's one segment grows at its end, by whole pages beyond what is free there.
    Blocks::iterator expand(std::int64_t size, bool small) {
        const std::int64_t page = small ? options_.small_segment : options_.large_rounding;
        Growing& growing = growing_[small ? 1 : 0];
        if (growing.base < 0) {
            growing.base = next_address_;
            growing.end = next_address_;
            next_address_ += kSegmentGap;
        }
        std::int64_t at_end = 0;
        if (growing.end > growing.base) {
            const auto last = std::prev(blocks_.lower_bound(growing.end));
            at_end = last->second.free ? last->second.size : 0;
        }
        const std::int64_t bytes = round_up(size - at_end, page);
        if (!reserve(bytes)) {
            return blocks_.end();
        }
        const std::int64_t address = growing.end;
        growing.end += bytes;
        return make_free(
            blocks_.emplace(address, Block{.size = bytes, .segment = growing.base, .small = small})
                .first);
    }

    Blocks::iterator insert_free(std::int64_t address, Block block) {
        block.free = true;
        pool(block.small).emplace(block.size, address);
        return blocks_.insert_or_assign(address, block).first;
    }

    void take(Blocks::iterator block, std::int64_t size) {
        Block& b = block->second;
        pool(b.small).erase({b.size, block->first});
        b.free = false;
        const std::int64_t rest = b.size - size;
        const bool page_fine = b.small || options_.expandable_segments;
        const bool splits = page_fine ? rest >= options_.rounding
                                      : rest > options_.small_limit &&
                                            (options_.max_split == 0 || size < options_.max_split);
        if (splits) {
            b.size = size;
            insert_free(block->first + size,
                        {.size = rest, .segment = b.segment, .small = b.small});
        }
    }

    Blocks::iterator make_free(Blocks::iterator block) {
        const auto touches = [](const Blocks::iterator& left, const Blocks::iterator& right) {
            return left->second.segment == right->second.segment &&
                   left->first + left->second.size == right->first;
        };
        std::int64_t address = block->first;
        Block merged = block->second;
        if (const auto next = std::next(block);
            next != blocks_.end() && next->second.free && touches(block, next)) {
            merged.size += next->second.size;
            pool(merged.small).erase({next->second.size, next->first});
            blocks_.erase(next);
        }
        if (block != blocks_.begin()) {
            const auto previous = std::prev(block);
            if (previous->second.free && touches(previous, block)) {
                merged.size += previous->second.size;
                address = previous->first;
                pool(merged.small).erase({previous->second.size, previous->first});
                blocks_.erase(previous);
            }
        }
        blocks_.erase(block);
        merged.requested = 0;
        return insert_free(address, merged);
    }

    // Blocks that are a whole free segment go back to the device (expandable: the free end of the pool's segment).
    void give_back() {
        for (auto block = blocks_.begin(); block != blocks_.end();) {
            const std::int64_t end = block->first + block->second.size;
            const bool small = block->second.small;
            Growing& growing = growing_[small ? 1 : 0];
            const bool expandable = growing.base >= 0 && block->second.segment == growing.base;
            const auto next = std::next(block);
            const bool to_segment_end =
                next == blocks_.end() || next->second.segment != block->second.segment;
            const bool goes = block->second.free && to_segment_end &&
                              (expandable || block->first == block->second.segment);
            if (!goes) {
                ++block;
                continue;
            }
            std::int64_t bytes = block->second.size;
            if (expandable) {
                const std::int64_t page = small ? options_.small_segment : options_.large_rounding;
                bytes = bytes / page * page;  // the page that a live block shares stays mapped
                growing.end = end - bytes;
            }
            const std::int64_t address = block->first;
            Block rest = block->second;
            rest.size -= bytes;
            pool(small).erase({block->second.size, address});
            block = blocks_.erase(block);
            if (rest.size > 0) {
                insert_free(address, rest);
            }
            result_.reserved -= bytes;
        }
    }

    struct Growing {
        std::int64_t base = -1;
        std::int64_t end = -1;
    };

    AllocatorOptions options_;
    AllocatorResult result_;
    Blocks blocks_;
    std::set<std::pair<std::int64_t, std::int64_t>> free_[2];  // (size, address): large, small
    Growing growing_[2];
    std::map<std::uint64_t, std::int64_t> live_;
    std::int64_t next_address_ = 0;
};

}  // namespace

AllocatorResult replay_allocator(std::span<const AllocatorEvent> events,
                                 const AllocatorOptions& options) {
    MW_CHECK(options.rounding > 0 && options.small_segment > 0 && options.large_rounding > 0,
             "empty blocks");
    MW_CHECK(options.small_limit <= options.small_segment,
             "a small request must fit into a small segment");
    MW_CHECK(options.large_minimum <= options.large_segment,
             "a large request must fit into a large segment");
    CachingAllocator allocator(options);
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].bytes <= 0) {
            allocator.release(events[i].id);
        } else if (!allocator.allocate(events[i].id, events[i].bytes)) {
            allocator.result().out_of_memory = true;
            allocator.result().failed_event = i;
            break;
        }
    }
    return allocator.result();
}

}  // namespace memwall
