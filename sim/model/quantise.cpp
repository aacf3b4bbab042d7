// Quantisation around low-precision products. Per element, with r bytes of the format:
//   cast             2 + r for each of the two copies that is made: one kernel reads once and writes both
//   largest value    2 more, a kernel of its own, where scales come from the tensor itself (fp8_tensorwise, nvfp4) and the
//                    stack does not find it in the kernel before
// Two copies: Hopper multiplies fp8 in one layout only, so the weight gradient needs the transpose; block scales run along
// one dimension, so mxfp8 and nvfp4 need both too.
// Weights that come gathered: quantised for forward, quantised and transposed for the input gradient; gathered in the
// low format (StackKernels::quantised_gather) they are transposed alone. Weights that stay are quantised once per step
// (sim/parallel/optimizer.cpp).
// Neglects: the transpose after a gather of quantised inputs, random Hadamard transforms and stochastic rounding of nvfp4
// (arithmetic inside the cast), the memory of quantised gathered weights.
// Source: NVIDIA/TransformerEngine transformer_engine/pytorch/module/layernorm_linear.py and
// common/util/cast_transpose; pytorch/ao torchao/float8/float8_linear.py, fsdp_utils.py.
#include <cmath>

#include "sim/model/blocks.h"
#include "sim/spec/precision.h"

namespace memwall {
namespace {

double format_bytes(const BlockContext& c) {
    return bytes_per_element(recipe_dtype(c.recipe, c.shape.compute));
}

bool scaled_by_itself(const BlockContext& c) {
    switch (c.recipe) {
    case Recipe::Fp8Tensorwise:
    case Recipe::NvFp4:
        return !c.kernels().fused_amax;
    case Recipe::None:
    case Recipe::Fp8Delayed:
    case Recipe::MxFp8:
        return false;
    }
    return false;
}

}  // namespace

Bytes quantised_bytes(const BlockContext& c, std::int64_t width) {
    return Bytes(std::llround(static_cast<double>(c.tokens * width) * format_bytes(c)));
}

Quantised quantise(LayerBuilder& b,
                   const BlockContext& c,
                   const QuantiseSpec& spec,
                   TensorIndex source) {
    Quantised result;
    std::vector<TensorIndex> makes;
    const auto make = [&](const char* what) {
        makes.push_back(b.tensor({.name = spec.name + what,
                                  .bytes = quantised_bytes(c, spec.width),
                                  .split = spec.split,
                                  .module = spec.module}));
        return makes.back();
    };
    std::int64_t bytes = c.activations(spec.width).value;
    if (scaled_by_itself(c)) {
        b.op({.name = spec.name + " largest value",
              .pass = spec.pass,
              .kernel = MemoryBound{MemoryKind::Reduction, Bytes(bytes)},
              .split = {.bytes = spec.split},
              .module = spec.module,
              .uses = {source}});
    }
    if (spec.rows) {
        result.rows = make(" quantised");
        bytes += quantised_bytes(c, spec.width).value;
    }
    if (spec.columns) {
        result.columns = make(" quantised by columns");
        bytes += quantised_bytes(c, spec.width).value;
    }
    b.op({.name = spec.name + " cast",
          .pass = spec.pass,
          .kernel = MemoryBound{MemoryKind::Cast, Bytes(bytes)},
          .split = {.bytes = spec.split},
          .module = spec.module,
          .uses = {source},
          .makes = makes});
    return result;
}

void quantise_weights(LayerBuilder& b, const BlockContext& c, const Linear& l, Pass pass) {
    const bool forward = pass == Pass::Forward;
    const bool gathered = c.kernels().quantised_gather;
    if (!c.shape.quantises_weights || (forward && gathered)) {
        return;
    }
    const double r = format_bytes(c);
    const double each = gathered ? 2 * r : static_cast<double>(c.element) + r;
    const auto weights = static_cast<double>(l.in * l.out * l.batch);
    b.op({.name = l.name + (gathered ? " weight transpose" : " weight cast") +
                  (forward ? "" : " backward"),
          .pass = pass,
          .kernel = MemoryBound{MemoryKind::Cast, Bytes(std::llround(weights * each))},
          .split = {.bytes = l.weight_split()},
          .module = l.module,
          .per_token = false});
}

}  // namespace memwall
