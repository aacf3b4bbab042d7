// Final norm, logits and loss over V (padded) logits per token. Traffic in bytes per logit, 16-bit logits:
//  - fused (TransformerEngine pytorch/triton/cross_entropy.py): one pass for the running maximum and sum (2), one that
//    writes the gradient over the logits (4); backward scales it (4). A stack may give the gradient a tensor of its own.
//  - unfused in place (Megatron-LM core/tensor_parallel/cross_entropy.py): cast to fp32 6, maximum 4, subtract 8, exp 8,
//    sum 4, divide 8; backward multiply 8, cast 6. Three reductions over tp of one fp32 number per token.
//  - unfused, PyTorch's cross_entropy: cast 6, log-softmax 12; backward: gradient of the likelihood 4, of log-softmax 12,
//    cast 6, each in a tensor of its own.
// A stack may state the total instead (cross_entropy_forward_bytes, _backward_bytes); it is shared out in these proportions.
// With sequence parallelism Megatron gathers the input into a buffer that is kept for good (GlobalMemoryBuffer, "mpu").
#include "sim/model/blocks.h"
#include "sim/model/parameters.h"

namespace memwall {
namespace {

struct Step {
    const char* name;
    MemoryKind kind;
    std::int64_t bytes;  // per logit
    Data data = {};
};

struct Loss {
    LayerBuilder& b;
    const BlockContext& c;
    std::int64_t vocabulary;

