#include "sim/spec/kernel.h"

namespace memwall {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

Flops attention_flops(const Attention& a) {
    // Forward 2 (dq + dv) per score element, backward 2 (3 dq + 2 dv); a causal mask needs half of the square.
    const auto scores = static_cast<double>(a.batch * a.heads) * static_cast<double>(a.queries) *
                        static_cast<double>(a.keys) * (a.causal ? 0.5 : 1.0);
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
