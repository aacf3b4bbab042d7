#pragma once
// The units that quantities are written in: a prefix and a base, such as Gi + B, or a unit of time.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memwall {

enum class Dimension : unsigned char {
    ByteCount,
    TimeSpan,
    ByteRate,
    BitCount,
    OperationRate,
    OperationCount
};

// value in base units (B, ps, B/s, FLOP/s, FLOP) = number x 10^exp10 x 2^exp2 x factor
struct Unit {
    Dimension dimension = Dimension::ByteCount;
    int exp10 = 0;
    int exp2 = 0;
    int factor = 1;
};

struct DimensionInfo {
    Dimension dimension;
    std::string_view what;     // "a size"
    std::string_view example;  // "80GiB or 80GB"
};

[[nodiscard]] std::optional<Unit> find_unit(std::string_view name);
// All spellings of one dimension, for did-you-mean.
[[nodiscard]] std::vector<std::string> unit_names(Dimension dimension);
[[nodiscard]] const DimensionInfo& dimension_info(Dimension dimension);

}  // namespace memwall
