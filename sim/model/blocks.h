#pragma once
// The pieces of a transformer layer, inside sim/model only. Each piece appends its forward ops, returns the tensors it
// keeps, and later appends its backward ops.
//
// Bytes are counted as the kernels of the stack move them: every operand read and written once. With element size e = 2
// (16-bit): T tokens, h hidden, f MLP width, S = b a s^2 scores. H = e T h.
#include <optional>
#include <string>
#include <vector>

#include "sim/model/build.h"
#include "sim/model/layer_builder.h"

namespace memwall {

struct BlockContext {
    const Model& model;
    const Stack& stack;
    const TraceShape& shape;
    std::int64_t tokens = 0;
    std::int64_t element = 2;  // bytes of an activation
    Recipe recipe = Recipe::None;

    [[nodiscard]] const StackKernels& kernels() const { return stack.kernels; }
    [[nodiscard]] Bytes per_token(std::int64_t bytes) const { return Bytes(tokens * bytes); }
    // `width` activations per token.
    [[nodiscard]] Bytes activations(std::int64_t width) const {
        return Bytes(tokens * width * element);
    }
};

// --- linear.cpp: matrix products of a weight and its gradients

struct Linear {
    std::string name = {};
    std::int64_t in = 0;
    std::int64_t out = 0;
    Split in_split = Split::None;
    Split out_split = Split::None;
    TraceModule module = TraceModule::Other;
    std::int64_t rows = 0;  // per product; 0 = all tokens
    Split rows_split = Split::None;
    std::int64_t batch = 1;  // experts
    bool bias = false;
    bool quantised = false;  // computes in the format of the recipe