    [[nodiscard]] TensorIndex tensor(const char* name, std::int64_t element) const {
        return b.tensor({.name = name,
                         .bytes = c.per_token(vocabulary * element),
                         .split = Split::Tp,
                         .memory = TensorClass::LogitsLoss,
                         .module = TraceModule::Loss});
    }
    // `stated`: bytes per logit of all steps together, 0 = as counted.
    void steps(Pass pass, double stated, const std::vector<Step>& list) const {
        std::int64_t sum = 0;
        for (const Step& s : list) {
            sum += s.bytes;
        }
        const double scale = stated > 0 ? stated / static_cast<double>(sum) : 1;
        for (const Step& s : list) {
            const double bytes = static_cast<double>(c.tokens * vocabulary * s.bytes) * scale;
            b.op({.name = s.name,
                  .pass = pass,
                  .kernel = MemoryBound{s.kind, Bytes(static_cast<std::int64_t>(bytes))},
                  .split = {.bytes = Split::Tp},
                  .module = TraceModule::Loss,
                  .uses = s.data.uses,
                  .makes = s.data.makes});
        }
    }
    void reductions(int calls, std::int64_t bytes_per_token) const {
        b.boundary({.kind = BoundaryKind::Loss,
                    .bytes = c.per_token(bytes_per_token),
                    .calls = calls,
                    .module = TraceModule::Loss});
    }
};

// Forward and backward of the loss from the logits; returns the gradient of the logits.
TensorIndex fused_loss(const Loss& l, TensorIndex logits) {
    const StackKernels& k = l.c.kernels();
    const std::int64_t e = l.c.element;
    const auto separate = static_cast<std::int64_t>(k.loss_gradient_bytes);
    TensorIndex gradient = logits;
    Data second{.uses = {logits}, .makes = {}};
    if (separate > 0) {
        gradient = l.tensor("logits gradient", separate);
        second.makes.push_back(gradient);
    }
    const std::int64_t written = separate > 0 ? separate : e;
    l.steps(Pass::Forward,
            k.cross_entropy_forward_bytes,
            {{"loss sum", MemoryKind::CrossEntropy, e, {{logits}, {}}},
             {"loss gradient", MemoryKind::CrossEntropy, e + written, second}});
    l.reductions(1, 12);  // maximum, sum and the target's logit in one
    l.steps(Pass::InputGradient,
            k.cross_entropy_backward_bytes,
            {{"loss backward", MemoryKind::CrossEntropy, 2 * written, {{gradient}, {}}}});
    return gradient;
}

TensorIndex in_place_loss(const Loss& l, TensorIndex logits) {
    const StackKernels& k = l.c.kernels();
    const std::int64_t e = l.c.element;
    const MemoryKind kind = MemoryKind::CrossEntropy;
    const TensorIndex copy = l.tensor("fp32 logits", 4);
    const TensorIndex gradient = l.tensor("logits gradient", e);
    // The caller holds the 16-bit logits until the loss is computed.
    l.steps(Pass::Forward,
            k.cross_entropy_forward_bytes,
            {{"loss cast", kind, e + 4, {{logits}, {copy}}},
             {"loss maximum", kind, 4, {{copy}, {}}},
             {"loss subtract", kind, 8, {{copy}, {}}},
             {"loss exponential", kind, 8, {{copy}, {}}},
             {"loss sum", kind, 4, {{copy}, {}}},
             {"loss divide", kind, 8, {{copy, logits}, {}}}});
    l.reductions(3, 4);
    l.steps(Pass::InputGradient,
            k.cross_entropy_backward_bytes,
            {{"loss backward", kind, 8, {{copy}, {}}},
             {"loss cast backward", kind, 4 + e, {{copy}, {gradient}}}});
    return gradient;
}

TensorIndex eager_loss(const Loss& l, TensorIndex logits) {
    const StackKernels& k = l.c.kernels();
    const std::int64_t e = l.c.element;
    const MemoryKind kind = MemoryKind::CrossEntropy;
    const TensorIndex copy = l.tensor("fp32 logits", 4);
    const TensorIndex log_softmax = l.tensor("fp32 log-softmax", 4);
    const TensorIndex likelihood = l.tensor("fp32 gradient of the likelihood", 4);
    const TensorIndex dlog_softmax = l.tensor("fp32 gradient of log-softmax", 4);
    const TensorIndex gradient = l.tensor("logits gradient", e);
    l.steps(Pass::Forward,
            k.cross_entropy_forward_bytes,
            {{"loss cast", kind, e + 4, {{logits}, {copy}}},
             {"log-softmax", kind, 12, {{copy}, {log_softmax}}}});
    l.reductions(3, 4);
    // The training loop holds the 16-bit logits through the loss's backward.
    l.steps(
        Pass::InputGradient,
        k.cross_entropy_backward_bytes,
        {{"likelihood backward", kind, 4, {{}, {likelihood}}},
         {"log-softmax backward", kind, 12, {{likelihood, log_softmax, logits}, {dlog_softmax}}},
         {"loss cast backward", kind, 4 + e, {{dlog_softmax}, {gradient}}}});
    return gradient;
}

TensorIndex loss(const Loss& l, TensorIndex logits) {
    const BlockContext& c = l.c;
    const LossImplementation asked =
        c.model.loss != LossImplementation::Auto ? c.model.loss : c.kernels().loss;
    if (asked == LossImplementation::Fused) {
        return fused_loss(l, logits);
    }
    return c.kernels().loss_in_place ? in_place_loss(l, logits) : eager_loss(l, logits);
}

}  // namespace

LayerTrace head_layer(const BlockContext& c, std::int64_t vocabulary) {
    LayerBuilder b("head");
    b.parameters(head_parameters(c.model, vocabulary));
    const std::int64_t h = c.model.hidden;
    const Linear output{.name = "logits", .in = h, .out = vocabulary, .out_split = Split::Tp};
    const Loss l{b, c, vocabulary};

    const TensorIndex x = b.tensor(
        {.name = "input", .bytes = c.activations(h), .split = Split::Sequence, .input = true});
    b.starts_with(x);
    const NormTensors norm = norm_forward(b, c, {.name = "final norm", .width = h}, x);
    b.boundary({.kind = BoundaryKind::ColumnInput, .bytes = c.activations(h)});
    const TensorIndex buffer = b.tensor({.name = "gather buffer of the logits",
                                         .bytes = c.activations(h),
                                         .memory = TensorClass::CommunicationBuffers,
                                         .only_sequence_parallel = true,
                                         .persistent = true});
    const TensorIndex logits = l.tensor("logits", c.element);
    linear_forward(b, c, output, {.uses = {norm.output}, .makes = {buffer, logits}});
    const TensorIndex gradient = loss(l, logits);

    b.boundary({.kind = BoundaryKind::GatherAgain,
                .pass = Pass::InputGradient,
                .bytes = c.activations(h)});
    const TensorIndex partial = b.tensor({.name = "logits input gradient, partial",
                                          .bytes = c.activations(h),
                                          .only_sequence_parallel = true});
    const TensorIndex dnormed = b.tensor(
        {.name = "logits input gradient", .bytes = c.activations(h), .split = Split::Sequence});
    linear_input_gradient(b, c, output, {.uses = {gradient}, .makes = {partial, dnormed}});
    b.boundary({.kind = BoundaryKind::ColumnInput,
                .pass = Pass::InputGradient,
                .bytes = c.activations(h)});
    Data weight{.uses = {norm.output, gradient, partial}, .makes = {}};
    if (c.stack.memory.dummy_weight_gradients) {
        // Megatron allocates this dummy for each call, unlike those of Transformer Engine.
        weight.makes.push_back(b.tensor({.name = "dummy weight gradient of the logits",
                                         .bytes = Bytes(vocabulary * h * c.element),
                                         .split = Split::Tp,
                                         .memory = TensorClass::Workspaces,
                                         .per_token = false}));
    }
    linear_weight_gradient(b, c, output, weight);
    norm_backward(b, c, norm, dnormed);
    return std::move(b).finish();
}

}  // namespace memwall
