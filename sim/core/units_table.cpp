#include "sim/core/units_table.h"

#include "sim/core/check.h"

namespace memwall {

namespace {

struct Prefix {
    std::string_view name;
    int exp10;
    int exp2;
};
constexpr std::array<Prefix, 13> kPrefixes{{{"", 0, 0},
                                            {"k", 3, 0},
                                            {"M", 6, 0},
                                            {"G", 9, 0},
                                            {"T", 12, 0},
                                            {"P", 15, 0},
                                            {"E", 18, 0},
                                            {"Ki", 0, 10},
                                            {"Mi", 0, 20},
                                            {"Gi", 0, 30},
                                            {"Ti", 0, 40},
                                            {"Pi", 0, 50},
                                            {"Ei", 0, 60}}};

// A bit is 2^-3 bytes.
struct Base {
    std::string_view name;
    Dimension dimension;
    int exp2;
    bool binary;  // takes Ki, Mi, ...
};
constexpr std::array<Base, 11> kBases{{{"B", Dimension::ByteCount, 0, true},
                                       {"B/s", Dimension::ByteRate, 0, true},
                                       {"Bps", Dimension::ByteRate, 0, true},
                                       {"bps", Dimension::ByteRate, -3, false},
                                       {"b/s", Dimension::ByteRate, -3, false},
                                       {"bit/s", Dimension::ByteRate, -3, false},
                                       {"b", Dimension::BitCount, 0, false},
                                       {"bit", Dimension::BitCount, 0, false},
                                       {"FLOPS", Dimension::OperationRate, 0, false},
                                       {"FLOP/s", Dimension::OperationRate, 0, false},
                                       {"FLOP", Dimension::OperationCount, 0, false}}};

struct TimeUnit {
    std::string_view name;
    int exp10;
    int factor;
};
constexpr std::array<TimeUnit, 8> kTimeUnits{{{"ps", 0, 1},
                                              {"ns", 3, 1},
                                              {"us", 6, 1},
                                              {"ms", 9, 1},
                                              {"s", 12, 1},
                                              {"min", 12, 60},
                                              {"h", 12, 3600},
                                              {"d", 12, 86400}}};

constexpr std::array<DimensionInfo, 6> kDimensions{
    {{Dimension::ByteCount, "a size", "80GiB or 80GB"},
     {Dimension::TimeSpan, "a duration", "1.5us or 10ms"},
     {Dimension::ByteRate, "a bandwidth", "400Gbps or 50GB/s"},
     {Dimension::BitCount, "a number of bits", "400Gbit"},
     {Dimension::OperationRate, "a compute rate", "312TFLOPS"},
     {Dimension::OperationCount, "a number of operations", "2.5TFLOP"}}};

}  // namespace

std::optional<Unit> find_unit(std::string_view name) {
    for (const TimeUnit& unit : kTimeUnits) {
        if (unit.name == name) {
            return Unit{Dimension::TimeSpan, unit.exp10, 0, unit.factor};
        }
    }
    if (name == "\xC2\xB5s" || name == "\xCE\xBCs") {  // micro sign and Greek mu
        return Unit{Dimension::TimeSpan, 6, 0, 1};
    }
    for (const Base& base : kBases) {
        if (!name.ends_with(base.name)) {
            continue;
        }
        const std::string_view rest = name.substr(0, name.size() - base.name.size());
        for (const Prefix& prefix : kPrefixes) {
            if (prefix.name == rest && (prefix.exp2 == 0 || base.binary)) {
                return Unit{base.dimension, prefix.exp10, prefix.exp2 + base.exp2, 1};
            }
        }
    }
    return std::nullopt;
}

std::vector<std::string> unit_names(Dimension dimension) {
    std::vector<std::string> names;
    for (const TimeUnit& unit : kTimeUnits) {
        if (dimension == Dimension::TimeSpan) {
            names.emplace_back(unit.name);
        }
    }
    for (const Base& base : kBases) {
        for (const Prefix& prefix : kPrefixes) {
            if (base.dimension == dimension && (prefix.exp2 == 0 || base.binary)) {
                names.emplace_back(std::string(prefix.name) + std::string(base.name));
            }
        }
    }
    return names;
}

const DimensionInfo& dimension_info(Dimension dimension) {
    for (const DimensionInfo& info : kDimensions) {
        if (info.dimension == dimension) {
            return info;
        }
    }
    bug(__FILE__, __LINE__, "unknown dimension");
}

}  // namespace memwall
