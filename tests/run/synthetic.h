#pragma once
// Random small programs and machines for the engine, without plans: pipelines of tp groups with every kind of exchange,
// buckets beside segments, drains, stragglers, and links that are shared or not. The same seed gives the same case.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/rng.h"
#include "sim/run/bound.h"

namespace memwall::testing {

struct Shape {
    int tp = 1;
    int pp = 1;
    int dp = 1;
    [[nodiscard]] int world() const { return tp * pp * dp; }
};

struct SyntheticCase {
    Shape shape;
    ProgramSet programs;
    std::vector<Ps> kernel_times;    // by kernel
    std::vector<double> slower;      // by rank, in tenths: 0.5 = 50 % longer
    double growth_per_block = 0;     // of a kernel's time
    bool tp_shares_links = false;    // tp collectives use the links that messages use
    bool nics_shared_by_tp = false;  // the ranks of a tp group share one NIC
    int tp_blocks = 0;
    int dp_blocks = 0;
    int message_blocks = 0;
    double nic = 1e9;  // bytes per second
    Ps message_delay = 0;
    Ps tp_delay = 0;
    Ps dp_delay = 0;
};

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : seed_(seed) {}
    std::int64_t range(std::int64_t low, std::int64_t high) {  // both included
        return low +
               static_cast<std::int64_t>(draw({.seed = seed_, .subject = 0, .index = index_++}) %
                                         static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(int percent) { return range(0, 99) < percent; }

  private:
    std::uint64_t seed_;
    std::uint64_t index_ = 0;
};

[[nodiscard]] SyntheticCase random_case(std::uint64_t seed);
// With many micro-batches, most of which do the same.
[[nodiscard]] SyntheticCase repeating_case(std::uint64_t seed);
[[nodiscard]] Bound bind_synthetic(const SyntheticCase& c, bool coalesce);

}  // namespace memwall::testing