    [[nodiscard]] Split weight_split() const;
};

struct Data {
    std::vector<TensorIndex> uses = {};
    std::vector<TensorIndex> makes = {};
};

void linear_forward(LayerBuilder& b, const BlockContext& c, const Linear& l, const Data& d);
void linear_input_gradient(LayerBuilder& b, const BlockContext& c, const Linear& l, const Data& d);
// With the accumulation into the gradient buffer, inside the product or as a kernel of its own.
void linear_weight_gradient(LayerBuilder& b, const BlockContext& c, const Linear& l, const Data& d);
// Sum over tokens of the gradient of `width` outputs, and its accumulation.
void bias_gradient(LayerBuilder& b,
                   const BlockContext& c,
                   const std::string& name,
                   std::int64_t width,
                   Split split,
                   TensorIndex gradient);
struct Vector {
    std::string name = {};
    std::int64_t count = 0;
    Split split = Split::None;
};
// `.grad += new` of a vector or of a matrix whose product does not accumulate.
void accumulate(LayerBuilder& b, const BlockContext& c, const Vector& v, const Data& d);

// --- residual.cpp: norms, residual adds, dropout

struct NormSpec {
    std::string name = {};
    std::int64_t width = 0;  // of one row
    std::int64_t rows = 1;   // rows per token (heads for q and k norms)
    Split split = Split::Sequence;
};
struct NormTensors {
    NormSpec spec;
    TensorIndex input = 0;
    TensorIndex output = 0;
    std::optional<TensorIndex> input32 = {};     // eager: fp32 copy of the input
    std::optional<TensorIndex> normalised = {};  // eager: before the weight
};
NormTensors norm_forward(LayerBuilder& b,
                         const BlockContext& c,
                         const NormSpec& spec,
                         TensorIndex input);
// Returns the gradient of the input.
TensorIndex norm_backward(LayerBuilder& b,
                          const BlockContext& c,
                          const NormTensors& n,
                          TensorIndex gradient);

struct ResidualTensors {
    std::string name = {};
    std::optional<TensorIndex> mask = {};
};
// residual + dropout(branch + bias); the result is `output`, or the next layer's input when empty.
ResidualTensors residual_forward(LayerBuilder& b,
                                 const BlockContext& c,
                                 const std::string& name,
                                 const Data& d);
// Returns the gradient of the branch (the output's own when there is no dropout).
TensorIndex residual_backward(LayerBuilder& b,
                              const BlockContext& c,
                              const ResidualTensors& r,
                              TensorIndex gradient);
// The gradient that came around the branch is added to the one that came through it.
void residual_gradient_add(LayerBuilder& b,
                           const BlockContext& c,
                           const std::string& name,
                           TensorIndex around,
                           TensorIndex through);

// --- quantise.cpp: tensors of low-precision products

// rows: what forward and input gradients read; columns: the copy along the other dimension for weight gradients.
struct Quantised {
    TensorIndex rows = 0;
    TensorIndex columns = 0;
};
struct QuantiseSpec {
    std::string name = {};
    Pass pass = Pass::Forward;
    std::int64_t width = 0;  // per token
    Split split = Split::None;
    TraceModule module = TraceModule::Other;
    bool rows = true;
    bool columns = true;
};
[[nodiscard]] Quantised quantise(LayerBuilder& b,
                                 const BlockContext& c,
                                 const QuantiseSpec& spec,
                                 TensorIndex source);
// The weights of a product before it, where they come gathered.
void quantise_weights(LayerBuilder& b, const BlockContext& c, const Linear& l, Pass pass);
// `width` quantised elements per token.
[[nodiscard]] Bytes quantised_bytes(const BlockContext& c, std::int64_t width);

// --- parallel_linear.cpp: column- and row-parallel products with their boundaries

struct ColumnTensors {
    std::vector<Linear> products;  // of one input
    std::vector<TensorIndex> outputs;
    TensorIndex input = 0;
    std::optional<TensorIndex> kept = {};  // the quantised input that backward reads in its place
};
ColumnTensors column_forward(LayerBuilder& b,
                             const BlockContext& c,
                             const std::vector<Linear>& products,
                             TensorIndex input);
// `gradients`, one per product; returns the gradient of the input (sharded with sequence parallelism).
TensorIndex column_backward(LayerBuilder& b,
                            const BlockContext& c,
                            const ColumnTensors& t,
                            const std::vector<TensorIndex>& gradients);

struct RowTensors {
    Linear product;
    TensorIndex input = 0;
    TensorIndex output = 0;
    std::optional<TensorIndex> kept = {};
};
RowTensors row_forward(LayerBuilder& b,
                       const BlockContext& c,
                       const Linear& product,
                       TensorIndex input);
TensorIndex row_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const RowTensors& t,
                         TensorIndex gradient);

// --- attention_core.cpp: scores, softmax, context

struct CoreTensors {
    std::vector<TensorIndex> qkv = {};  // q, k, v, or the one tensor that they are views of
    TensorIndex context = 0;
    std::optional<TensorIndex> statistics = {};  // fused attention: log-sum-exp of each row
    std::optional<TensorIndex> softmax = {};
    std::optional<TensorIndex> softmax32 = {};  // of the fallback kernels
    std::optional<TensorIndex> mask = {};
    std::optional<TensorIndex> dropped = {};
};
struct CoreShape {
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t dim_qk = 0;
    std::int64_t dim_v = 0;
};
[[nodiscard]] AttentionImplementation attention_of(const BlockContext& c);
CoreTensors core_forward(LayerBuilder& b,
                         const BlockContext& c,
                         const CoreShape& s,
                         const std::vector<TensorIndex>& qkv);
// The gradients of q, k, v; of the packed tensor where the kernel writes it directly.
std::vector<TensorIndex> core_backward(LayerBuilder& b,
                                       const BlockContext& c,
                                       const CoreShape& s,
                                       const CoreTensors& t,
                                       TensorIndex gradient);

// --- attention.cpp

