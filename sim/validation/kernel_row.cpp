#include "sim/validation/kernel_row.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "sim/validation/words.h"

namespace memwall {
namespace {

// Products with a narrower side are another regime: memory-bound, and other kernels.
constexpr std::int64_t kNarrow = 128;

tl::unexpected<NotMapped> refuse(std::string reason, bool not_yet = false) {
    return tl::unexpected(NotMapped{std::move(reason), not_yet});
}

struct DtypeWord {
    std::string_view word;
    Dtype dtype;
};
constexpr std::array kDtypes = {DtypeWord{"bf16", Dtype::Bf16},
                                DtypeWord{"bfloat16", Dtype::Bf16},
                                DtypeWord{"fp16", Dtype::Fp16},
                                DtypeWord{"float16", Dtype::Fp16},
                                DtypeWord{"half", Dtype::Fp16},
                                DtypeWord{"fp32", Dtype::Fp32},
                                DtypeWord{"float32", Dtype::Fp32},
                                DtypeWord{"tf32", Dtype::Tf32},
                                DtypeWord{"fp8", Dtype::Fp8},
                                DtypeWord{"fp8_block", Dtype::MxFp8},
                                DtypeWord{"mxfp8", Dtype::MxFp8},
                                DtypeWord{"nvfp4", Dtype::NvFp4}};

std::optional<Dtype> dtype_of(std::string_view text) {
    for (const DtypeWord& d : kDtypes) {
        if (plain_word(text) == plain_word(d.word)) {
            return d.dtype;
        }
    }
    return std::nullopt;
}

class Mapper {
  public:
    explicit Mapper(const Row& row) : row_(row) {}

    tl::expected<KernelCase, NotMapped> run() {
        const std::string_view name = row_.text("gpu");
        const auto gpu = known_gpu(name);
        if (!gpu) {
            return refuse(name.empty() ? "it names no GPU"
                                       : fmt::format("GPU '{}' has no file", name));
        }
        out_.gpu = gpu->file;
        if (!gpu->assumption.empty()) {
            assume(fmt::format("gpu '{}': {}", name, gpu->assumption));
        }
        const auto dtype = dtype_of(row_.text("dtype"));
        if (!dtype) {
            return refuse(fmt::format("dtype '{}' is not known", row_.text("dtype")));
        }
        out_.time_s = row_.number("time_us").value_or(0) * 1e-6;
        if (out_.time_s <= 0) {
            out_.time_s = row_.number("time_ms").value_or(0) * 1e-3;
        }
        if (out_.time_s <= 0) {
            return refuse("it states no time");
        }
        set_clock();
        return row_.table().kind == RowKind::Gemm ? gemm(*dtype) : attention(*dtype);
    }

  private:
    void assume(std::string text) { out_.assumptions.push_back(std::move(text)); }
    [[nodiscard]] std::int64_t count(std::string_view column, std::int64_t otherwise = 0) const {
        const auto value = row_.whole(column);
        return value && *value > 0 ? *value : otherwise;
    }

    void set_clock() {
        if (row_.has("clock")) {
            out_.conditions.clock = plain_word(row_.text("clock")) == "burst"
                                        ? ClockState::Burst
                                        : ClockState::Sustained;
            return;
        }
        const bool steady = row_.has("layout") || mentions(row_.text("notes"), "warm-up");
        out_.conditions.clock = steady ? ClockState::Sustained : ClockState::Burst;
        assume(steady ? "clock: sustained" : "clock: burst, as in a sweep of single kernels");
    }

    tl::expected<KernelCase, NotMapped> gemm(Dtype dtype) {
        const std::string_view op = row_.text("op");
        if (mentions(op, "best shape")) {
            return refuse("the best of a search over shapes, not a product that is run");
        }
        if (mentions(op, "masked")) {
            return refuse("groups of unequal size", true);
        }
        Gemm g;
        g.m = count("M");
        g.n = count("N");
        g.k = count("K");
        g.batch = count("B", 1);
        g.dtype = dtype;
        if (g.m == 0 || g.n == 0 || g.k == 0) {
            return refuse("it does not state M, N and K");
        }
        const std::string layout = plain_word(row_.text("layout"));
        g.role = layout == "nt"   ? GemmRole::WeightGradient
                 : layout == "nn" ? GemmRole::InputGradient
                                  : GemmRole::Forward;
        const bool accumulates = row_.whole("accumulate").value_or(0) != 0;
        const bool fp32_out = plain_word(row_.text("out_dtype")) == "fp32" || dtype == Dtype::Fp32;
        g.output_bytes = (fp32_out ? 4 : 2) * (accumulates ? 2 : 1);
        // Sweeps of products in low precision start from 16-bit activations.
        out_.conditions.quantise = layout.empty() && op.empty() &&
                                   bytes_per_element(dtype) < bytes_per_element(Dtype::Bf16);
        out_.kernel = g;
        const bool narrow = g.n < kNarrow || g.k < kNarrow;
        out_.group = fmt::format("gemm {}{}{}",
                                 plain_word(row_.text("dtype")),
                                 mentions(op, "grouped") ? " grouped" : "",
                                 narrow ? " narrow" : "");
        return std::move(out_);
    }

    tl::expected<KernelCase, NotMapped> attention(Dtype dtype) {
        if (mentions(row_.text("deterministic"), "true")) {
            return refuse("deterministic backward", true);
        }
        Attention a;
        a.dtype = dtype;
        a.batch = count("batch");
        a.heads = count("q_heads", count("heads"));
        a.kv_heads = count("kv_heads", a.heads);
        a.queries = count("q_seqlen", count("seq_len"));
        a.keys = count("kv_seqlen", a.queries);
        a.head_dim_qk = count("head_dim_qk", count("head_dim"));
        a.head_dim_v = count("head_dim_vo", a.head_dim_qk);
        a.window = count("sliding_window", count("window"));
        if (a.batch == 0 || a.heads == 0 || a.queries == 0 || a.head_dim_qk == 0) {
            return refuse("it does not state batch, heads, sequence and head dimension");
        }
        const std::string_view mask = row_.text("mask");
        a.causal = mask.empty() || mentions(mask, "causal") || mentions(mask, "top_left");
        if (mask.empty()) {
            assume("mask: causal");
        }
        a.backward = mentions(row_.text("pass"), "bwd") || mentions(row_.text("pass"), "backward");
        const std::string impl = plain_word(row_.text("impl"));
        a.kind = mentions(impl, "flashattention-3") || mentions(impl, "fa3") ? AttentionKind::Flash3
                 : mentions(impl, "flash")                                   ? AttentionKind::Flash2
                 : impl.empty() && mentions(row_.text("source"), "trtllm")   ? AttentionKind::TrtLlm
                                                                             : AttentionKind::Cudnn;
        out_.kernel = a;
        out_.group = fmt::format(
            "attention {} {}", plain_word(row_.text("dtype")), a.backward ? "backward" : "forward");
        return std::move(out_);
    }

    const Row& row_;
    KernelCase out_;
};

}  // namespace

tl::expected<KernelCase, NotMapped> kernel_case(const Row& row) {
    return Mapper(row).run();
}

}  // namespace memwall
