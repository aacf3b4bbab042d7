// Scores, softmax and context of S = b a s^2 scores.
//
// Unfused: batched products and the kernels of Megatron-LM megatron/model/fused_softmax.py. Its fused scale-mask-softmax
// runs only if 16 < s <= 4096, s mod 4 = 0 and (b a / tp) mod 4 = 0 (is_kernel_available); otherwise cast, scale, mask,
// softmax and cast run one by one, in fp32. The last condition depends on the shard and is left to the strategy.
// Fused: one kernel each way that keeps q, k, v, its output and 4 bytes per row and head (log-sum-exp).
#include "sim/core/check.h"
#include "sim/model/blocks.h"

namespace memwall {
namespace {

constexpr std::int64_t kSoftmaxLengthMin = 16;  // exclusive
constexpr std::int64_t kSoftmaxLengthMax = 4096;
constexpr std::int64_t kSoftmaxMultiple = 4;

const Split kTp = Split::Tp;

struct Unfused {
    LayerBuilder& b;
    const BlockContext& c;
    const CoreShape& s;
    std::int64_t batch = 0;   // b a
    std::int64_t length = 0;  // s
    std::int64_t scores = 0;  // S
    bool fused_kernel = false;

    [[nodiscard]] std::optional<ShardCondition> when(bool fused) const {
        if (!fused_kernel) {
            return std::nullopt;
        }
        return ShardCondition{.whole = batch, .multiple = kSoftmaxMultiple, .holds = fused};
    }
    [[nodiscard]] TensorIndex score_tensor(const std::string& name, std::int64_t element) const {
        return b.tensor({.name = name,
                         .bytes = Bytes(scores * element),
                         .split = kTp,
                         .module = TraceModule::AttentionCore});
    }
    [[nodiscard]] TensorIndex token_tensor(const std::string& name, std::int64_t width) const {
        return b.tensor({.name = name,
                         .bytes = c.activations(width),
                         .split = kTp,
                         .module = TraceModule::Other});
    }
    void product(
        const std::string& name, Pass pass, std::int64_t n, std::int64_t k, const Data& d) const {
        Gemm g;
        g.m = length;
        g.n = n;
        g.k = k;
        g.batch = batch;
        g.dtype = c.shape.compute;
        g.role = pass == Pass::Forward ? GemmRole::Forward : GemmRole::InputGradient;
        g.output_bytes = static_cast<double>(c.element);
        b.op({.name = name,
              .pass = pass,
              .kernel = g,
              .split = {.batch = kTp},
              .module = TraceModule::AttentionCore,
              .uses = d.uses,
              .makes = d.makes});
    }
    // A kernel that moves `bytes` per score.
    void kernel(const std::string& name,
                Pass pass,
                MemoryKind kind,
                std::int64_t bytes,
                const std::optional<ShardCondition>& condition,
                const Data& d) const {
        b.op({.name = name,
              .pass = pass,
              .kernel = MemoryBound{kind, Bytes(scores * bytes)},
              .split = {.bytes = kTp},
              .module = TraceModule::AttentionCore,
              .condition = condition,
              .uses = d.uses,
              .makes = d.makes});
    }
    void move(const std::string& name, Pass pass, std::int64_t width, const Data& d) const {
        b.op({.name = name,
              .pass = pass,
              .kernel = MemoryBound{MemoryKind::Elementwise, c.activations(width)},
              .split = {.bytes = kTp},
              .uses = d.uses,
              .makes = d.makes});
    }
};

Unfused unfused(LayerBuilder& b, const BlockContext& c, const CoreShape& s) {
    Unfused u{.b = b, .c = c, .s = s};
    u.batch = c.shape.micro_batch * s.heads;
    u.length = c.shape.sequence;
    u.scores = u.batch * u.length * u.length;
    u.fused_kernel = c.kernels().fused_softmax && c.element == 2 && u.length > kSoftmaxLengthMin &&
                     u.length <= kSoftmaxLengthMax && u.length % kSoftmaxMultiple == 0;
    return u;
}

// Scores -> probabilities, then dropout; returns what multiplies V.
TensorIndex softmax_forward(const Unfused& u, CoreTensors& t, TensorIndex scores) {
    const Pass f = Pass::Forward;
    const std::int64_t e = u.c.element;
    t.softmax = u.score_tensor("softmax", e);
    const std::optional<ShardCondition> fallback = u.when(false);
    if (u.fused_kernel) {
        u.kernel("softmax", f, MemoryKind::Softmax, 2 * e, u.when(true), {{scores}, {*t.softmax}});
    }
    const TensorIndex cast = u.score_tensor("fp32 scores", 4);
    const TensorIndex scaled = u.score_tensor("fp32 scaled scores", 4);
    t.softmax32 = u.score_tensor("fp32 softmax", 4);
    u.kernel("scores cast", f, MemoryKind::Cast, e + 4, fallback, {{scores}, {cast}});
    u.kernel("scores scale", f, MemoryKind::Elementwise, 8, fallback, {{cast}, {scaled}});
    u.kernel("scores mask", f, MemoryKind::Elementwise, 6, fallback, {{scaled}, {}});
    u.kernel("fp32 softmax", f, MemoryKind::Softmax, 8, fallback, {{scaled}, {*t.softmax32}});
    u.kernel("softmax cast", f, MemoryKind::Cast, 4 + e, fallback, {{*t.softmax32}, {*t.softmax}});
    if (u.c.model.dropout <= 0) {
        return *t.softmax;
    }
    t.mask = u.score_tensor("attention mask", 1);
    t.dropped = u.score_tensor("attention dropped", e);
    for (const bool fused : {true, false}) {
        if (fused && !u.fused_kernel) {
            continue;
        }
        u.kernel("attention dropout",
                 f,
                 MemoryKind::Elementwise,
                 2 * e + 1,
                 u.when(fused),
                 {{*t.softmax}, {*t.mask, *t.dropped}});
    }
    return *t.dropped;
}

// Gradient of what multiplied V -> gradient of the scores.
TensorIndex softmax_backward(const Unfused& u, const CoreTensors& t, TensorIndex gradient) {
    const Pass g = Pass::InputGradient;
    const std::int64_t e = u.c.element;
    TensorIndex probabilities = gradient;
    if (t.mask) {
        probabilities = u.score_tensor("softmax gradient", e);
        u.kernel("attention dropout backward",
                 g,
                 MemoryKind::Elementwise,
                 2 * e + 1,
                 std::nullopt,
                 {{gradient, *t.mask}, {probabilities}});
    }
    // The fused kernel works in place on `probabilities`; the fallback ends in a tensor of its own, cast back in the last step.
    const std::optional<ShardCondition> fallback = u.when(false);
    if (u.fused_kernel) {
        u.kernel("softmax backward",
                 g,
                 MemoryKind::Softmax,
                 3 * e,
                 u.when(true),
                 {{probabilities, *t.softmax}, {}});
    }
    const TensorIndex cast = u.score_tensor("fp32 softmax gradient", 4);
    const TensorIndex scores32 = u.score_tensor("fp32 scores gradient", 4);
    Data first{.uses = {probabilities}, .makes = {cast}};
    if (!t.mask) {
        first.uses.push_back(*t.softmax);
    }
    u.kernel("softmax cast backward", g, MemoryKind::Cast, e + 4, fallback, first);
    u.kernel("fp32 softmax backward",
             g,
             MemoryKind::Softmax,
             12,
             fallback,
             {{cast, *t.softmax32}, {scores32}});
    u.kernel("scores mask backward", g, MemoryKind::Elementwise, 8, fallback, {{scores32}, {}});
    u.kernel("scores scale backward",
             g,
             MemoryKind::Elementwise,
             8,
             fallback,
             {{scores32, probabilities}, {}});
    return probabilities;
}

CoreTensors unfused_forward(const Unfused& u, const std::vector<TensorIndex>& qkv) {
    CoreTensors t;
    t.qkv = qkv;
    const std::int64_t width = u.s.heads * u.s.dim_v;
    const TensorIndex scores = u.score_tensor("scores", u.c.element);
    u.product("scores", Pass::Forward, u.length, u.s.dim_qk, {qkv, {scores}});
    const TensorIndex weights = softmax_forward(u, t, scores);
    const TensorIndex heads = u.token_tensor("context by heads", width);
    t.context = u.token_tensor("context", width);
    u.product("context", Pass::Forward, u.s.dim_v, u.length, {{weights, qkv.back()}, {heads}});
    u.move("context permute", Pass::Forward, 2 * width, {{heads}, {t.context}});
    return t;
}

std::vector<TensorIndex> unfused_backward(const Unfused& u,
                                          const CoreTensors& t,
                                          TensorIndex gradient) {
    const Pass g = Pass::InputGradient;
    const std::int64_t width = u.s.heads * u.s.dim_v;
    const std::int64_t qk_width = u.s.heads * u.s.dim_qk;
    const TensorIndex heads = u.token_tensor("context by heads gradient", width);
    u.move("context permute backward", g, 2 * width, {{gradient}, {heads}});
    const TensorIndex weights = t.dropped ? *t.dropped : *t.softmax;
    const TensorIndex dweights = u.score_tensor("attention weights gradient", u.c.element);
    const TensorIndex dq = u.token_tensor("q gradient", qk_width);
    const TensorIndex dk = u.token_tensor("k gradient", qk_width);
    const TensorIndex dv = u.token_tensor("v gradient", width);
    u.product("v gradient", g, u.s.dim_v, u.length, {{heads, weights}, {dv}});
    u.product(
        "attention weights gradient", g, u.length, u.s.dim_v, {{heads, t.qkv.back()}, {dweights}});
    const TensorIndex scores = softmax_backward(u, t, dweights);
    u.product("q gradient", g, u.s.dim_qk, u.length, {{scores, t.qkv[t.qkv.size() / 2]}, {dq}});
    u.product("k gradient", g, u.s.dim_qk, u.length, {{scores, t.qkv.front()}, {dk}});
    return {dq, dk, dv};
}

Attention fused_kernel(const BlockContext& c, const CoreShape& s, bool backward) {
    Attention a;
    a.batch = c.shape.micro_batch;
    a.heads = s.heads;
    a.kv_heads = s.kv_heads;
    a.queries = c.shape.sequence;
    a.keys = c.shape.sequence;
    a.head_dim_qk = s.dim_qk;
    a.head_dim_v = s.dim_v;
    a.window = c.model.window < c.shape.sequence ? c.model.window : 0;
    a.backward = backward;
    // Low-precision stacks keep attention in bf16.
    a.dtype = c.shape.compute == Dtype::Fp16 || c.element == 4 ? c.shape.compute : Dtype::Bf16;
    switch (attention_of(c)) {
    case AttentionImplementation::Flash3:
        a.kind = AttentionKind::Flash3;
        break;
    case AttentionImplementation::Cudnn:
        a.kind = AttentionKind::Cudnn;
        break;
    case AttentionImplementation::Auto:
    case AttentionImplementation::Unfused:
    case AttentionImplementation::Flash2:
        a.kind = AttentionKind::Flash2;
        break;
    }
    return a;
}

CoreTensors fused_forward(LayerBuilder& b,
                          const BlockContext& c,
                          const CoreShape& s,
                          const std::vector<TensorIndex>& qkv) {
    CoreTensors t;
    t.qkv = qkv;
    t.context =
        b.tensor({.name = "context", .bytes = c.activations(s.heads * s.dim_v), .split = kTp});
    t.statistics = b.tensor({.name = "softmax statistics",
                             .bytes = c.per_token(4 * s.heads),
                             .split = kTp,
                             .module = TraceModule::AttentionCore});
    b.op({.name = "attention",
          .kernel = fused_kernel(c, s, false),
          .split = {.batch = kTp},
          .module = TraceModule::AttentionCore,
          .uses = qkv,
          .makes = {t.context, *t.statistics}});
    return t;
}

std::vector<TensorIndex> fused_backward(LayerBuilder& b,
                                        const BlockContext& c,
                                        const CoreShape& s,
                                        const CoreTensors& t,
                                        TensorIndex gradient) {
    const std::int64_t q = s.heads * s.dim_qk;
    const std::int64_t k = s.kv_heads * s.dim_qk;
    const std::int64_t v = s.kv_heads * s.dim_v;
    std::vector<TensorIndex> gradients;
    const auto make = [&](const char* name, std::int64_t width) {
        gradients.push_back(b.tensor({.name = name, .bytes = c.activations(width), .split = kTp}));
    };
    if (t.qkv.size() == 1) {
        make("qkv gradient", q + k + v);
    } else {
        make("q gradient", q);
        make("k gradient", k);
        make("v gradient", v);
    }
    std::vector<TensorIndex> uses = t.qkv;
    uses.insert(uses.end(), {t.context, *t.statistics, gradient});
    b.op({.name = "attention backward",
          .pass = Pass::InputGradient,
          .kernel = fused_kernel(c, s, true),
          .split = {.batch = kTp},
          .module = TraceModule::AttentionCore,
          .uses = uses,
          .makes = gradients});
    return gradients;
}

}  // namespace

AttentionImplementation attention_of(const BlockContext& c) {
    const AttentionImplementation asked = c.model.attention != AttentionImplementation::Auto
                                              ? c.model.attention
                                              : c.kernels().attention;
    return asked == AttentionImplementation::Auto ? AttentionImplementation::Flash2 : asked;
}

CoreTensors core_forward(LayerBuilder& b,
                         const BlockContext& c,
                         const CoreShape& s,
                         const std::vector<TensorIndex>& qkv) {
    MW_CHECK(qkv.size() == 1 || qkv.size() == 3, "attention takes q, k, v or one packed tensor");
    if (attention_of(c) == AttentionImplementation::Unfused) {
        return unfused_forward(unfused(b, c, s), qkv);
    }
    return fused_forward(b, c, s, qkv);
}

std::vector<TensorIndex> core_backward(LayerBuilder& b,
                                       const BlockContext& c,
                                       const CoreShape& s,
                                       const CoreTensors& t,
                                       TensorIndex gradient) {
    if (attention_of(c) == AttentionImplementation::Unfused) {
        return unfused_backward(unfused(b, c, s), t, gradient);
    }
    return fused_backward(b, c, s, t, gradient);
}

}  // namespace memwall
