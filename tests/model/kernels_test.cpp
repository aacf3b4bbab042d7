// Kernel lists: which kernels a layer runs, what they move, what they compute.
#include <map>

#include <doctest/doctest.h>

#include "tests/model/traces.h"

using namespace memwall;
using namespace memwall::testing;

namespace {

const TraceShape kGptShape{.micro_batch = 4, .sequence = 2048, .compute = Dtype::Fp16};

}  // namespace

TEST_CASE("an unfused GPT layer runs 14 kernels forward and 43 backward") {
    const WorkloadTrace t = build_trace(gpt(4, 1024, 16, 51200), megatron_2021(), kGptShape);
    const LayerTrace& layer = first_layer(t);
    CHECK(ops_of(layer.forward).size() == 14);
    CHECK(ops_of(layer.backward).size() == 43);
    // Two all-reduces each way, plus the gathers that only sequence parallelism needs.
    std::map<std::pair<BoundaryKind, Pass>, int> boundaries;
    for (const auto* items : {&layer.forward, &layer.backward}) {
        for (const TraceBoundary& b : boundaries_of(*items)) {
            ++boundaries[{b.kind, b.pass}];
            CHECK(b.bytes.value == 2 * t.tokens * 1024);
        }
    }
    CHECK(boundaries[{BoundaryKind::ColumnInput, Pass::Forward}] == 2);
    CHECK(boundaries[{BoundaryKind::RowOutput, Pass::Forward}] == 2);
    CHECK(boundaries[{BoundaryKind::ColumnInput, Pass::InputGradient}] == 2);
    CHECK(boundaries[{BoundaryKind::RowOutput, Pass::InputGradient}] == 2);
    CHECK(boundaries[{BoundaryKind::GatherAgain, Pass::InputGradient}] == 2);
}

TEST_CASE("the element-wise kernels of an unfused GPT layer move the counted bytes") {
    // T tokens, h hidden, f = 4h, S = b a s^2; bytes at tp 1 in fp16 with dropout.
    const std::int64_t h = 1024;
    const std::int64_t tokens = 4 * 2048;
    const std::int64_t th = tokens * h;
    const std::int64_t scores = 4LL * 16 * 2048 * 2048;
    const WorkloadTrace t = build_trace(gpt(4, h, 16, 51200), megatron_2021(), kGptShape);
    const auto& f = first_layer(t).forward;
    CHECK(bytes_of(f, "norm 1") == 4 * th);
    CHECK(bytes_of(f, "softmax") == 4 * scores);
    CHECK(bytes_of(f, "attention dropout") == 5 * scores);
    CHECK(bytes_of(f, "context permute") == 4 * th);
    CHECK(bytes_of(f, "residual 1") == 7 * th);
    CHECK(bytes_of(f, "gelu") == 4 * 4 * th);
    const auto& b = first_layer(t).backward;
    CHECK(bytes_of(b, "residual 2 backward") == 5 * th);
    CHECK(bytes_of(b, "fc2 bias gradient") == 2 * th);
    CHECK(bytes_of(b, "gelu backward") == 6 * 4 * th);
    CHECK(bytes_of(b, "fc1 bias gradient") == 2 * 4 * th);
    CHECK(bytes_of(b, "softmax backward") == 6 * scores);
    CHECK(bytes_of(b, "attention dropout backward") == 5 * scores);
    CHECK(bytes_of(b, "context permute backward") == 4 * th);
    CHECK(bytes_of(b, "qkv gradient concat") == 12 * th);
    CHECK(bytes_of(b, "qkv bias gradient") == 6 * th);
    CHECK(bytes_of(b, "norm 1 backward") == 6 * th);
    CHECK(bytes_of(b, "norm 1 weight gradient") == 4 * th);
    CHECK(bytes_of(b, "residual 1 gradient add") == 6 * th);
    CHECK(bytes_of(b, "qkv accumulation") == 6 * 3 * h * h);
    CHECK(bytes_of(b, "fc1 bias accumulation") == 6 * 4 * h);
}

