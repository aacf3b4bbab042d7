// Norms and residual adds. Element-wise on the residual stream, so divided by tp only with sequence parallelism.
//
// Fused norm: forward reads and writes once (4 B per 16-bit element); backward reads x and dy, writes dx (6 B), plus the
// reduction of the weight gradient: a second pass over x and dy for LayerNorm (4 B; apex layer_norm_cuda_kernel.cu,
// cuComputePartGradGammaBeta), inside the first for RMSNorm (TransformerEngine rmsnorm bwd), and a kernel that finishes it.
// Eager RMSNorm in fp32 (meta-llama/llama3 model.py, RMSNorm): cast 6, square 8, mean 4, scale 8, cast 6, weight 4 B.
#include "sim/core/check.h"
#include "sim/model/blocks.h"

namespace memwall {
namespace {

// apex reduces the gamma and beta gradients through 16 partial fp32 rows each.
constexpr std::int64_t kPartialRows = 16;

struct Step {
    const char* name;
    MemoryKind kind;
    std::int64_t bytes;  // per element
};

bool eager_rms(const BlockContext& c, const NormSpec& s) {
    return !c.kernels().fused_norm && c.model.norm == NormKind::RmsNorm && s.width > 0;
}

std::int64_t elements(const NormSpec& s) {
    return s.width * s.rows;
}

void step(LayerBuilder& b,
          const BlockContext& c,
          const NormSpec& s,
          const Step& p,
          Pass pass,
          const Data& d) {
    b.op({.name = s.name + " " + p.name,
          .pass = pass,
          .kernel = MemoryBound{p.kind, c.per_token(elements(s) * p.bytes)},
          .split = {.bytes = s.split},
          .module = TraceModule::Norm,
          .uses = d.uses,
          .makes = d.makes});
}

TensorIndex stream_tensor(LayerBuilder& b,
                          const BlockContext& c,
                          const NormSpec& s,
                          const std::string& what,
                          std::int64_t element) {
    return b.tensor({.name = s.name + " " + what,
                     .bytes = c.per_token(elements(s) * element),
                     .split = s.split,
                     .module = TraceModule::Norm});
}

NormTensors eager_forward(LayerBuilder& b,
                          const BlockContext& c,
                          const NormSpec& s,
                          TensorIndex input) {
    NormTensors n{.spec = s, .input = input};
    const std::int64_t e = c.element;
    const TensorIndex x32 = stream_tensor(b, c, s, "fp32 input", 4);
    const TensorIndex square = stream_tensor(b, c, s, "square", 4);
    const TensorIndex scaled = stream_tensor(b, c, s, "fp32 scaled", 4);
    const TensorIndex hat = stream_tensor(b, c, s, "normalised", e);
    n.output = stream_tensor(b, c, s, "output", e);
    n.input32 = x32;
    n.normalised = hat;
    const MemoryKind elementwise = MemoryKind::Elementwise;
    const Pass f = Pass::Forward;
    step(b, c, s, {"cast", MemoryKind::Cast, e + 4}, f, {{input}, {x32}});
    step(b, c, s, {"square", elementwise, 8}, f, {{x32}, {square}});
    step(b, c, s, {"mean", MemoryKind::Reduction, 4}, f, {{square}, {}});
    step(b, c, s, {"scale", elementwise, 8}, f, {{x32}, {scaled}});
    step(b, c, s, {"cast back", MemoryKind::Cast, 4 + e}, f, {{scaled}, {hat}});
    step(b, c, s, {"weight", elementwise, 2 * e}, f, {{hat}, {n.output}});
    return n;
}

// Autograd of the forward above, one kernel per product and sum; `mean` and `rsqrt` act on one number per row.
TensorIndex eager_backward(LayerBuilder& b,
                           const BlockContext& c,
                           const NormTensors& n,
                           TensorIndex gradient) {
    const NormSpec& s = n.spec;
    const std::int64_t e = c.element;
    const TensorIndex product = stream_tensor(b, c, s, "weight gradient terms", e);
    const TensorIndex dhat = stream_tensor(b, c, s, "normalised gradient", e);
    const TensorIndex d32 = stream_tensor(b, c, s, "fp32 gradient", 4);
    const TensorIndex terms = stream_tensor(b, c, s, "row terms", 4);
    const TensorIndex direct = stream_tensor(b, c, s, "direct gradient", 4);
    const TensorIndex through = stream_tensor(b, c, s, "gradient through the mean", 4);
    const TensorIndex result = stream_tensor(b, c, s, "input gradient", e);
    const MemoryKind elementwise = MemoryKind::Elementwise;
    const Pass g = Pass::InputGradient;
    const Pass w = Pass::WeightGradient;
    const TensorIndex x32 = n.input32.value();
    step(b,
         c,
         s,
         {"weight gradient terms", elementwise, 3 * e},
         w,
         {{gradient, n.normalised.value()}, {product}});
    step(b, c, s, {"weight gradient sum", MemoryKind::Reduction, e}, w, {{product}, {}});
    step(b, c, s, {"weight backward", elementwise, 2 * e}, g, {{gradient}, {dhat}});
    step(b, c, s, {"cast back backward", MemoryKind::Cast, e + 4}, g, {{dhat}, {d32}});
    step(b, c, s, {"row terms", elementwise, 12}, g, {{d32, x32}, {terms}});
    step(b, c, s, {"row sum", MemoryKind::Reduction, 4}, g, {{terms}, {}});
    step(b, c, s, {"scale backward", elementwise, 8}, g, {{d32}, {direct}});
    step(b, c, s, {"square backward", elementwise, 8}, g, {{x32}, {through}});
    step(b, c, s, {"gradient add", elementwise, 12}, g, {{through, direct}, {}});
    step(b, c, s, {"cast backward", MemoryKind::Cast, 4 + e}, g, {{direct}, {result}});
    return result;
}

void norm_accumulations(LayerBuilder& b, const BlockContext& c, const NormSpec& s) {
    accumulate(b, c, {.name = s.name, .count = s.width}, {});
    if (c.model.norm == NormKind::LayerNorm) {
        accumulate(b, c, {.name = s.name + " bias", .count = s.width}, {});
    }
}

}  // namespace

NormTensors norm_forward(LayerBuilder& b,
                         const BlockContext& c,
                         const NormSpec& s,
                         TensorIndex input) {
    if (eager_rms(c, s)) {
        return eager_forward(b, c, s, input);
    }
    NormTensors n{.spec = s, .input = input};
    n.output = stream_tensor(b, c, s, "output", c.element);
    b.op({.name = s.name,
          .kernel = MemoryBound{MemoryKind::Norm, c.activations(2 * elements(s))},
          .split = {.bytes = s.split},
          .module = TraceModule::Norm,
          .uses = {input},
          .makes = {n.output}});
    return n;
}

TensorIndex norm_backward(LayerBuilder& b,
                          const BlockContext& c,
                          const NormTensors& n,
                          TensorIndex gradient) {
    const NormSpec& s = n.spec;
    TensorIndex result = 0;
    if (n.input32) {
        result = eager_backward(b, c, n, gradient);
    } else {
        result = stream_tensor(b, c, s, "input gradient", c.element);
        const std::int64_t width = elements(s);
        b.op({.name = s.name + " backward",
              .pass = Pass::InputGradient,
              .kernel = MemoryBound{MemoryKind::NormBackward, c.activations(3 * width)},
              .split = {.bytes = s.split},
              .module = TraceModule::Norm,
              .uses = {gradient, n.input},
              .makes = {result}});
        const bool layer_norm = c.model.norm == NormKind::LayerNorm;
        if (layer_norm) {
            b.op({.name = s.name + " weight gradient",
                  .pass = Pass::WeightGradient,
                  .kernel = MemoryBound{MemoryKind::NormBackward, c.activations(2 * width)},
                  .split = {.bytes = s.split},
                  .module = TraceModule::Norm,
                  .uses = {gradient, n.input}});
        }
        const std::int64_t sums = layer_norm ? 2 : 1;
        b.op(
            {.name = s.name + " weight gradient finish",
             .pass = Pass::WeightGradient,
             .kernel = MemoryBound{MemoryKind::Reduction, Bytes(sums * kPartialRows * s.width * 4)},
             .module = TraceModule::Norm,
             .per_token = false});
    }
    norm_accumulations(b, c, s);
    return result;
}

ResidualTensors residual_forward(LayerBuilder& b,
                                 const BlockContext& c,
                                 const std::string& name,
                                 const Data& d) {
    MW_CHECK(d.uses.size() == 2, "a residual add has a branch and a residual");
    const std::int64_t h = c.model.hidden;
    ResidualTensors r{.name = name};
    Data add = d;
    std::int64_t bytes = 3 * c.element;
    if (c.model.dropout > 0) {
        r.mask =
            b.tensor({.name = name + " mask", .bytes = c.per_token(h), .split = Split::Sequence});
        if (c.kernels().fused_bias_dropout_add) {
            bytes += 1;
            add.makes.push_back(*r.mask);
        } else {
            const TensorIndex dropped = b.tensor(
                {.name = name + " dropped", .bytes = c.activations(h), .split = Split::Sequence});
            b.op({.name = name + " dropout",
                  .kernel =
                      MemoryBound{MemoryKind::Elementwise, c.per_token(h * (2 * c.element + 1))},
                  .split = {.bytes = Split::Sequence},
                  .uses = {d.uses[0]},
                  .makes = {dropped, *r.mask}});
            add.uses[0] = dropped;
        }
    }
    b.op({.name = name,
          .kernel = MemoryBound{MemoryKind::Elementwise, c.per_token(h * bytes)},
          .split = {.bytes = Split::Sequence},
          .uses = add.uses,
          .makes = add.makes});
    return r;
}

TensorIndex residual_backward(LayerBuilder& b,
                              const BlockContext& c,
                              const ResidualTensors& r,
                              TensorIndex gradient) {
    if (!r.mask) {
        return gradient;
    }
    const std::int64_t h = c.model.hidden;
    const TensorIndex branch = b.tensor(
        {.name = r.name + " branch gradient", .bytes = c.activations(h), .split = Split::Sequence});
    b.op({.name = r.name + " backward",
          .pass = Pass::InputGradient,
          .kernel = MemoryBound{MemoryKind::Elementwise, c.per_token(h * (2 * c.element + 1))},
          .split = {.bytes = Split::Sequence},
          .uses = {gradient, *r.mask},
          .makes = {branch}});
    return branch;
}

void residual_gradient_add(LayerBuilder& b,
                           const BlockContext& c,
                           const std::string& name,
                           TensorIndex around,
                           TensorIndex through) {
    b.op({.name = name + " gradient add",
          .pass = Pass::InputGradient,
          .kernel = MemoryBound{MemoryKind::Elementwise, c.activations(3 * c.model.hidden)},
          .split = {.bytes = Split::Sequence},
          .uses = {around, through}});
}

}  // namespace memwall
