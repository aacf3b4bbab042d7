// cp ranks, b sequences of s tokens in a micro-batch; per rank T = b s / cp tokens, heads and kv heads after tensor
// parallelism. Elements: q = heads d_qk, o = heads d_v, kv = kv_heads (d_qk + d_v), e bytes each.
//
// Ring: cp steps; step 0 works on the rank's own keys, step i on those of the rank i before it. Balanced causal work: the
// rank's two pieces make step 0 a causal square of s/cp, every other step half of a full square of s/cp. Unbalanced: full
// squares, on the rank with the last piece.
//   forward:  cp - 1 shifts of e T kv bytes, each behind the attention of the block before; a merge of the partial results
//   backward: cp shifts, keys and values ahead (but in the last), their gradients behind (but in the first):
//             2 (cp - 1) e T kv bytes in sum
// All-to-all: q, k, v from tokens to heads and o back, each through a permuted copy on both sides; backward the reverse.
//   Volume per rank and pass: (cp - 1)/cp e T (q + kv + o). The attention output is kept on both sides of its exchange.
// All-gather: keys and values of all ranks before attention, again in backward, their gradients reduce-scattered after it:
//   (cp - 1) e T kv bytes each. Balanced causal work: two pieces of s/2cp queries see (2cp + 1)/2cp s keys together.
// Neglects: the steps in which half of the queries see all keys of a block have half the rows and twice the keys of those
// modelled here, with equal work; the library's own ring keeps all received blocks until the end of its forward (here two).
// Source: NVIDIA/TransformerEngine transformer_engine/pytorch/attention.py (AttnFuncWithCPAndKVP2P, -KVAllGather, -QKVOA2A);
// Liu et al., "Ring Attention", arXiv:2310.01889; Jacobs et al., "DeepSpeed Ulysses", arXiv:2309.14509.
#include "sim/parallel/context.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "sim/core/check.h"

namespace memwall {
namespace {

std::int64_t part(std::int64_t whole, int parts) {
    return (whole + parts - 1) / parts;
}

Kernel divide(const TraceOp& op, int cp) {
    Kernel kernel = op.kernel;
    if (auto* gemm = std::get_if<Gemm>(&kernel)) {
        std::int64_t& tokens = gemm->role == GemmRole::WeightGradient ? gemm->k : gemm->m;
        tokens = part(tokens, cp);
    } else if (auto* memory = std::get_if<MemoryBound>(&kernel)) {
        memory->bytes = Bytes(part(memory->bytes.value, cp));
    } else if (auto* copy = std::get_if<Copy>(&kernel)) {
        copy->bytes = Bytes(part(copy->bytes.value, cp));
    } else if (auto* measured = std::get_if<Measured>(&kernel)) {
        measured->duration = Duration(part(measured->duration.count(), cp));
        measured->flops = Flops(measured->flops.value / cp);
    }
    return kernel;
}

// What one rank holds, per exchange.
struct Sizes {
    std::int64_t q = 0;  // bytes
    std::int64_t kv = 0;
    std::int64_t context = 0;
};

class Exchanger {
  public:
    Exchanger(const RankLayer& layer, const ContextParallel& context)
        : context_(context), cp_(context.cp) {
        out_.kind = layer.kind;
        out_.tensors = layer.tensors;
        std::vector<std::int32_t> moved;
        for (const RankOp& op : layer.forward) {
            take(op, out_.forward);
            moved.push_back(static_cast<std::int32_t>(out_.forward.size()) - 1);
        }
        for (const RankOp& op : layer.backward) {
            take(op, out_.backward);
        }
        for (std::size_t i = 0; i < layer.tensors.size(); ++i) {
            std::int32_t& last = out_.tensors[i].last_forward_op;
            last = last < 0 ? last : moved[static_cast<std::size_t>(last)];
        }
    }

    RankLayer result() { return std::move(out_); }

  private:
    void take(const RankOp& op, std::vector<RankOp>& list) {
        const auto* attention = std::get_if<Attention>(&op.kernel);
        if (op.collective || attention == nullptr) {
            list.push_back(op);
            return;
        }
        op_ = &op;
        list_ = &list;
        whole_ = *attention;
        backward_ = whole_.backward;
        const std::int64_t e = std::llround(bytes_per_element(whole_.dtype));
        const std::int64_t tokens = whole_.batch * part(whole_.queries, cp_);
        sizes_ = {.q = tokens * whole_.heads * whole_.head_dim_qk * e,
                  .kv = tokens * whole_.kv_heads * (whole_.head_dim_qk + whole_.head_dim_v) * e,
                  .context = tokens * whole_.heads * whole_.head_dim_v * e};
        switch (context_.kind) {
        case ContextKind::Ring:
            backward_ ? ring_backward() : ring_forward();
            break;
        case ContextKind::AllToAll:
            backward_ ? all_to_all_backward() : all_to_all_forward();
            break;
        case ContextKind::AllGather:
            all_gather();
            break;
        }
    }

