// A linear layer of weight [out, in] on T tokens: forward [T, in] x [in, out]; input gradient [T, out] x [out, in]; weight
// gradient [out, T] x [T, in]. 2 T in out multiply-adds each, so backward costs twice the forward.
#include "sim/model/blocks.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

Gemm product(const BlockContext& c, const Linear& l) {
    Gemm g;
    g.batch = l.batch;
    g.dtype = l.quantised ? recipe_dtype(c.recipe, c.shape.compute) : c.shape.compute;
    g.output_bytes = static_cast<double>(c.element);
    return g;
}

std::int64_t rows_of(const BlockContext& c, const Linear& l) {
    return l.rows > 0 ? l.rows : c.tokens;
}

Split batch_split(const Linear& l) {
    return l.batch > 1 ? Split::Ep : Split::None;
}

bool accumulates_inside(const BlockContext& c) {
    return c.kernels().fused_gradient_accumulation && c.shape.gradient_bytes > 0;
}

}  // namespace

Split Linear::weight_split() const {
    if (batch > 1) {
        return Split::Ep;
    }
    return in_split == Split::Tp || out_split == Split::Tp ? Split::Tp : Split::None;
}

void linear_forward(LayerBuilder& b, const BlockContext& c, const Linear& l, const Data& d) {
    Gemm g = product(c, l);
    g.m = rows_of(c, l);
    g.n = l.out;
    g.k = l.in;
    b.op({.name = l.name,
          .kernel = g,
          .split = {.m = l.rows_split, .n = l.out_split, .k = l.in_split, .batch = batch_split(l)},
          .module = l.module,
          .uses = d.uses,
          .makes = d.makes});
}

void linear_input_gradient(LayerBuilder& b, const BlockContext& c, const Linear& l, const Data& d) {
    Gemm g = product(c, l);
    g.role = GemmRole::InputGradient;
    g.m = rows_of(c, l);
    g.n = l.in;
    g.k = l.out;
    b.op({.name = l.name + " input gradient",
          .pass = Pass::InputGradient,
          .kernel = g,
          .split = {.m = l.rows_split, .n = l.in_split, .k = l.out_split, .batch = batch_split(l)},
          .module = l.module,
          .uses = d.uses,
          .makes = d.makes});
}

void linear_weight_gradient(LayerBuilder& b,
                            const BlockContext& c,
                            const Linear& l,
                            const Data& d) {
    Gemm g = product(c, l);
    g.role = GemmRole::WeightGradient;
    g.m = l.out;
    g.n = l.in;
    g.k = rows_of(c, l);
    // Accumulation inside the product reads and writes the buffer in place of one write.
    const bool inside = accumulates_inside(c);
    if (inside) {
        g.output_bytes = 2 * c.shape.gradient_bytes;
    }
    std::vector<TensorIndex> makes = d.makes;
    Data gradient;
    const bool apart = !inside && c.shape.gradient_bytes > 0;
    const std::int64_t weights = l.in * l.out * l.batch;
    if (apart) {
        gradient.uses = {b.tensor({.name = l.name + " weight gradient",
                                   .bytes = Bytes(weights * c.element),
                                   .split = l.weight_split(),
                                   .memory = TensorClass::Gradients,
                                   .per_token = false})};
        makes.push_back(gradient.uses.front());
    }
    b.op({.name = l.name + " weight gradient",
          .pass = Pass::WeightGradient,
          .kernel = g,
          .split = {.m = l.out_split, .n = l.in_split, .k = l.rows_split, .batch = batch_split(l)},
          .module = l.module,
          .uses = d.uses,
          .makes = makes});
    if (apart) {
        accumulate(b, c, {.name = l.name, .count = weights, .split = l.weight_split()}, gradient);
    }
}

void bias_gradient(LayerBuilder& b,
                   const BlockContext& c,
                   const std::string& name,
                   std::int64_t width,
                   Split split,
                   TensorIndex gradient) {
    b.op({.name = name + " bias gradient",
          .pass = Pass::WeightGradient,
          .kernel = MemoryBound{MemoryKind::Reduction, c.activations(width)},
          .split = {.bytes = split},
          .uses = {gradient}});
    // The bias of a row-parallel product is replicated, its gradient is summed over shards of tokens.
    const Split weights = split == Split::Tp ? Split::Tp : Split::None;
    accumulate(b, c, {.name = name + " bias", .count = width, .split = weights}, {});
}

void accumulate(LayerBuilder& b, const BlockContext& c, const Vector& v, const Data& d) {
    if (c.shape.gradient_bytes <= 0) {
        return;
    }
    const double bytes = static_cast<double>(v.count) *
                         (2 * c.shape.gradient_bytes + static_cast<double>(c.element));
    b.op({.name = v.name + " accumulation",
          .pass = Pass::WeightGradient,
          .kernel = MemoryBound{MemoryKind::Elementwise, Bytes(static_cast<std::int64_t>(bytes))},
          .split = {.bytes = v.split},
          .per_token = false,
          .uses = d.uses,
          .makes = d.makes});
}

}  // namespace memwall
