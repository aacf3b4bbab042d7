#include "sim/spec/dependents.h"

#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/spec/names.h"
#include "sim/spec/write.h"

namespace memwall {
namespace {

constexpr std::array<std::string_view, 5> kKernelTables = {
    "gemm", "attention_forward", "attention_backward", "flash2_forward", "flash2_backward"};

template <class T>
std::optional<T> value_at(const DocNode& gpu, std::string_view path) {
    const DocNode* node = gpu.at(path);
    if (node == nullptr || node->kind != DocNode::Kind::Scalar) {
        return std::nullopt;
    }
    const Parsed<T> parsed = parse<T>(node->scalar);
    return parsed ? std::optional<T>(*parsed) : std::nullopt;
}

// New over old value; 1 when it is not known.
template <class T>
double ratio_of(const DocNode& before, const DocNode& after, std::string_view path) {
    const auto old = value_at<T>(before, path);
    const auto fresh = value_at<T>(after, path);
    if (!old || !fresh) {
        return 1;
    }
    if constexpr (std::is_same_v<T, double>) {
        return *old > 0 && *fresh > 0 ? *fresh / *old : 1;
    } else {
        return old->value > 0 && fresh->value > 0 ? *fresh / *old : 1;
    }
}

DocNode* node_at(DocNode& root, std::string_view path) {
    return const_cast<DocNode*>(std::as_const(root).at(path));
}

// Scales a value that the layer did not state.
template <class T>
void scale(const DocNode& before, DocNode& gpu, std::string_view path, double ratio) {
    const DocNode* old = before.at(path);
    DocNode* node = node_at(gpu, path);
    const auto value = value_at<T>(gpu, path);
    if (ratio == 1 || old == nullptr || !value || node->place != old->place) {
        return;
    }
    const double scaled = static_cast<double>(value->value) * ratio;
    node->scalar = to_text(T(static_cast<decltype(value->value)>(scaled)));
    node->place = Place{std::string(kFromDerived), 0, 0};
}

}  // namespace

void follow_overrides(const DocNode& before, DocNode& gpu) {
    scale<Bytes>(before, gpu, "usable", ratio_of<Bytes>(before, gpu, "memory"));
    const double hbm = ratio_of<Bandwidth>(before, gpu, "hbm");
    for (const std::string_view format : enum_names(Dtype{}).names) {
        const double peak = ratio_of<FlopRate>(before, gpu, fmt::format("peak.{}", format));
        for (const std::string_view table : kKernelTables) {
            const std::string rates = fmt::format("{}.{}", table, format);
            scale<Bandwidth>(before, gpu, rates + ".memory", hbm);
            for (const char* key : {".burst", ".sustained", ".matrix"}) {
                scale<FlopRate>(before, gpu, rates + key, peak);
            }
        }
    }
    const double nvlink =
        ratio_of<double>(before, gpu, "links") * ratio_of<Bandwidth>(before, gpu, "link_rate");
    scale<Bandwidth>(before, gpu, "nccl.ring", nvlink);
    scale<Bandwidth>(before, gpu, "nccl.nvls", nvlink);
}

}  // namespace memwall