    [[nodiscard]] std::uint16_t tensor(const std::string& name, std::int64_t bytes) {
        RankTensor t;
        t.name = name;
        t.bytes = bytes;
        t.module = op_->module;
        out_.tensors.push_back(std::move(t));
        MW_CHECK(out_.tensors.size() <= std::numeric_limits<std::uint16_t>::max(),
                 "a layer of too many tensors");
        return static_cast<std::uint16_t>(out_.tensors.size() - 1);
    }

    RankOp& push(const char* name) {
        RankOp op;
        op.name = name;
        op.pass = op_->pass;
        op.module = op_->module;
        list_->push_back(std::move(op));
        return list_->back();
    }
    RankOp& attend(const Attention& kernel) {
        RankOp& op = push(op_->name.c_str());
        op.kernel = kernel;
        op.launches = op_->launches;
        return op;
    }
    RankOp& move(const char* name, std::int64_t bytes) {
        RankOp& op = push(name);
        op.kernel = MemoryBound{MemoryKind::Elementwise, Bytes(bytes)};
        return op;
    }
    // What follows waits for it with `context_wait = event`.
    RankOp& exchange(const char* name, CollectiveKind kind, std::int64_t bytes, int event) {
        RankOp& op = push(name);
        op.collective = CollectiveCall{.kind = kind, .role = GroupRole::Cp, .bytes = Bytes(bytes)};
        op.context_event = event;
        return op;
    }
    static void add(std::vector<std::uint16_t>& list, const std::vector<std::uint16_t>& more) {
        list.insert(list.end(), more.begin(), more.end());
    }

    [[nodiscard]] Attention block(int step) const {
        Attention a = whole_;
        a.queries = part(whole_.queries, cp_);
        a.keys = part(whole_.keys, cp_);
        if (step > 0 && whole_.causal) {
            a.causal = false;
            a.keys = context_.balanced ? part(a.keys, 2) : a.keys;
        }
        return a;
    }

    void ring_forward() {
        std::vector<std::uint16_t> received;
        for (int i = 0; i < std::min(2, cp_ - 1); ++i) {
            received.push_back(tensor(i == 0 ? "kv received" : "kv received behind it", sizes_.kv));
        }
        const std::uint16_t partial = tensor("partial context", sizes_.context);
        for (int step = 0; step < cp_; ++step) {
            if (step + 1 < cp_) {
                RankOp& shift =
                    exchange("kv shift", CollectiveKind::Shift, sizes_.kv, (step + 1) % 2);
                shift.after_kernels = step == 0;
                if (static_cast<std::size_t>(step) < received.size()) {
                    shift.allocates = {received[static_cast<std::size_t>(step)]};
                }
            }
            RankOp& attention = attend(block(step));
            attention.context_wait = step > 0 ? step % 2 : -1;
            if (step == 0) {
                attention.allocates = op_->allocates;
                continue;
            }
            if (step == 1) {
                attention.allocates = {partial};
            }
            move("context merge", 3 * sizes_.context);
        }
        RankOp& last = list_->back();
        last.frees = op_->frees;
        add(last.frees, received);
        last.frees.push_back(partial);
    }

    void ring_backward() {
        // Keys and values, then their gradients: received beside those in use.
        const std::uint16_t kv = tensor("kv received, backward", 2 * sizes_.kv);
        const std::uint16_t dkv = tensor("kv gradients received", 2 * sizes_.kv);
        const std::uint16_t partial = tensor("partial gradients", sizes_.q + sizes_.kv);
        for (int step = 0; step < cp_; ++step) {
            const int parts = (step + 1 < cp_ ? 1 : 0) + (step > 0 ? 1 : 0);
            RankOp& shift = exchange(
                "kv and gradient shift", CollectiveKind::Shift, parts * sizes_.kv, step % 2);
            if (step == 0) {
                shift.allocates = {kv, dkv};
            }
            RankOp& attention = attend(block(step));
            attention.context_wait = step > 0 ? (step - 1) % 2 : -1;
            if (step == 0) {
                attention.allocates = op_->allocates;
                continue;
            }
            if (step == 1) {
                attention.allocates = {partial};
            }
            RankOp& merge = move("attention gradient merge", 3 * (sizes_.q + sizes_.kv));
            merge.context_wait = step % 2;
        }
        RankOp& last = list_->back();
        last.frees = op_->frees;
        add(last.frees, {kv, dkv, partial});
    }

    [[nodiscard]] Attention of_heads() const {
        Attention a = whole_;
        a.heads = part(whole_.heads, cp_);
        a.kv_heads = part(whole_.kv_heads, cp_);
        return a;
    }

    // Tensors of `sizes` bytes change places: a permuted copy before, the exchanges, one after.
    void swap(const char* copy, const char* name, const std::vector<std::int64_t>& sizes) {
        std::int64_t sum = 0;
        for (const std::int64_t bytes : sizes) {
            sum += bytes;
        }
        move(copy, 2 * sum);
        for (const std::int64_t bytes : sizes) {
            exchange(name, CollectiveKind::AllToAll, bytes, 0);
        }
        move(copy, 2 * sum).context_wait = 0;
    }

