#pragma once
// A collective as an explicit list of steps: who sends which chunks to whom, and whether the receiver adds or stores.
// Used by fidelity stepwise, by the closed forms of law: steps, and by the test that every byte reaches every rank.
//
// The message is cut into equal chunks. Before the first step
//   all-reduce, reduce-scatter   every rank holds its own contribution to every chunk;
//   all-gather                   rank r holds chunks [r c, (r + 1) c) with c = chunks / ranks;
//   broadcast                    rank 0 holds everything;
//   all-to-all                   rank s holds chunk s n + d for every d; it belongs to d in the end.
// Afterwards every rank holds everything, complete; after reduce-scatter rank r holds chunks [r c, (r + 1) c).
#include <functional>
#include <vector>

#include "sim/collectives/layout.h"
#include "sim/spec/collective.h"

namespace memwall {

struct ChunkMessage {
    int from = 0;  // members, as positions in the group
    int to = 0;
    int via =
        0;  // whose NIC or port carries it out (the gate of its lane when it leaves the node, else from)
    int first_chunk = 0;
    int chunks = 1;
    bool reduce = false;  // the receiver adds it to what it holds
    auto operator<=>(const ChunkMessage&) const = default;
};

using ChunkStep = std::vector<ChunkMessage>;

struct ChunkSchedule {
    int chunks = 1;
    int chunks_per_message =
        1;          // CollectiveCall::bytes: all of them; in all-to-all those of one rank
    int steps = 0;  // a step starts when the one before has ended
    // Made one at a time: a ring of n ranks sends 2 n (n - 1) messages.
    std::function<ChunkStep(int index)> step;
};

[[nodiscard]] ChunkSchedule listed(std::vector<ChunkStep> steps);

// Raw rates and latencies of one hop, for the closed forms.
struct HopRates {
    double port = 0;        // bytes per second of a member inside the node, each direction
    double lane = 0;        // bytes per second of a lane's NIC (or NICs), each direction
    double latency_in = 0;  // seconds
    double latency_across = 0;
};

// Sum over steps of the longest latency plus the time of the busiest port or NIC; bytes: the message. Seconds.
[[nodiscard]] double schedule_seconds(const ChunkSchedule& schedule,
                                      const Layout& layout,
                                      const HopRates& rates,
                                      double bytes);

}  // namespace memwall
