#pragma once
// A file as a tree in which every key and value knows its place. Readers (sim/io) make it, the field tables of sim/spec
// read it. It is free of any YAML or JSON library.
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"

namespace memwall {

struct DocEntry;

struct DocNode {
    enum class Kind : unsigned char { Null, Scalar, Sequence, Map } kind = Kind::Null;
    Place place;
    std::string scalar;          // as written, without quotes
    bool quoted = false;         // a quoted scalar is a string, never a number
    bool unresolved = false;     // Null: a reference that could not be followed, already reported
    std::vector<DocNode> items;  // Sequence
    std::vector<DocEntry> entries;  // Map, in file order, keys unique

    [[nodiscard]] const DocNode* find(std::string_view key) const;
    [[nodiscard]] DocNode* find(std::string_view key);
    // By dotted path, such as "parallel.tp"; nullptr when a part is missing.
    [[nodiscard]] const DocNode* at(std::string_view path) const;
};

struct DocEntry {
    std::string key;
    Place place;
    DocNode value;
};

}  // namespace memwall