TEST_CASE(
    "the fused softmax gives way to five kernels where a shard's batch of heads is no multiple of "
    "4") {
    // 16 heads, micro-batch 1, tp 8: 2 score matrices per rank.
    const WorkloadTrace t =
        build_trace(gpt(4, 1024, 16, 51200), megatron_2021(), {.micro_batch = 1, .sequence = 1024});
    const LayerTrace& layer = first_layer(t);
    CHECK(ops_of(layer.forward, 4).size() == 14);
    CHECK(ops_of(layer.forward, 8).size() == 14 + 4);
    CHECK(ops_of(layer.backward, 4).size() == 43);
    CHECK(ops_of(layer.backward, 8).size() == 43 + 3);
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    for (const TraceOp* op : ops_of(layer.forward, 8)) {
        forward +=
            op->condition && op->name != "attention dropout" ? hbm_bytes_of(op->kernel).value : 0;
    }
    for (const TraceOp* op : ops_of(layer.backward, 8)) {
        backward += op->condition ? hbm_bytes_of(op->kernel).value : 0;
    }
    const std::int64_t scores = 16LL * 1024 * 1024;
    CHECK(forward == (6 + 8 + 6 + 8 + 6) * scores);
    CHECK(backward == (6 + 12 + 8 + 8) * scores);
}

TEST_CASE("sequences beyond 4096 never use the fused softmax") {
    const WorkloadTrace t =
        build_trace(gpt(4, 1024, 16, 51200), megatron_2021(), {.micro_batch = 4, .sequence = 4100});
    for (const TraceOp* op : ops_of(first_layer(t).forward)) {
        CHECK_FALSE(op->condition.has_value());
        CHECK(op->name != "softmax");
    }
    CHECK(has_op(first_layer(t).forward, "fp32 softmax"));
}

TEST_CASE(
    "GPT products add up to 72 B s L h^2 (1 + s/6h + V/12Lh), gradients to twice the forward") {
    const std::int64_t layers = 6;
    const std::int64_t h = 1536;
    const std::int64_t v = 51200;
    const Model m = gpt(layers, h, 16, v);
    const WorkloadTrace t = build_trace(m, megatron_2021(), kGptShape);
    double forward = flops_of_items(t.kinds[t.head].forward);
    double backward = flops_of_items(t.kinds[t.head].backward);
    for (const std::uint32_t kind : t.layers) {
        forward += flops_of_items(t.kinds[kind].forward);
        backward += flops_of_items(t.kinds[kind].backward);
    }
    const double tokens = 4 * 2048;
    const double lh2 = static_cast<double>(layers * h * h);
    const double expected = 72 * tokens * lh2 *
                            (1 + 2048.0 / (6.0 * static_cast<double>(h)) +
                             static_cast<double>(v) / (12.0 * static_cast<double>(layers * h)));
    CHECK(forward + backward == doctest::Approx(expected).epsilon(1e-14));
    CHECK(backward == 2 * forward);
    // The same from the totals of the trace: 6 P_matmul + 12 L h s per token.
    const double per_token = 6 * static_cast<double>(t.matmul_parameters) +
                             12.0 * static_cast<double>(t.attention_flops_factor) * 2048;
    CHECK(forward + backward == tokens * per_token);
}

TEST_CASE("Llama products follow the parameters whether projections are fused or not") {
    const Model m = llama({2, 2048, 16, 4, 5504, 32000});
    const TraceShape shape{.micro_batch = 2, .sequence = 4096};
    for (const Stack& stack : {transformer_engine(), fsdp_eager()}) {
        const WorkloadTrace t = build_trace(m, stack, shape);
        double products = 0;
        for (const std::uint32_t kind : {t.layers[0], t.layers[1], t.head}) {
            for (const auto* items : {&t.kinds[kind].forward, &t.kinds[kind].backward}) {
                for (const TraceOp* op : ops_of(*items)) {
                    products +=
                        std::holds_alternative<Gemm>(op->kernel) ? flops_of(op->kernel).value : 0;
                }
            }
        }
        CHECK(products == 6.0 * static_cast<double>(t.tokens * t.matmul_parameters));
    }
}

