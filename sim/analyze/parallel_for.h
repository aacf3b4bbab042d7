#pragma once
// The only place with threads: work on independent indices, results in the caller's slots, so that they are the same on any
// number of threads.
#include <cstddef>
#include <functional>

namespace memwall {

// Calls work(index, worker) for every index below count; worker < threads. Indices are taken in order. threads = 0: as many as the
// machine has. An exception of `work` is thrown again here, that of the lowest index, after all workers have stopped.
// finished, if given: called after each index with the number done so far, by one worker at a time.
void parallel_for(std::size_t count,
                  unsigned threads,
                  const std::function<void(std::size_t index, unsigned worker)>& work,
                  const std::function<void(std::size_t done)>& finished = {});

// What 0 threads mean.
[[nodiscard]] unsigned hardware_threads();

}  // namespace memwall
