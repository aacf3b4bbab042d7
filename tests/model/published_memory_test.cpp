// The trace against measured peaks of allocated memory: Megatron-LM with Transformer Engine on 8 B200, bf16, distributed
// optimizer, no recomputation, fused loss. Source: MooreThreads/SimuMax@4dcaae513b docs/b200/b200_release_v1.2_summary.json,
// max over ranks of torch max_memory_allocated [GiB].
#include <array>
#include <set>

#include <doctest/doctest.h>

#include "tests/model/traces.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

struct Row {
    const char* name;
    Model model;
    int tp, pp, dp, cp, ep;
    std::int64_t sequence;
    double measured_gib;
    double tolerance;
};

double shard(const ParameterTensor& p, const Row& r) {
    double count = static_cast<double>(p.count());
    if (p.split == Split::Tp) {
        count /= r.tp;
    }
    return p.expert ? count / r.ep : count;
}

// Weights 2 B and main gradients 4 B per parameter, optimizer 12 B over the data-parallel ranks (experts: over dp cp tp / ep).
double states(const LayerTrace& layer, const Row& r) {
    double bytes = 0;
    for (const ParameterTensor& p : layer.parameters) {
        const double ranks =
            p.expert ? static_cast<double>(r.dp * r.cp * r.tp) / r.ep : r.dp * r.cp;
        bytes += shard(p, r) * (6 + 12 / ranks);
    }
    return bytes;
}

double stage_peak(const Row& r, const WorkloadTrace& t, int stage) {
    const Shards s{r.tp, r.tp > 1};
    const auto per_stage = static_cast<std::size_t>(r.model.layers / r.pp);
    const bool last = stage == r.pp - 1;
    std::vector<const LayerTrace*> layers;
    for (std::size_t i = 0; i < per_stage; ++i) {
        layers.push_back(&t.kinds[t.layers[static_cast<std::size_t>(stage) * per_stage + i]]);
    }
    double bytes = 0.085e9;  // workspaces, fitted by the source's model book: cuBLAS and small ones
    bytes += r.ep > 1 ? 4 * 32 * 1024 * 1024 : 0;  // grouped products: four more of 32 MiB
    std::set<std::pair<std::int64_t, std::int64_t>>
        shapes;  // dummy weight gradients, one per distinct shape
    for (const LayerTrace* layer : layers) {
        bytes += states(*layer, r);
        for (const ParameterTensor& p : layer->parameters) {
            if (p.matmul && shapes.insert({p.rows, p.columns}).second) {
                bytes += 2.0 * static_cast<double>(p.rows * p.columns) /
                         (p.split == Split::Tp ? r.tp : 1);
            }
        }
    }
    bytes += stage == 0 ? states(t.kinds[t.embedding], r) : 0;
    const LayerTrace& head = t.kinds[t.head];
    bytes += last ? states(head, r) : 0;
    for (const TraceTensor& tensor : head.tensors) {
        bytes += last && tensor.persistent ? static_cast<double>(shard_bytes(tensor, s)) : 0;
    }
    // All-to-all context parallelism keeps the attention output before its exchange.
    const double width = 2.0 * static_cast<double>(t.tokens * r.model.hidden) / r.tp;
    bytes += r.cp > 1 ? static_cast<double>(per_stage) * width : 0;

    Replay replayed;
    for (int in_flight = r.pp - stage; in_flight > 0; --in_flight) {
        for (const LayerTrace* layer : layers) {
            replay(replayed, *layer, layer->forward, s);
        }
    }
    if (last) {
        replay(replayed, head, head.forward, s);
        replay(replayed, head, head.backward, s);
    }
    for (auto it = layers.rbegin(); it != layers.rend(); ++it) {
        replay(replayed, **it, (*it)->backward, s);
    }
    return bytes + static_cast<double>(replayed.peak);
}

Model cut_deepseek() {
    Model m = deepseek_v3();
    m.layers = 4;
    m.moe.layers.clear();
    for (int layer = 0; layer < 4; ++layer) {
        m.moe.layers.push_back(layer >= 1);
    }
    return m;
}

}  // namespace

TEST_CASE(
    "measured peaks of eight B200 runs come out at 0.1 percent, the mixture of experts at 0.7") {
    Model small = llama3_70b();
    small.layers = 12;
    const Model large = llama({4, 16384, 128, 16, 53248, 128256});
    const std::array rows = {
        Row{"llama3-70b l12 tp8",
            small,
            8,
            1,
            1,
            1,
            1,
            4096,
            28.29,
            0.001},  // the same with 32 micro-batches: also 28.29
        Row{"llama3-70b l12 pp2 dp4", small, 1, 2, 4, 1, 1, 4096, 66.55, 0.001},
        Row{"llama3-70b l12 tp4 dp2", small, 4, 1, 2, 1, 1, 4096, 39.07, 0.001},
        Row{"llama3-405b l4 tp4 dp2", large, 4, 1, 2, 1, 1, 4096, 52.89, 0.001},
        Row{"llama3-70b l12 cp8", small, 1, 1, 1, 8, 1, 32768, 104.51, 0.001},
        Row{"llama3-405b l4 tp2 cp4", large, 2, 1, 1, 4, 1, 131072, 118.13, 0.001},
        // What is missing here (0.72 GiB) is missing in the source's own predictor too, and not identified.
        Row{"deepseek-v3 l4 ep8 dp8", cut_deepseek(), 1, 1, 8, 1, 8, 4096, 104.3, 0.007},
    };
    for (const Row& r : rows) {
        CAPTURE(r.name);
        const TraceShape shape{
            .micro_batch = 1, .sequence = r.sequence / r.cp, .gradient_bytes = 4};
        const WorkloadTrace t = build_trace(r.model, transformer_engine(), shape);
        double peak = 0;
        for (int stage = 0; stage < r.pp; ++stage) {
            peak = std::max(peak, stage_peak(r, t, stage));
        }
        CHECK(peak / 1073741824.0 == doctest::Approx(r.measured_gib).epsilon(r.tolerance));
    }
}
