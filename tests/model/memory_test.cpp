// Tensors and their lives: what a layer keeps for backward, and the peak instants that follow.
#include <map>

#include <doctest/doctest.h>

#include "tests/model/traces.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

struct Lives {
    std::map<std::uint16_t, int> allocated, freed;
};

Lives lives(const LayerTrace& layer, std::int64_t tp) {
    Lives l;
    for (const auto* items : {&layer.forward, &layer.backward}) {
        for (const TraceOp* op : ops_of(*items, tp)) {
            for (const std::uint16_t t : op->allocates) {
                ++l.allocated[t];
            }
            for (const std::uint16_t t : op->frees) {
                CHECK(l.allocated[t] == 1);
                ++l.freed[t];
            }
        }
    }
    return l;
}

std::vector<WorkloadTrace> all_traces() {
    std::vector<WorkloadTrace> list;
    for (const Stack& stack : {megatron_2021(), transformer_engine(), fsdp_eager()}) {
        for (const std::int64_t gradient : {0, 2, 4}) {
            Model no_dropout = gpt(2, 1024, 16);
            no_dropout.dropout = 0;
            Model qwen = llama({2, 1024, 16, 4, 2816, 32000});
            qwen.qk_norm = true;
            qwen.qkv_bias = true;
            for (const Model& m :
                 {gpt(2, 1024, 16), no_dropout, llama({2, 1024, 16, 4, 2816, 32000}), qwen}) {
                list.push_back(build_trace(m,
                                           stack,
                                           {.micro_batch = 2,
                                            .sequence = 1024,
                                            .gradient_bytes = static_cast<double>(gradient)}));
            }
        }
    }
    return list;
}

}  // namespace

TEST_CASE(
    "every tensor is allocated once and freed once, whichever kernels a shard's shape selects") {
    for (const WorkloadTrace& t : all_traces()) {
        for (const LayerTrace& layer : t.kinds) {
            for (const std::int64_t tp : {1, 2, 8, 16}) {
                const Lives l = lives(layer, tp);
                for (std::size_t i = 0; i < layer.tensors.size(); ++i) {
                    const auto index = static_cast<std::uint16_t>(i);
                    const int allocated = l.allocated.contains(index) ? l.allocated.at(index) : 0;
                    const int freed = l.freed.contains(index) ? l.freed.at(index) : 0;
                    CHECK(allocated <= 1);
                    CHECK(freed == (layer.tensors[i].persistent ? 0 : allocated));
                }
            }
        }
    }
}

TEST_CASE("saved tensors are those that pass from forward to backward") {
    for (const WorkloadTrace& t : all_traces()) {
        for (const LayerTrace& layer : t.kinds) {
            std::map<std::uint16_t, int> passing;
            for (const TraceOp* op : ops_of(layer.forward)) {
                for (const std::uint16_t tensor : op->allocates) {
                    ++passing[tensor];
                }
                for (const std::uint16_t tensor : op->frees) {
                    --passing[tensor];
                }
            }
            for (const auto& [tensor, count] : passing) {
                const TraceTensor& info = layer.tensors[tensor];
                CHECK(count == (info.saved || info.persistent ? 1 : 0));
                CHECK(info.last_forward_item >= 0);
            }
        }
    }
}

TEST_CASE("an unfused GPT layer keeps 34 s b h + 5 a s^2 b bytes") {
    // Korthikanti et al., arXiv:2205.05198, eq. (1); with tensor parallelism eq. (2), with sequence parallelism eq. (4).
    const std::int64_t h = 6144;
    const std::int64_t a = 64;
    const std::int64_t s = 2048;
    const std::int64_t b = 4;
    const WorkloadTrace trace =
        build_trace(gpt(1, h, a, 51200),
                    megatron_2021(),
                    {.micro_batch = b, .sequence = s, .compute = Dtype::Fp16});
    const LayerTrace& layer = first_layer(trace);
    CHECK(saved_bytes(layer) == 34 * s * b * h + 5 * a * s * s * b);
    CHECK(saved_bytes(layer, {.tp = 8}) == s * b * h * (10 + 24 / 8) + 5 * a * s * s * b / 8);
    CHECK(saved_bytes(layer, {.tp = 8, .sequence_parallel = true}) ==
          (34 * s * b * h + 5 * a * s * s * b) / 8);
    // Selective recomputation drops the second term (eq. (6)).
    CHECK(saved_bytes(layer, {}, TraceModule::AttentionCore) == 5 * a * s * s * b);
}

TEST_CASE("the fallback softmax keeps its fp32 output instead of the 16-bit one") {
    const WorkloadTrace trace =
        build_trace(gpt(1, 1024, 16, 51200), megatron_2021(), {.micro_batch = 1, .sequence = 1024});
    const LayerTrace& layer = first_layer(trace);
    const auto live_after_forward = [&](std::int64_t tp) {
        Replay r;
        replay(r, layer, layer.forward, {.tp = tp});
        return r.live;
    };
    const std::int64_t scores = 16LL * 1024 * 1024 / 8;
    const std::int64_t tokens = 1024LL * 1024;
    CHECK(live_after_forward(8) == tokens * (10 + 24 / 8) + (4 + 1 + 2) * scores);
}

