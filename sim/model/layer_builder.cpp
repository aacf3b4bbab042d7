#include "sim/model/layer_builder.h"

#include <algorithm>
#include <utility>

#include "sim/core/check.h"

namespace memwall {
namespace {

void add_once(std::vector<std::uint16_t>& list, std::uint16_t value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) {
        list.push_back(value);
    }
}

}  // namespace

TensorIndex LayerBuilder::tensor(TraceTensor t) {
    // Trace files refer to tensors by name.
    MW_CHECK(std::none_of(layer_.tensors.begin(),
                          layer_.tensors.end(),
                          [&](const TraceTensor& other) { return other.name == t.name; }),
             "two tensors of one name: " + t.name);
    layer_.tensors.push_back(std::move(t));
    return static_cast<TensorIndex>(layer_.tensors.size() - 1);
}

void LayerBuilder::op(const OpDraft& draft) {
    TraceOp op;
    op.name = draft.name;
    op.pass = draft.pass;
    op.kernel = draft.kernel;
    op.split = draft.split;
    op.module = draft.module;
    op.per_token = draft.per_token;
    op.condition = draft.condition;
    op.allocates = std::exchange(pending_, {});
    op.allocates.insert(op.allocates.end(), draft.makes.begin(), draft.makes.end());
    const std::vector<TensorIndex> makes = op.allocates;
    const bool forward = draft.pass == Pass::Forward;
    (forward ? layer_.forward : layer_.backward).push_back({.op = std::move(op), .boundary = {}});
    (forward ? forward_ : backward_).push_back({draft.uses, makes});
}

void LayerBuilder::boundary(TraceBoundary b) {
    const bool forward = b.pass == Pass::Forward;
    (forward ? layer_.forward : layer_.backward).push_back({.op = {}, .boundary = b});
    (forward ? forward_ : backward_).emplace_back();
}

// Walks the ops that apply when the layer's shard condition holds (or not). A tensor's last user must be the same kind of
// op in both cases: conditional in both, or the same unconditional one; else it would be freed twice in one of them.
void LayerBuilder::derive_lives(bool condition_holds) {
    constexpr std::size_t kNever = static_cast<std::size_t>(-1);
    const std::size_t forward_items = layer_.forward.size();
    std::vector<std::size_t> last(layer_.tensors.size(), kNever);
    std::vector<int> made(layer_.tensors.size(), 0);
    const auto item = [&](std::size_t i) -> TraceItem& {
        return i < forward_items ? layer_.forward[i] : layer_.backward[i - forward_items];
    };
    for (std::size_t i = 0; i < forward_items + layer_.backward.size(); ++i) {
        const TraceItem& at = item(i);
        if (!at.op || (at.op->condition && at.op->condition->holds != condition_holds)) {
            continue;
        }
        const Touch& touch = i < forward_items ? forward_[i] : backward_[i - forward_items];
        for (const TensorIndex t : touch.makes) {
            MW_CHECK(made[t]++ == 0, "tensor made twice: " + layer_.tensors[t].name);
            last[t] = i;
        }
        for (const TensorIndex t : touch.uses) {
            MW_CHECK(made[t] == 1, "tensor used before it is made: " + layer_.tensors[t].name);
            last[t] = i;
        }
        if (i < forward_items) {
            for (const auto* list : {&touch.makes, &touch.uses}) {
                for (const TensorIndex t : *list) {
                    layer_.tensors[t].last_forward_item = static_cast<std::int32_t>(i);
                }
            }
        }
    }
    for (std::size_t t = 0; t < last.size(); ++t) {
        TraceTensor& tensor = layer_.tensors[t];
        if (last[t] == kNever || tensor.persistent) {
            continue;
        }
        const bool made_forward = tensor.last_forward_item >= 0;
        tensor.saved = tensor.saved || (made_forward && last[t] >= forward_items);
        add_once(item(last[t]).op->frees, static_cast<TensorIndex>(t));
    }
}

LayerTrace LayerBuilder::finish() && {
    derive_lives(true);
    derive_lives(false);
    return std::move(layer_);
}

}  // namespace memwall
