#pragma once
// Number formats of tensors and matrix products.
#include <cstdint>

namespace memwall {

enum class Dtype : std::uint8_t { Fp32, Tf32, Fp16, Bf16, Fp8, MxFp8, NvFp4 };

// Bytes of one stored element; block-scaled formats include their scales (mxfp8: 1 scale byte per 32, nvfp4: per 16).
[[nodiscard]] constexpr double bytes_per_element(Dtype d) {
    switch (d) {
    case Dtype::Fp32:
    case Dtype::Tf32:
        return 4;
    case Dtype::Fp16:
    case Dtype::Bf16:
        return 2;
    case Dtype::Fp8:
        return 1;
    case Dtype::MxFp8:
        return 1.03125;
    case Dtype::NvFp4:
        return 0.5625;
    }
    return 0;
}

}  // namespace memwall
