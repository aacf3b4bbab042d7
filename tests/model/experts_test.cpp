// Mixture of experts and latent attention: what they compute, keep and communicate.
#include <doctest/doctest.h>

#include "tests/model/traces.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

// DeepSeek-V3 cut to one dense and one expert layer.
Model small_deepseek() {
    Model m = deepseek_v3();
    m.layers = 2;
    m.moe.layers.clear();
    m.moe.layers.push_back(false);
    m.moe.layers.push_back(true);
    return m;
}

double products(const WorkloadTrace& t) {
    double sum = 0;
    for (const std::uint32_t kind : t.layers) {
        for (const auto* items : {&t.kinds[kind].forward, &t.kinds[kind].backward}) {
            for (const TraceOp* op : ops_of(*items)) {
                sum += std::holds_alternative<Gemm>(op->kernel) ? flops_of(op->kernel).value : 0;
            }
        }
    }
    return sum;
}

}  // namespace

TEST_CASE("expert products follow the active parameters when rows divide evenly") {
    // 6 flops per token and active matrix parameter, head left out.
    for (const Stack& stack : {transformer_engine(), fsdp_eager()}) {
        for (Model m : {mixtral_8x7b(), qwen3_30b_a3b(), small_deepseek()}) {
            m.layers = std::min<std::int64_t>(m.layers, 2);
            const WorkloadTrace t = build_trace(m, stack, {.micro_batch = 1, .sequence = 4096});
            const auto layers = static_cast<double>(t.matmul_parameters - m.vocabulary * m.hidden);
            CHECK(products(t) == 6 * 4096.0 * layers);
        }
    }
}

TEST_CASE("rows are padded to a whole number per expert") {
    // 5 tokens x 2 of 8 experts: 10 rows, 2 per expert after padding.
    Model m = mixtral_8x7b();
    m.layers = 1;
    const WorkloadTrace t = build_trace(m, transformer_engine(), {.micro_batch = 1, .sequence = 5});
    const auto& g = std::get<Gemm>(find_op(first_layer(t).forward, "expert fc1").kernel);
    CHECK(g.batch == 8);
    CHECK(g.m == 2);
    CHECK(g.n == 2 * 14336);
    CHECK(g.k == 4096);
}

TEST_CASE("experts are divided by ep and their rows by sequence parallelism, not by tp") {
    Model m = mixtral_8x7b();
    m.layers = 1;
    const WorkloadTrace t =
        build_trace(m, transformer_engine(), {.micro_batch = 1, .sequence = 4096});
    const LayerTrace& layer = first_layer(t);
    CHECK(find_op(layer.forward, "expert fc1").split ==
          KernelSplit{.m = Split::Sequence, .batch = Split::Ep});
    CHECK(find_op(layer.backward, "expert fc1 weight gradient").split ==
          KernelSplit{.k = Split::Sequence, .batch = Split::Ep});
    for (const ParameterTensor& p : layer.parameters) {
        CHECK(p.expert == (p.copies == 8));
        if (p.expert) {
            CHECK(p.split == Split::None);
        }
    }
    CHECK(layer.active_expert_share == 0.25);
    CHECK(layer.kind == "moe_transformer");
}

TEST_CASE("tokens go to their experts and back once each way") {
    Model m = mixtral_8x7b();
    m.layers = 1;
    const WorkloadTrace t =
        build_trace(m, transformer_engine(), {.micro_batch = 1, .sequence = 4096});
    int dispatch = 0;
    int combine = 0;
    for (const auto* items : {&first_layer(t).forward, &first_layer(t).backward}) {
        for (const TraceBoundary& b : boundaries_of(*items)) {
            dispatch += b.kind == BoundaryKind::ExpertDispatch ? 1 : 0;
            combine += b.kind == BoundaryKind::ExpertCombine ? 1 : 0;
            if (b.kind == BoundaryKind::ExpertDispatch || b.kind == BoundaryKind::ExpertCombine) {
                CHECK(b.bytes.value == 2LL * 4096 * 2 * 4096);
            }
        }
    }
    CHECK(dispatch == 2);
    CHECK(combine == 2);
}

TEST_CASE("a DeepSeek layer keeps the counted bytes") {
    const std::int64_t tokens = 4096;
    const std::int64_t h = 7168;
    const std::int64_t a = 128;
    const WorkloadTrace t =
        build_trace(small_deepseek(),
                    transformer_engine(),
                    {.micro_batch = 1, .sequence = tokens, .gradient_bytes = 4});
    // Input and normed input; compressed queries twice; kv latent twice and with its rotary part; q, k; v, O; statistics.
    const std::int64_t attention = 2 * 2 * tokens * h + 2 * 2 * tokens * 1536 +
                                   2 * 2 * tokens * 512 + 2 * tokens * (512 + 64) +
                                   2 * 2 * tokens * a * 192 + 2 * 2 * tokens * a * 128 +
                                   4 * a * tokens;
    const std::int64_t dense = 2 * 2 * tokens * h + 6 * tokens * 18432;
    CHECK(saved_bytes(t.kinds[t.layers[0]]) == attention + dense);
    const std::int64_t rows = tokens * 8;
    const std::int64_t f = 2048;
    const std::int64_t experts = 2 * 2 * tokens * h + 2 * rows * h + 2 * rows * 2 * f +
                                 2 * rows * f + 6 * tokens * f + 8 * tokens * 256 + tokens * 256;
    CHECK(saved_bytes(t.kinds[t.layers[1]]) == attention + experts);
}

TEST_CASE("expert and latent layers allocate and free every tensor once") {
    Model gated = qwen3_30b_a3b();  // qwen2_moe style
    gated.moe.shared_ffn = 1024;
    gated.moe.shared_gate = true;
    Model uncompressed = small_deepseek();  // DeepSeek-V2-Lite style
    uncompressed.mla.q_rank = 0;
    for (const Stack& stack : {megatron_2021(), transformer_engine(), fsdp_eager()}) {
        for (const Model& m :
             {mixtral_8x7b(), qwen3_30b_a3b(), gated, small_deepseek(), uncompressed}) {
            const WorkloadTrace t = build_trace(m, stack, {.micro_batch = 1, .sequence = 1024});
            for (const LayerTrace& layer : t.kinds) {
                Replay r;
                replay(r, layer, layer.forward, {});
                CHECK(r.live == saved_bytes(layer));
                replay(r, layer, layer.backward, {});
                CHECK(r.live == 0);
            }
        }
    }
}

TEST_CASE("latent attention uses head dimensions 192 and 128") {
    const WorkloadTrace t =
        build_trace(small_deepseek(), transformer_engine(), {.micro_batch = 1, .sequence = 1024});
    const auto& kernel = std::get<Attention>(find_op(first_layer(t).forward, "attention").kernel);
    CHECK(kernel.head_dim_qk == 192);
    CHECK(kernel.head_dim_v == 128);
    CHECK(kernel.kv_heads == 128);
    CHECK(t.attention_flops_factor == 2 * 128 * (192 + 128) / 2);
}
