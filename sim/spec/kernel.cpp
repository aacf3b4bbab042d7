#include "sim/spec/kernel.h"

#include <algorithm>

namespace memwall {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

// Scores of one head that the masks leave, for n queries that end at the last of k keys; the diagonal counts half.
//   seen(x) = x^2/2 up to the window w, w x - w^2/2 beyond: scores of the first x queries under a causal mask
//   causal: seen(k) - seen(k - n); with n = k: k^2/2, or w k - w^2/2; not causal: n k, or w keys on both sides
double scores_left(const Attention& a) {
    const auto keys = static_cast<double>(a.keys);
    const auto queries = static_cast<double>(a.queries);
    const double window = a.window > 0 ? std::min(static_cast<double>(a.window), keys) : keys;
    const auto seen = [window](double x) {
        return x <= window ? x * x / 2 : window * x - window * window / 2;
    };
    return a.causal ? seen(keys) - seen(std::max(keys - queries, 0.0))
                    : 2 * seen(keys) * queries / keys;
}

Flops attention_flops(const Attention& a) {
    // Forward 2 (dq + dv) per score element, backward 2 (3 dq + 2 dv).
    const double scores = static_cast<double>(a.batch * a.heads) * scores_left(a);
    const auto dq = static_cast<double>(a.head_dim_qk);
    const auto dv = static_cast<double>(a.head_dim_v);
    return Flops(scores * 2 * (a.backward ? 3 * dq + 2 * dv : dq + dv));
}

Bytes attention_bytes(const Attention& a) {
    const double element = bytes_per_element(a.dtype);
    const double q = static_cast<double>(a.batch * a.heads * a.queries);
    const double kv = static_cast<double>(a.batch * a.kv_heads * a.keys);
    const double once = (q + kv) * static_cast<double>(a.head_dim_qk + a.head_dim_v) * element;
    return Bytes(static_cast<std::int64_t>(a.backward ? 3 * once : once));
}

}  // namespace

Flops flops_of(const Kernel& kernel) {
    return std::visit(Overloaded{
                          [](const Gemm& g) {
                              return Flops(2.0 * static_cast<double>(g.m) *
                                           static_cast<double>(g.n) * static_cast<double>(g.k) *
                                           static_cast<double>(g.batch));
                          },
                          [](const Attention& a) { return attention_flops(a); },
                          [](const MemoryBound&) { return Flops(0); },
                          [](const Copy&) { return Flops(0); },
                          [](const Measured& m) { return m.flops; },
                      },
                      kernel);
}

Bytes hbm_bytes_of(const Kernel& kernel) {
    return std::visit(
        Overloaded{
            [](const Gemm& g) {
                const double in = bytes_per_element(g.dtype);
                const double each = static_cast<double>(g.m * g.k + g.k * g.n) * in +
                                    static_cast<double>(g.m * g.n) * g.output_bytes;
                return Bytes(static_cast<std::int64_t>(each * static_cast<double>(g.batch)));
            },
            [](const Attention& a) { return attention_bytes(a); },
            [](const MemoryBound& m) { return m.bytes; },
            [](const Copy& c) { return c.bytes; },
            [](const Measured&) { return Bytes(0); },
        },
        kernel);
}

}  // namespace memwall
