#pragma once
// YAML (and JSON, which is YAML) to a document tree. yaml-cpp reports events; what its own loader lets through is
// refused here: duplicate keys, content after the document, quotes that never close, cycles and bombs of aliases.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/diagnostics.h"
#include "sim/spec/document.h"

namespace memwall {

struct YamlLimits {
    std::size_t bytes = std::size_t{16} << 20;
    std::size_t depth = 64;
    std::size_t nodes = 1'000'000;  // after alias expansion
    std::size_t keys = 1000;        // of one map
};

// `label` is what places name as their file. nullopt: at least one error was added.
[[nodiscard]] std::optional<DocNode> read_yaml(const std::string& label,
                                               std::string_view text,
                                               Diagnostics& diagnostics,
                                               const YamlLimits& limits = {});

// One value as typed after `--set a.b=`, such as `8`, `[1, 2]`, `{rank: 3, slower: 10%}`; `place` is given to all its nodes.
[[nodiscard]] std::optional<DocNode> read_yaml_value(const Place& place,
                                                     std::string_view text,
                                                     Diagnostics& diagnostics);

}  // namespace memwall