struct AttentionTensors {
    ColumnTensors qkv;
    std::optional<NormTensors> q_norm = {};
    std::optional<NormTensors> k_norm = {};
    CoreTensors core;
    RowTensors proj;
};
[[nodiscard]] CoreShape core_shape(const Model& model);
AttentionTensors attention_forward(LayerBuilder& b, const BlockContext& c, TensorIndex normed);
// From the gradient of the output to that of the normed input.
TensorIndex attention_backward(LayerBuilder& b,
                               const BlockContext& c,
                               const AttentionTensors& t,
                               TensorIndex gradient);

// --- latent_attention.cpp: DeepSeek's MLA

struct LatentAttention {
    std::optional<Linear> q_down = {};  // with q_rank > 0
    std::optional<NormTensors> q_norm = {};
    ColumnTensors q;  // from the normed input, or up from the compressed queries
    Linear kv_down;
    TensorIndex kv_compressed = 0;  // kv_rank and the shared rotary part of k
    NormTensors kv_norm;
    ColumnTensors kv_up;
    TensorIndex normed = 0;
    CoreTensors core;
    RowTensors proj;
};
LatentAttention latent_attention_forward(LayerBuilder& b,
                                         const BlockContext& c,
                                         TensorIndex normed);
TensorIndex latent_attention_backward(LayerBuilder& b,
                                      const BlockContext& c,
                                      const LatentAttention& t,
                                      TensorIndex gradient);

// --- mlp.cpp

struct MlpSpec {
    std::string prefix = {};
    std::int64_t width = 0;
    Split split =
        Split::Tp;  // of the activations: Tp = the width is divided, Sequence = the rows are
    std::int64_t rows = 0;     // all together
    std::int64_t experts = 1;  // products of rows / experts rows each
};
struct MlpTensors {
    MlpSpec spec;
    ColumnTensors fc1;
    std::optional<TensorIndex> silu = {};  // unfused gated activation
    TensorIndex activated = 0;
    RowTensors fc2;
};
[[nodiscard]] std::vector<Linear> mlp_first_products(const BlockContext& c, const MlpSpec& s);
[[nodiscard]] Linear mlp_second_product(const BlockContext& c, const MlpSpec& s);
// From t.fc1.outputs to t.activated, t.silu.
void activation_forward(LayerBuilder& b, const BlockContext& c, MlpTensors& t);
std::vector<TensorIndex> activation_backward(LayerBuilder& b,
                                             const BlockContext& c,
                                             const MlpTensors& t,
                                             TensorIndex gradient);

[[nodiscard]] MlpSpec dense_mlp(const BlockContext& c);
MlpTensors mlp_forward(LayerBuilder& b,
                       const BlockContext& c,
                       const MlpSpec& spec,
                       TensorIndex normed);
// From the gradient of the output to that of the normed input.
TensorIndex mlp_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const MlpTensors& t,
                         TensorIndex gradient);

// --- moe.cpp

struct MoeTensors {
    TensorIndex normed = 0;
    Linear router;
    TensorIndex logits = 0;
    TensorIndex probabilities = 0;
    TensorIndex map = 0;
    TensorIndex permuted = 0;
    MlpTensors experts;
    std::optional<MlpTensors> shared = {};
    std::optional<Linear> gate = {};  // of the shared expert
    std::optional<TensorIndex> gate_output = {};
    TensorIndex output = 0;
};
MoeTensors moe_forward(LayerBuilder& b, const BlockContext& c, TensorIndex normed);
TensorIndex moe_backward(LayerBuilder& b,
                         const BlockContext& c,
                         const MoeTensors& t,
                         TensorIndex gradient);

// --- layer kinds

[[nodiscard]] LayerTrace embedding_layer(const BlockContext& c, std::int64_t vocabulary);
[[nodiscard]] LayerTrace transformer_layer(const BlockContext& c, bool experts);
[[nodiscard]] LayerTrace head_layer(const BlockContext& c, std::int64_t vocabulary);

}  // namespace memwall
