// Token and position lookup. Forward: gather 4, position gather 4, add 6, dropout 5 bytes per 16-bit element.
// Backward: the dense gradient of the table is cleared (2 V h), rows are added (6 T h) and it is accumulated, as
// torch.nn.functional.embedding's backward does; gradient-accumulation fusion does not cover it.
#include "sim/model/blocks.h"
#include "sim/model/parameters.h"

namespace memwall {
namespace {

struct Table {
    const char* name;
    std::int64_t rows;
    Split split;
};

TensorIndex stream(LayerBuilder& b, const BlockContext& c, const char* name) {
    return b.tensor(
        {.name = name, .bytes = c.activations(c.model.hidden), .split = Split::Sequence});
}

void table_gradient(LayerBuilder& b, const BlockContext& c, const Table& t, TensorIndex gradient) {
    const std::int64_t h = c.model.hidden;
    const std::string name = t.name;
    const Bytes table(t.rows * h * c.element);
    const TensorIndex dense = b.tensor({.name = name + " gradient",
                                        .bytes = table,
                                        .split = t.split,
                                        .memory = TensorClass::Gradients,
                                        .per_token = false});
    b.op({.name = name + " gradient clear",
          .pass = Pass::WeightGradient,
          .kernel = MemoryBound{MemoryKind::Elementwise, table},
          .split = {.bytes = t.split},
          .per_token = false,
          .makes = {dense}});
    b.op({.name = name + " gradient scatter",
          .pass = Pass::WeightGradient,
          .kernel = MemoryBound{MemoryKind::Embedding, c.activations(3 * h)},
          .uses = {gradient, dense}});
    accumulate(b,
               c,
               {.name = name, .count = t.rows * h, .split = t.split},
               {.uses = {dense}, .makes = {}});
}

}  // namespace

LayerTrace embedding_layer(const BlockContext& c, std::int64_t vocabulary) {
    LayerBuilder b("embedding");
    b.parameters(embedding_parameters(c.model, vocabulary));
    const std::int64_t h = c.model.hidden;
    const bool positions = c.model.position == PositionKind::Learned && c.model.positions > 0;
    const bool dropout = c.model.dropout > 0;
    const Split sequence = Split::Sequence;

    // The last result is the first layer's input, which that layer accounts for.
    const TensorIndex partial = b.tensor({.name = "embedding partial output",
                                          .bytes = c.activations(h),
                                          .only_sequence_parallel = true});
    std::vector<TensorIndex> made = {partial};
    std::vector<TensorIndex> uses = {partial};
    if (positions || dropout) {
        made.push_back(stream(b, c, "embedding output"));
        uses.push_back(made.back());
    }
    b.op({.name = "embedding",
          .kernel = MemoryBound{MemoryKind::Embedding, c.activations(2 * h)},
          .makes = made});
    b.boundary({.kind = BoundaryKind::Vocabulary, .bytes = c.activations(h)});
    if (positions) {
        const TensorIndex looked_up = stream(b, c, "position output");
        b.op({.name = "positions",
              .kernel = MemoryBound{MemoryKind::Embedding, c.activations(2 * h)},
              .split = {.bytes = sequence},
              .makes = {looked_up}});
        uses.push_back(looked_up);
        std::vector<TensorIndex> sum;
        if (dropout) {
            sum = {stream(b, c, "embedding sum")};
        }
        b.op({.name = "position add",
              .kernel = MemoryBound{MemoryKind::Elementwise, c.activations(3 * h)},
              .split = {.bytes = sequence},
              .uses = uses,
              .makes = sum});
        uses = sum;
    }
    std::optional<TensorIndex> mask;
    if (dropout) {
        mask = b.tensor({.name = "embedding mask", .bytes = c.per_token(h), .split = sequence});
        b.op({.name = "embedding dropout",
              .kernel = MemoryBound{MemoryKind::Elementwise, c.per_token(h * (2 * c.element + 1))},
              .split = {.bytes = sequence},
              .uses = uses,
              .makes = {*mask}});
    }

    TensorIndex gradient = stream(b, c, "output_gradient");
    b.starts_with(gradient);
    if (mask) {
        const TensorIndex before = stream(b, c, "embedding sum gradient");
        b.op({.name = "embedding dropout backward",
              .pass = Pass::InputGradient,
              .kernel = MemoryBound{MemoryKind::Elementwise, c.per_token(h * (2 * c.element + 1))},
              .split = {.bytes = sequence},
              .uses = {gradient, *mask},
              .makes = {before}});
        gradient = before;
    }
    if (positions) {
        table_gradient(b, c, {"positions", c.model.positions, Split::None}, gradient);
    }
    b.boundary(
        {.kind = BoundaryKind::Vocabulary, .pass = Pass::InputGradient, .bytes = c.activations(h)});
    table_gradient(b, c, {"embedding", vocabulary, Split::Tp}, gradient);
    return std::move(b).finish();
}

}  // namespace memwall
