// Column-parallel products divide their outputs over tp, row-parallel ones their inputs (Shoeybi et al., arXiv:1909.08053).
// With sequence parallelism (Korthikanti et al., arXiv:2205.05198) the input of the former is gathered, in backward once
// more for the weight gradient, and the output of the latter is reduce-scattered: full-width copies exist for a moment.
#include "sim/core/check.h"
#include "sim/model/blocks.h"

namespace memwall {
namespace {

TensorIndex full_width(LayerBuilder& b,
                       const BlockContext& c,
                       const std::string& name,
                       std::int64_t width) {
    return b.tensor({.name = name, .bytes = c.activations(width), .only_sequence_parallel = true});
}

}  // namespace

ColumnTensors column_forward(LayerBuilder& b,
                             const BlockContext& c,
                             const std::vector<Linear>& products,
                             TensorIndex input) {
    MW_CHECK(!products.empty(), "a column-parallel layer without products");
    ColumnTensors t{.products = products, .outputs = {}, .input = input};
    const Linear& first = products.front();
    b.boundary({.kind = BoundaryKind::ColumnInput,
                .bytes = c.activations(first.in),
                .module = first.module});
    const TensorIndex gathered = full_width(b, c, first.name + " gathered input", first.in);
    for (std::size_t i = 0; i < products.size(); ++i) {
        const Linear& l = products[i];
        const TensorIndex out = b.tensor({.name = l.name + " output",
                                          .bytes = c.activations(l.out),
                                          .split = l.out_split,
                                          .module = l.module});
        Data d{.uses = {input}, .makes = {out}};
        (i == 0 ? d.makes : d.uses).push_back(gathered);
        linear_forward(b, c, l, d);
        t.outputs.push_back(out);
    }
    return t;
}

TensorIndex column_backward(LayerBuilder& b,
                            const BlockContext& c,
                            const ColumnTensors& t,
                            const std::vector<TensorIndex>& gradients) {
    MW_CHECK(gradients.size() == t.products.size(), "one gradient per product");
    const Linear& first = t.products.front();
    const std::int64_t in = first.in;
    b.boundary({.kind = BoundaryKind::GatherAgain,
                .pass = Pass::InputGradient,
                .bytes = c.activations(in),
                .module = first.module});
    const TensorIndex again = full_width(b, c, first.name + " input gathered again", in);
    const TensorIndex partial = full_width(b, c, first.name + " input gradient, partial", in);
    const TensorIndex result = b.tensor({.name = first.name + " input gradient",
                                         .bytes = c.activations(in),
                                         .split = Split::Sequence});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Linear& l = t.products[i];
        if (i == 0) {
            linear_input_gradient(
                b, c, l, {.uses = {gradients[i]}, .makes = {again, partial, result}});
            continue;
        }
        const TensorIndex more =
            b.tensor({.name = l.name + " input gradient", .bytes = c.activations(in)});
        linear_input_gradient(b, c, l, {.uses = {gradients[i]}, .makes = {more}});
        b.op({.name = l.name + " input gradient add",
              .pass = Pass::InputGradient,
              .kernel = MemoryBound{MemoryKind::Elementwise, c.activations(3 * in)},
              .uses = {more, partial, result}});
    }
    b.boundary({.kind = BoundaryKind::ColumnInput,
                .pass = Pass::InputGradient,
                .bytes = c.activations(in),
                .module = first.module});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Linear& l = t.products[i];
        linear_weight_gradient(
            b, c, l, {.uses = {t.input, again, gradients[i], partial}, .makes = {}});
        if (l.bias) {
            bias_gradient(b, c, l.name, l.out, l.out_split, gradients[i]);
        }
    }
    return result;
}

RowTensors row_forward(LayerBuilder& b,
                       const BlockContext& c,
                       const Linear& product,
                       TensorIndex input) {
    const TensorIndex partial = full_width(b, c, product.name + " partial output", product.out);
    const TensorIndex out = b.tensor({.name = product.name + " output",
                                      .bytes = c.activations(product.out),
                                      .split = Split::Sequence,
                                      .module = product.module});
    linear_forward(b, c, product, {.uses = {input}, .makes = {partial, out}});
    b.boundary({.kind = BoundaryKind::RowOutput,
                .bytes = c.activations(product.out),
                .module = product.module});
    return {.product = product, .input = input, .output = out};
}

TensorIndex row_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const RowTensors& t,
                         TensorIndex gradient) {
    const Linear& l = t.product;
    if (l.bias) {
        bias_gradient(b, c, l.name, l.out, Split::Sequence, gradient);
    }
    b.boundary({.kind = BoundaryKind::RowOutput,
                .pass = Pass::InputGradient,
                .bytes = c.activations(l.out),
                .module = l.module});
    const TensorIndex gathered = full_width(b, c, l.name + " gathered gradient", l.out);
    const TensorIndex result = b.tensor(
        {.name = l.name + " input gradient", .bytes = c.activations(l.in), .split = l.in_split});
    linear_input_gradient(b, c, l, {.uses = {gradient}, .makes = {gathered, result}});
    linear_weight_gradient(b, c, l, {.uses = {t.input, gradient, gathered}, .makes = {}});
    return result;
}

}  // namespace memwall