TEST_CASE("fused accumulation reads and writes the gradient buffer inside the product") {
    const Model m = llama({1, 1024, 8, 8, 2816, 32000});
    TraceShape shape{.micro_batch = 1, .sequence = 2048, .gradient_bytes = 4};
    const auto wgrad = [&](const Stack& s) {
        const WorkloadTrace t = build_trace(m, s, shape);
        return std::get<Gemm>(find_op(first_layer(t).backward, "fc1 weight gradient").kernel);
    };
    CHECK(wgrad(transformer_engine()).output_bytes == 8);
    shape.gradient_bytes = 2;
    CHECK(wgrad(transformer_engine()).output_bytes == 4);
    CHECK(wgrad(transformer_engine()).m == 2 * 2816);
    CHECK(wgrad(transformer_engine()).n == 1024);
    CHECK(wgrad(transformer_engine()).k == 2048);
    CHECK(wgrad(megatron_2021()).output_bytes == 2);
}

TEST_CASE("gradients that are handed over are not accumulated") {
    const WorkloadTrace t = build_trace(llama({1, 1024, 8, 8, 2816, 32000}),
                                        fsdp_eager(),
                                        {.micro_batch = 1, .sequence = 2048, .gradient_bytes = 0});
    for (const LayerTrace& layer : t.kinds) {
        for (const TraceOp* op : ops_of(layer.backward)) {
            CHECK(op->name.find("accumulation") == std::string::npos);
        }
    }
}

TEST_CASE("a Transformer Engine Llama layer runs fused kernels only") {
    const std::int64_t h = 4096;
    const std::int64_t f = 14336;
    const std::int64_t kv = 1024;
    const WorkloadTrace t =
        build_trace(llama3_8b(), transformer_engine(), {.micro_batch = 1, .sequence = 8192});
    const auto& items = first_layer(t).forward;
    std::vector<std::string> names;
    for (const TraceOp* op : ops_of(items)) {
        names.push_back(op->name);
    }
    CHECK(names == std::vector<std::string>{"norm 1",
                                            "qkv",
                                            "q rotary",
                                            "k rotary",
                                            "v copy",
                                            "attention",
                                            "proj",
                                            "residual 1",
                                            "norm 2",
                                            "fc1",
                                            "swiglu",
                                            "fc2",
                                            "residual 2"});
    const std::int64_t tokens = 8192;
    CHECK(bytes_of(items, "norm 1") == 4 * tokens * h);
    CHECK(bytes_of(items, "q rotary") == 4 * tokens * h);
    CHECK(bytes_of(items, "k rotary") == 4 * tokens * kv);
    CHECK(bytes_of(items, "swiglu") == 6 * tokens * f);
    CHECK(bytes_of(items, "residual 1") == 6 * tokens * h);
    CHECK(bytes_of(first_layer(t).backward, "swiglu backward") == 10 * tokens * f);
    const auto& attention = std::get<Attention>(find_op(items, "attention").kernel);
    CHECK(attention.heads == 32);
    CHECK(attention.kv_heads == 8);
    CHECK(attention.queries == 8192);
    CHECK(attention.head_dim_v == 128);
    CHECK(attention.kind == AttentionKind::Cudnn);
    CHECK(attention.causal);
}

