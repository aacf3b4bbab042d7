#pragma once
// Precision policies by name: bytes per parameter of weights, gradients, master weights and both Adam moments.
#include <optional>
#include <string_view>
#include <vector>

#include "sim/spec/strategy.h"

namespace memwall {

[[nodiscard]] std::optional<Precision> find_precision(std::string_view name);
[[nodiscard]] std::vector<std::string_view> precision_names();

// The format of the products of a recipe; `otherwise` without one.
[[nodiscard]] constexpr Dtype recipe_dtype(Recipe recipe, Dtype otherwise) {
    switch (recipe) {
    case Recipe::None:
        return otherwise;
    case Recipe::Fp8Delayed:
    case Recipe::Fp8Tensorwise:
        return Dtype::Fp8;
    case Recipe::MxFp8:
        return Dtype::MxFp8;
    case Recipe::NvFp4:
        return Dtype::NvFp4;
    }
    return otherwise;
}

}  // namespace memwall
