// Column-parallel products divide their outputs over tp, row-parallel ones their inputs (Shoeybi et al., arXiv:1909.08053).
// With sequence parallelism (Korthikanti et al., arXiv:2205.05198) the input of the former is gathered, in backward once
// more for the weight gradient, and the output of the latter is reduce-scattered: full-width copies exist for a moment.
#include "sim/core/check.h"
#include "sim/model/blocks.h"

namespace memwall {
namespace {

// Full width of what sequence parallelism divides; quantised where the gather moves quantised elements.
TensorIndex full_width(LayerBuilder& b,
                       const BlockContext& c,
                       const std::string& name,
                       std::int64_t width,
                       bool quantised = false) {
    return b.tensor({.name = name,
                     .bytes = quantised ? quantised_bytes(c, width) : c.activations(width),
                     .only_sequence_parallel = true});
}

Bytes gathered_bytes(const BlockContext& c, std::int64_t width, bool quantised) {
    return quantised ? quantised_bytes(c, width) : c.activations(width);
}

}  // namespace

ColumnTensors column_forward(LayerBuilder& b,
                             const BlockContext& c,
                             const std::vector<Linear>& products,
                             TensorIndex input) {
    MW_CHECK(!products.empty(), "a column-parallel layer without products");
    ColumnTensors t{.products = products, .outputs = {}, .input = input};
    const bool low = c.recipe != Recipe::None;
    for (Linear& l : t.products) {
        l.quantised = low;
    }
    const Linear& first = t.products.front();
    TensorIndex operand = input;
    if (low) {
        const bool keeps = c.kernels().keeps_quantised;
        const Quantised q = quantise(b,
                                     c,
                                     {.name = first.name + " input",
                                      .width = first.in,
                                      .split = Split::Sequence,
                                      .module = first.module,
                                      .columns = keeps},
                                     input);
        operand = q.rows;
        if (keeps) {
            t.kept = q.columns;
        }
    }
    b.boundary({.kind = BoundaryKind::ColumnInput,
                .bytes = gathered_bytes(c, first.in, low),
                .module = first.module});
    const TensorIndex gathered = full_width(b, c, first.name + " gathered input", first.in, low);
    for (std::size_t i = 0; i < t.products.size(); ++i) {
        const Linear& l = t.products[i];
        if (low) {
            quantise_weights(b, c, l, Pass::Forward);
        }
        const TensorIndex out = b.tensor({.name = l.name + " output",
                                          .bytes = c.activations(l.out),
                                          .split = l.out_split,
                                          .module = l.module});
        Data d{.uses = {operand}, .makes = {out}};
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
    const Pass g = Pass::InputGradient;
    const bool low = first.quantised;
    TensorIndex saved = t.kept ? *t.kept : t.input;
    std::vector<Quantised> operands;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        operands.push_back({gradients[i], gradients[i]});
        if (low) {
            const Linear& l = t.products[i];
            operands[i] = quantise(b,
                                   c,
                                   {.name = l.name + " output gradient",
                                    .pass = g,
                                    .width = l.out,
                                    .split = l.out_split,
                                    .module = l.module},
                                   gradients[i]);
        }
    }
    if (low && !t.kept) {
        saved = quantise(b,
                         c,
                         {.name = first.name + " input again",
                          .pass = g,
                          .width = in,
                          .split = Split::Sequence,
                          .module = first.module,
                          .rows = false},
                         t.input)
                    .columns;
    }
    b.boundary({.kind = BoundaryKind::GatherAgain,
                .pass = g,
                .bytes = gathered_bytes(c, in, low),
                .module = first.module});
    const TensorIndex again = full_width(b, c, first.name + " input gathered again", in, low);
    const TensorIndex partial = full_width(b, c, first.name + " input gradient, partial", in);
    const TensorIndex result = b.tensor({.name = first.name + " input gradient",
                                         .bytes = c.activations(in),
                                         .split = Split::Sequence});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Linear& l = t.products[i];
        if (low) {
            quantise_weights(b, c, l, g);
        }
        if (i == 0) {
            linear_input_gradient(
                b, c, l, {.uses = {operands[i].rows}, .makes = {again, partial, result}});
            continue;
        }
        const TensorIndex more =
            b.tensor({.name = l.name + " input gradient", .bytes = c.activations(in)});
        linear_input_gradient(b, c, l, {.uses = {operands[i].rows}, .makes = {more}});
        b.op({.name = l.name + " input gradient add",
              .pass = g,
              .kernel = MemoryBound{MemoryKind::Elementwise, c.activations(3 * in)},
              .uses = {more, partial, result}});
    }
    b.boundary({.kind = BoundaryKind::ColumnInput,
                .pass = g,
                .bytes = c.activations(in),
                .module = first.module});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Linear& l = t.products[i];
        linear_weight_gradient(
            b, c, l, {.uses = {saved, again, operands[i].columns, partial}, .makes = {}});
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
    RowTensors t{.product = product, .input = input};
    t.product.quantised = c.recipe != Recipe::None;
    TensorIndex operand = input;
    if (t.product.quantised) {
        const bool keeps = c.kernels().keeps_quantised;
        const Quantised q = quantise(b,
                                     c,
                                     {.name = product.name + " input",
                                      .width = product.in,
                                      .split = product.in_split,
                                      .module = product.module,
                                      .columns = keeps},
                                     input);
        operand = q.rows;
        if (keeps) {
            t.kept = q.columns;
        }
        quantise_weights(b, c, product, Pass::Forward);
    }
    const TensorIndex partial = full_width(b, c, product.name + " partial output", product.out);
    t.output = b.tensor({.name = product.name + " output",
                         .bytes = c.activations(product.out),
                         .split = Split::Sequence,
                         .module = product.module});
    linear_forward(b, c, t.product, {.uses = {operand}, .makes = {partial, t.output}});
    b.boundary({.kind = BoundaryKind::RowOutput,
                .bytes = c.activations(product.out),
                .module = product.module});
    return t;
}

TensorIndex row_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const RowTensors& t,
                         TensorIndex gradient) {
    const Linear& l = t.product;
    const Pass g = Pass::InputGradient;
    if (l.bias) {
        bias_gradient(b, c, l.name, l.out, Split::Sequence, gradient);
    }
    Quantised operand{gradient, gradient};
    TensorIndex saved = t.kept ? *t.kept : t.input;
    if (l.quantised) {
        operand = quantise(b,
                           c,
                           {.name = l.name + " output gradient",
                            .pass = g,
                            .width = l.out,
                            .split = Split::Sequence,
                            .module = l.module},
                           gradient);
    }
    b.boundary({.kind = BoundaryKind::RowOutput,
                .pass = g,
                .bytes = gathered_bytes(c, l.out, l.quantised),
                .module = l.module});
    const TensorIndex gathered =
        full_width(b, c, l.name + " gathered gradient", l.out, l.quantised);
    const TensorIndex result = b.tensor(
        {.name = l.name + " input gradient", .bytes = c.activations(l.in), .split = l.in_split});
    if (l.quantised) {
        quantise_weights(b, c, l, g);
    }
    linear_input_gradient(b, c, l, {.uses = {operand.rows}, .makes = {gathered, result}});
    if (l.quantised && !t.kept) {
        saved = quantise(b,
                         c,
                         {.name = l.name + " input again",
                          .pass = g,
                          .width = l.in,
                          .split = l.in_split,
                          .module = l.module,
                          .rows = false},
                         t.input)
                    .columns;
    }
    linear_weight_gradient(b, c, l, {.uses = {saved, operand.columns, gathered}, .makes = {}});
    return result;
}

}  // namespace memwall