TEST_CASE("an eager Llama block moves what its unfused kernels move") {
    // fsdp.md section 2: SwiGLU 10 f forward and 18 f backward per token, fp32 RMSNorm 36 bytes per element forward.
    const std::int64_t h = 4096;
    const std::int64_t f = 14336;
    const std::int64_t tokens = 4096;
    const WorkloadTrace t = build_trace(
        llama3_8b(), fsdp_eager(), {.micro_batch = 1, .sequence = 4096, .gradient_bytes = 0});
    std::int64_t norms = 0;
    std::int64_t activation = 0;
    std::int64_t activation_backward = 0;
    for (const TraceOp* op : ops_of(first_layer(t).forward)) {
        const bool memory = std::holds_alternative<MemoryBound>(op->kernel);
        norms += op->module == TraceModule::Norm ? hbm_bytes_of(op->kernel).value : 0;
        activation += memory && op->module == TraceModule::Mlp ? hbm_bytes_of(op->kernel).value : 0;
    }
    for (const TraceOp* op : ops_of(first_layer(t).backward)) {
        const bool memory = std::holds_alternative<MemoryBound>(op->kernel);
        activation_backward +=
            memory && op->module == TraceModule::Mlp ? hbm_bytes_of(op->kernel).value : 0;
    }
    CHECK(norms == 2 * 36 * tokens * h);
    CHECK(activation == 10 * tokens * f);
    CHECK(activation_backward == 18 * tokens * f);
}

TEST_CASE("the loss moves the bytes of its implementation, or what the stack states") {
    const Model m = gpt(2, 1024, 16, 51200);
    const std::int64_t logits = 4LL * 2048 * 51200;
    const auto loss_bytes = [&](const Stack& s, bool forward) {
        const WorkloadTrace t = build_trace(m, s, kGptShape);
        const LayerTrace& head = t.kinds[t.head];
        std::int64_t sum = 0;
        for (const TraceOp* op : ops_of(forward ? head.forward : head.backward)) {
            sum += op->module == TraceModule::Loss ? hbm_bytes_of(op->kernel).value : 0;
        }
        return sum;
    };
    CHECK(loss_bytes(megatron_2021(), true) == 38 * logits);
    CHECK(loss_bytes(megatron_2021(), false) == 14 * logits);
    CHECK(loss_bytes(transformer_engine(), true) == 6 * logits);
    CHECK(loss_bytes(transformer_engine(), false) == 4 * logits);
    Stack stated = megatron_2021();
    stated.kernels.cross_entropy_forward_bytes = 19;
    CHECK(loss_bytes(stated, true) == 19 * logits);
    CHECK(loss_bytes(stated, false) == 14 * logits);
}

TEST_CASE("a padded vocabulary widens logits and tables but not the model's parameters") {
    const Model m = gpt(2, 1024, 16);
    const WorkloadTrace t = build_trace(
        m, megatron_2021(), {.micro_batch = 1, .sequence = 1024, .padded_vocabulary = 51200});
    CHECK(std::get<Gemm>(find_op(t.kinds[t.head].forward, "logits").kernel).n == 51200);
    CHECK(t.kinds[t.embedding].parameters.front().rows == 51200);
    CHECK(t.kinds[t.head].parameters.back().tied);
    CHECK(t.matmul_parameters == 12 * 2 * 1024 * 1024 + 50257 * 1024);
}

TEST_CASE("splits say which dimension tensor parallelism divides") {
    const WorkloadTrace t =
        build_trace(llama3_8b(), transformer_engine(), {.micro_batch = 1, .sequence = 8192});
    const auto& f = first_layer(t).forward;
    CHECK(find_op(f, "qkv").split == KernelSplit{.n = Split::Tp});
    CHECK(find_op(f, "proj").split == KernelSplit{.k = Split::Tp});
    CHECK(find_op(f, "attention").split == KernelSplit{.batch = Split::Tp});
    CHECK(find_op(f, "norm 1").split == KernelSplit{.bytes = Split::Sequence});
    CHECK(find_op(f, "swiglu").split == KernelSplit{.bytes = Split::Tp});
    const auto& b = first_layer(t).backward;
    CHECK(find_op(b, "fc2 input gradient").split == KernelSplit{.n = Split::Tp});
    CHECK(find_op(b, "fc2 weight gradient").split == KernelSplit{.n = Split::Tp});
    CHECK(find_op(b, "fc1 weight gradient").split == KernelSplit{.m = Split::Tp});
    CHECK(find_op(b, "fc1 input gradient").split == KernelSplit{.k = Split::Tp});
}
