#include "sim/analyze/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace memwall {

unsigned hardware_threads() {
    return std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count,
                  unsigned threads,
                  const std::function<void(std::size_t index, unsigned worker)>& work,
                  const std::function<void(std::size_t done)>& finished) {
    std::atomic<std::size_t> next{0};
    std::mutex guard;
    std::exception_ptr failure;
    std::size_t failed_at = count;
    std::size_t done = 0;
    const auto run = [&](unsigned worker) {
        for (std::size_t i = next++; i < count; i = next++) {
            try {
                work(i, worker);
                if (finished) {
                    const std::lock_guard lock(guard);
                    finished(++done);
                }
            } catch (...) {
                const std::lock_guard lock(guard);
                if (i < failed_at) {
                    failed_at = i;
                    failure = std::current_exception();
                }
                next = count;
            }
        }
    };
    const auto workers = static_cast<unsigned>(
        std::min<std::size_t>(threads == 0 ? hardware_threads() : threads, count));
    {
        std::vector<std::jthread> others;
        for (unsigned w = 1; w < workers; ++w) {
            others.emplace_back(run, w);
        }
        run(0);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace memwall