    [[nodiscard]] std::vector<std::int64_t> qkv_sizes() const {
        const std::int64_t k =
            sizes_.kv * whole_.head_dim_qk / (whole_.head_dim_qk + whole_.head_dim_v);
        return {sizes_.q, k, sizes_.kv - k};
    }

    void all_to_all_forward() {
        const std::uint16_t exchanged = tensor("q k v by heads", sizes_.q + sizes_.kv);
        const std::uint16_t by_heads = tensor("context by heads", sizes_.context);
        out_.tensors[by_heads].saved = true;
        context_by_heads_ = by_heads;
        const std::size_t first = list_->size();
        swap("q k v permute", "q k v all-to-all", qkv_sizes());
        (*list_)[first].allocates = {exchanged};
        attend(of_heads()).allocates = {by_heads};
        const std::size_t back = list_->size();
        swap("context permute", "context all-to-all", {sizes_.context});
        (*list_)[back].allocates = op_->allocates;
        RankOp& last = list_->back();
        last.frees = op_->frees;
        last.frees.push_back(exchanged);
        out_.tensors[by_heads].last_forward_op = static_cast<std::int32_t>(list_->size()) - 1;
    }

    void all_to_all_backward() {
        MW_CHECK(context_by_heads_.has_value(), "attention backward without forward");
        const std::uint16_t gradient = tensor("context gradient by heads", sizes_.context);
        const std::uint16_t by_heads = tensor("q k v gradients by heads", sizes_.q + sizes_.kv);
        const std::size_t first = list_->size();
        swap("context gradient permute", "context gradient all-to-all", {sizes_.context});
        (*list_)[first].allocates = {gradient};
        RankOp& attention = attend(of_heads());
        attention.allocates = {by_heads};
        attention.frees = {gradient, *context_by_heads_};
        const std::size_t back = list_->size();
        swap("q k v gradient permute", "q k v gradient all-to-all", qkv_sizes());
        (*list_)[back].allocates = op_->allocates;
        RankOp& last = list_->back();
        last.frees = op_->frees;
        last.frees.push_back(by_heads);
    }

    void all_gather() {
        const std::int64_t whole = sizes_.kv * cp_;
        const std::uint16_t gathered =
            tensor(backward_ ? "kv gathered, backward" : "kv gathered", whole);
        exchange("kv all-gather", CollectiveKind::AllGather, whole, 0).allocates = {gathered};
        std::vector<std::uint16_t> release = {gathered};
        std::vector<std::uint16_t> makes = op_->allocates;
        if (backward_) {
            release.push_back(tensor("kv gradients of all ranks", whole));
            makes.push_back(release.back());
        }
        const bool halves = whole_.causal && context_.balanced;
        Attention a = whole_;
        a.queries = part(whole_.queries, halves ? 2 * cp_ : cp_);
        if (halves) {
            a.keys = part(whole_.keys * (2 * cp_ + 1), 4 * cp_);
        }
        for (int piece = 0; piece < (halves ? 2 : 1); ++piece) {
            RankOp& attention = attend(a);
            if (piece == 0) {
                attention.context_wait = 0;
                attention.allocates = makes;
            }
        }
        if (!backward_) {
            list_->back().frees = op_->frees;
            add(list_->back().frees, release);
            return;
        }
        exchange("kv gradient reduce-scatter", CollectiveKind::ReduceScatter, whole, 0);
        // The rank's own part goes to its place.
        RankOp& last = move("kv gradient copy", 2 * sizes_.kv);
        last.context_wait = 0;
        last.frees = op_->frees;
        add(last.frees, release);
    }

    const ContextParallel& context_;
    int cp_;
    RankLayer out_;
    const RankOp* op_ = nullptr;  // the attention at hand, and where its parts go
    std::vector<RankOp>* list_ = nullptr;
    Attention whole_;
    bool backward_ = false;
    Sizes sizes_;
    std::optional<std::uint16_t> context_by_heads_;
};

}  // namespace

LayerTrace divide_tokens(const LayerTrace& layer, int cp) {
    LayerTrace result = layer;
    if (cp == 1) {
        return result;
    }
    for (TraceTensor& tensor : result.tensors) {
        if (tensor.per_token) {
            tensor.bytes = Bytes(part(tensor.bytes.value, cp));
        }
    }
    for (auto* list : {&result.forward, &result.backward}) {
        for (TraceItem& item : *list) {
            if (item.boundary) {
                item.boundary->bytes = Bytes(part(item.boundary->bytes.value, cp));
            } else if (item.op->per_token) {
                item.op->kernel = divide(*item.op, cp);
                if (item.op->measured) {
                    item.op->measured = Duration(part(item.op->measured->count(), cp));
                }
            }
        }
    }
    return result;
}

RankLayer exchange_context(const RankLayer& layer, const ContextParallel& context) {
    return context.cp == 1 ? layer : Exchanger(layer, context).result();
}

}  // namespace memwall