TEST_CASE(
    "a Transformer Engine Llama layer keeps T (8h + 2(h+k) + 2h + 6f)/t bytes and statistics") {
    // k = 2 kv_heads head_dim; input, normed, second residual, normed: 4 x 2h; q, k, v: 2(h+k); O: 2h; fc1 4f; product 2f.
    const std::int64_t tokens = 4096;
    const WorkloadTrace trace =
        build_trace(llama3_70b(),
                    transformer_engine(),
                    {.micro_batch = 1, .sequence = tokens, .gradient_bytes = 4});
    const std::int64_t h = 8192;
    const std::int64_t k = 2 * 8 * 128;
    const std::int64_t f = 28672;
    const std::int64_t whole = tokens * (8 * h + 2 * (h + k) + 2 * h + 6 * f) + 4 * 64 * tokens;
    CHECK(saved_bytes(first_layer(trace)) == whole);
    CHECK(saved_bytes(first_layer(trace), {.tp = 8, .sequence_parallel = true}) == whole / 8);
}

TEST_CASE(
    "the peak of the last stage is in the backward of the logits, with the counted tensors alive") {
    const std::int64_t tokens = 4096;
    const std::int64_t h = 8192;
    const std::int64_t v = 128256;
    const WorkloadTrace trace =
        build_trace(llama3_70b(),
                    transformer_engine(),
                    {.micro_batch = 1, .sequence = tokens, .gradient_bytes = 4});
    const LayerTrace& layer = first_layer(trace);
    const LayerTrace& head = trace.kinds[trace.head];
    for (const Shards& s : {Shards{8, true}, Shards{4, true}, Shards{1, false}}) {
        Replay r;
        for (int i = 0; i < 12; ++i) {
            replay(r, layer, layer.forward, s);
        }
        const std::int64_t activations = r.live;
        CHECK(activations == 12 * saved_bytes(layer, s));
        replay(r, head, head.forward, s);
        replay(r, head, head.backward, s);
        const std::int64_t width = 2 * tokens * h;
        const std::int64_t scattered = s.sequence_parallel ? width / s.tp : 0;
        const std::int64_t shard = s.sequence_parallel ? s.tp : 1;
        CHECK(r.at == "head: logits weight gradient");
        CHECK(r.peak == activations + 2 * width / shard + 2 * tokens * v / s.tp + width +
                            scattered + 2 * v * h / s.tp);
        CHECK(r.live == activations);
    }
}

TEST_CASE(
    "the peak of a stage without the head is in the backward of its last layer's activation") {
    const std::int64_t tokens = 4096;
    const WorkloadTrace trace =
        build_trace(llama3_70b(),
                    transformer_engine(),
                    {.micro_batch = 1, .sequence = tokens, .gradient_bytes = 4});
    const LayerTrace& layer = first_layer(trace);
    Replay r;
    for (int i = 0; i < 6 * 2; ++i) {
        replay(r, layer, layer.forward, {});
    }
    const std::int64_t activations = r.live;
    replay(r, layer, layer.backward, {});
    CHECK(r.at == "transformer: swiglu backward");
    CHECK(r.peak == activations + 2 * tokens * 2 * 28672 + 2 * tokens * 8192);
    CHECK(r.live == activations - saved_bytes(layer));
}

TEST_CASE("the eager loss holds 14 bytes per logit in its backward") {
    const std::int64_t tokens = 8192;
    const WorkloadTrace trace = build_trace(
        llama3_8b(), fsdp_eager(), {.micro_batch = 1, .sequence = tokens, .gradient_bytes = 0});
    const LayerTrace& head = trace.kinds[trace.head];
    Replay r;
    replay(r, head, head.forward, {});
    const std::int64_t before = saved_bytes(head) - 6 * tokens * 128256;
    replay(r, head, head.backward, {});
    CHECK(r.at == "head: log-softmax backward");
    CHECK(r.peak == before + 14 * tokens * 128256);
    CHECK(r.live == 0);
}

TEST_CASE("separate accumulation holds one weight gradient at a time") {
    const WorkloadTrace trace =
        build_trace(gpt(1, 1024, 16, 51200), megatron_2021(), {.micro_batch = 1, .sequence = 16});
    const LayerTrace& layer = first_layer(trace);
    std::int64_t live = 0;
    std::int64_t peak = 0;
    for (const TraceOp* op : ops_of(layer.backward)) {
        for (const std::uint16_t t : op->allocates) {
            live += layer.tensors[t].memory == TensorClass::Gradients ? layer.tensors[t].bytes.value
                                                                      : 0;
        }
        peak = std::max(peak, live);
        for (const std::uint16_t t : op->frees) {
            live -= layer.tensors[t].memory == TensorClass::Gradients ? layer.tensors[t].bytes.value
                                                                      : 0;
        }
    }
    CHECK(peak == 2 * 4 * 1024 * 1024);
    CHECK(live == 0);
}

TEST_CASE("only the input is marked as what full recomputation keeps") {
    for (const WorkloadTrace& t : all_traces()) {
        for (const std::uint32_t kind : t.layers) {
            std::vector<std::string> inputs;
            for (const TraceTensor& tensor : t.kinds[kind].tensors) {
                if (tensor.input) {
                    inputs.push_back(tensor.name);
                }
            }
            CHECK(inputs == std::vector<std::string>{"input"});
        }
    }
}
