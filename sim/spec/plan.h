#pragma once
// A Plan: everything that a simulation needs, nothing left to default. Made by resolve() from a Scenario (spec/scenario.h).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/spec/cluster.h"
#include "sim/spec/model.h"
#include "sim/spec/stack.h"
#include "sim/spec/strategy.h"

namespace memwall {

enum class Fidelity : std::uint8_t { Ideal, AlphaBeta, Fluid, Stepwise };
enum class Routing : std::uint8_t { Even, Ecmp };
enum class CollectiveLaw : std::uint8_t { Steps, Nccl };
enum class NodeOrder : std::uint8_t { Block, Cyclic };
enum class AttentionFlops : std::uint8_t { Full, Causal };
enum class RankAxis : std::uint8_t { Tp, Cp, Dp, Pp };

struct Straggler {
    int rank = 0;
    double slower = 0;  // 0.1 = every kernel takes 10 % longer
};

// A link of the fabric that carries less than it should.
struct LinkEvent {
    std::string link;     // one direction, such as "leaf3->spine1" or "node0/nic2->network"
    double capacity = 1;  // share that is left for the whole run, > 0
};

struct Machine {
    Cluster cluster;
    int nodes = 0;  // of all jobs together
    std::vector<RankAxis> rank_order = {
        RankAxis::Tp, RankAxis::Cp, RankAxis::Dp, RankAxis::Pp};  // innermost first
    NodeOrder node_order = NodeOrder::Block;
    Fidelity fidelity = Fidelity::Fluid;
    Routing routing = Routing::Even;
    CollectiveLaw law = CollectiveLaw::Nccl;
    std::string algorithm;  // empty = the library's choice; else never silently replaced
    bool interference = true;
    std::vector<Straggler> stragglers;
    std::vector<LinkEvent> link_events;
};

// The strategy with every degree known.
struct Degrees {
    int tp = 1;
    int pp = 1;
    int vpp = 1;
    int cp = 1;
    int ep = 1;
    int dp = 1;
    int shard = 1;      // ranks that hold one copy of the sharded states (1 = nothing is sharded)
    int replicate = 1;  // shard x replicate = dp x cp when sharded
    [[nodiscard]] int world() const { return tp * pp * cp * dp; }
};

// What a pipeline chunk holds.
struct ChunkLayout {
    int first_layer = 0;
    int layers = 0;
    bool embedding = false;
    bool head = false;
};

struct Job {
    std::string name;
    Model model;
    std::string trace_file;  // a workload trace instead of a model; empty = built from the model
    // A text workload of ASTRA-sim instead of a model: what ranks ran after sharding. It states times and transfers only:
    // model, sequence, batch, training and stack mean nothing then, and `stages` is empty.
    std::string astra_file;
    Duration astra_time_unit{};  // one unit of its times
    [[nodiscard]] bool is_executed() const { return !astra_file.empty(); }
    std::int64_t sequence = 0;
    std::int64_t padded_vocabulary = 0;
    Batch batch;
    std::int64_t micro_batches = 0;                // m: per step and data-parallel rank
    Parallel parallel;                             // as chosen
    Degrees degrees;                               // as derived
    std::vector<std::vector<ChunkLayout>> stages;  // [stage][chunk]
    Training training;
    Stack stack;
    AttentionFlops attention_flops = AttentionFlops::Full;
    int first_node = 0;  // where the job sits on the machine
    int nodes = 0;
    Duration start{};
};

// Ranks first..last, both included.
struct RankRange {
    int first = 0;
    int last = 0;
};

// A timeline to be written beside the result.
struct TraceOptions {
    std::string file;
    std::vector<RankRange> ranks;  // empty = one rank of each class
};

struct RunOptions {
    int steps = 2;
    bool fold = true;
    bool coalesce =
        true;  // ops into pieces, and rounds of micro-batches that repeat are passed over
    std::uint64_t seed = 1;
    std::optional<TraceOptions> trace;
};

// A published figure printed beside the prediction; never read by the model.
struct Published {
    std::string figure;
    double value =
        0;  // in the figure's JSON unit (step_time_s, tflops_per_gpu_hardware, peak_memory_bytes, ...)
    std::string source;
    bool same_configuration = false;
};

// A condition that makes `memwall run` exit 1 when it does not hold, such as "step_time < 30s" or "fits".
struct CheckExpression {
    std::string text;
    std::string figure;  // JSON name of the figure
    enum class Relation : std::uint8_t {
        Holds,
        Less,
        LessEqual,
        Greater,
        GreaterEqual
    } relation = Relation::Holds;
    double value = 0;  // in the figure's JSON unit
};

struct Plan {
    std::string name;
    std::string about;
    Machine machine;
    std::vector<Job> jobs;  // the first is measured
    RunOptions run;
    std::vector<Published> published;
    std::vector<CheckExpression> checks;
};

}  // namespace memwall
